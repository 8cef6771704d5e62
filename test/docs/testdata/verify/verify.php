<?php
// Shows letters to the receiver and prints for each whether it verifies.
function getallheaders() // PHP on the command line has none
{
    return [];
}

ob_start();
require 'public/receive.php'; // refuses this request
ob_end_clean();
foreach (json_decode(stream_get_contents(STDIN), true) as $letter) {
    try {
        verify($letter['secret'], $letter['headers'], $letter['body'], $letter['now']);
        echo "true\n";
    } catch (UnexpectedValueException $error) {
        str_starts_with($error->getMessage(), 'webhook refused: ') || throw $error;
        echo "false\n";
    }
}

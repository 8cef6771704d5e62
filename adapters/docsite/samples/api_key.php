<?php
// Run: php api_key.php
function stop(string $problem): void
{
    fwrite(STDERR, "$problem\n");
    exit(1);
}

$key = getenv('WAYBILL_API_KEY') ?: stop('Set WAYBILL_API_KEY first.');
$response = @file_get_contents('http://127.0.0.1:8081/v1/api-key', false, stream_context_create(['http' => [
    'header' => ['Authorization: Bearer ' . $key],
    'timeout' => 30,
    'ignore_errors' => true, // read the body of an error too
]]));
if ($response === false) {
    stop('The server cannot be reached: ' . error_get_last()['message']);
}
$answer = json_decode($response, flags: JSON_THROW_ON_ERROR);
if (!$answer->success) {
    stop("{$answer->error->code}: $answer->message");
}
echo json_encode($answer, JSON_PRETTY_PRINT | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE), "\n";

<?php
$response = file_get_contents('http://127.0.0.1:8081/v1/api-key', false, stream_context_create(['http' => [
    'header' => ['Authorization: Bearer ' . getenv('WAYBILL_API_KEY')],
    'timeout' => 30,
    'ignore_errors' => true, // read the body of an error too
]]));
$answer = json_decode($response, flags: JSON_THROW_ON_ERROR);
if (!$answer->success) {
    fwrite(STDERR, "{$answer->error->code}: $answer->message\n");
    exit(1);
}
echo json_encode($answer, JSON_PRETTY_PRINT | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE), "\n";

<?php
// Run: php quote.php
function stop(string $problem): void
{
    fwrite(STDERR, "$problem\n");
    exit(1);
}

$key = getenv('WAYBILL_API_KEY') ?: stop('Set WAYBILL_API_KEY first.');
$response = @file_get_contents('http://127.0.0.1:8081/v1/quotes', false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Authorization: Bearer ' . $key,
        'Content-Type: application/json',
    ],
    'content' => json_encode([
        'pickup' => ['latitude' => 5.5571, 'longitude' => -0.1818],
        'dropoff' => ['latitude' => 5.6037, 'longitude' => -0.1870],
        'vehicle_type' => 'bike',
    ]),
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

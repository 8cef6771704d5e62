<?php
// Run: php follow.php
function stop(string $problem): void
{
    fwrite(STDERR, "$problem\n");
    exit(1);
}

function get(string $key, string $path): array
{
    $response = @file_get_contents('http://127.0.0.1:8081/v1' . $path, false, stream_context_create(['http' => [
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
    return $answer->data;
}

$key = getenv('WAYBILL_API_KEY') ?: stop('Set WAYBILL_API_KEY first.');
$deadline = time() + 60;
while (true) {
    $delivery = get($key, '/deliveries?external_id=first-order')[0] ?? stop('first-order is not booked');
    echo $delivery->status, "\n";
    $ended = in_array($delivery->status, ['delivered', 'failed', 'cancelled'], true);
    if ($ended || time() > $deadline) {
        break;
    }
    sleep(2);
}

foreach (get($key, "/deliveries/$delivery->id/events") as $event) {
    echo "$event->sequence $event->type $event->occurred_at\n";
}
exit($ended ? 0 : 1);

<?php
function get(string $path): array
{
    $response = file_get_contents('http://127.0.0.1:8081/v1' . $path, false, stream_context_create(['http' => [
        'header' => ['Authorization: Bearer ' . getenv('WAYBILL_API_KEY')],
        'timeout' => 30,
        'ignore_errors' => true, // read the body of an error too
    ]]));
    $answer = json_decode($response, flags: JSON_THROW_ON_ERROR);
    if (!$answer->success) {
        fwrite(STDERR, "{$answer->error->code}: $answer->message\n");
        exit(1);
    }
    return $answer->data;
}

$deadline = time() + 60;
while (true) {
    $delivery = get('/deliveries?external_id=first-order')[0] ?? throw new RuntimeException('first-order is not booked');
    echo $delivery->status, "\n";
    $ended = in_array($delivery->status, ['delivered', 'failed', 'cancelled'], true);
    if ($ended || time() > $deadline) {
        break;
    }
    sleep(2);
}

foreach (get("/deliveries/$delivery->id/events") as $event) {
    echo "$event->sequence $event->type $event->occurred_at\n";
}
exit($ended ? 0 : 1);

<?php
// Run: php book.php
function stop(string $problem): void
{
    fwrite(STDERR, "$problem\n");
    exit(1);
}

$key = getenv('WAYBILL_API_KEY') ?: stop('Set WAYBILL_API_KEY first.');
$response = @file_get_contents('http://127.0.0.1:8081/v1/deliveries', false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Authorization: Bearer ' . $key,
        'Content-Type: application/json',
        'Idempotency-Key: first-order-1',
    ],
    'content' => json_encode([
        'external_id' => 'first-order',
        'recipient' => [
            'name' => 'Ama Mensah',
            'phone_number' => '024 412 3456',
            'address' => ['address' => '7 Airport Road, Accra', 'latitude' => 5.6037, 'longitude' => -0.1870],
        ],
        'pickup' => [
            'name' => 'Adom Foods',
            'contact' => '030 212 3456',
            'address' => '12 Oxford Street, Osu',
            'latitude' => 5.5571,
            'longitude' => -0.1818,
        ],
        'payment' => ['type' => 'cod', 'goods_value' => 120.50],
        'vehicle_type' => 'bike',
        'sandbox' => ['scenario' => 'delivered', 'step_seconds' => 2],
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

<?php
$response = file_get_contents('http://127.0.0.1:8081/v1/deliveries', false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Authorization: Bearer ' . getenv('WAYBILL_API_KEY'),
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
$answer = json_decode($response, flags: JSON_THROW_ON_ERROR);
if (!$answer->success) {
    fwrite(STDERR, "{$answer->error->code}: $answer->message\n");
    exit(1);
}
echo json_encode($answer, JSON_PRETTY_PRINT | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE), "\n";

<?php
// Shows letters to the route and prints for each whether it verifies.
$kernel = require __DIR__ . '/app.php';
foreach (json_decode(stream_get_contents(STDIN), true) as $letter) {
    Illuminate\Support\Carbon::setTestNow(Illuminate\Support\Carbon::createFromTimestamp($letter['now']));
    config(['services.waybill.webhook_secret' => $letter['secret']]);
    $request = Illuminate\Http\Request::create('/api/webhooks/waybill', 'POST', content: $letter['body']);
    $request->headers->add($letter['headers']);
    $status = $kernel->handle($request)->getStatusCode();
    in_array($status, [204, 400], true) || throw new RuntimeException("{$letter['what']}: $status");
    echo $status === 204 ? "true\n" : "false\n";
}

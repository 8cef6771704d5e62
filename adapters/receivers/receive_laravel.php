<?php
// routes/api.php: receives webhooks at /api/webhooks/waybill. Laravel 8 or newer.
// config/services.php has 'waybill' => ['webhook_secret' => env('WAYBILL_WEBHOOK_SECRET')].

use Illuminate\Http\Request;
use Illuminate\Support\Facades\Log;
use Illuminate\Support\Facades\Route;
use Illuminate\Support\Facades\Storage;
use Illuminate\Support\Str;

Route::post('/webhooks/waybill', function (Request $request) {
    $id = (string) $request->header('webhook-id');
    $timestamp = (string) $request->header('webhook-timestamp');
    $signatures = explode(' ', (string) $request->header('webhook-signature'));
    $body = $request->getContent(); // the raw bytes; $request->json() would lose them
    abort_unless(preg_match('/^[\w-]+$/D', $id), 400, 'webhook: webhook-id is missing or invalid');

    $age = now()->timestamp - (int) $timestamp;
    abort_unless(ctype_digit($timestamp) && abs($age) <= 300, 400, 'webhook: webhook-timestamp is more than 5 minutes off');

    // After a rotation there are two signatures, and one of them matches.
    $key = base64_decode(Str::after(trim((string) config('services.waybill.webhook_secret')), 'whsec_'));
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    $matches = collect($signatures)->contains(fn ($signature) => hash_equals($expected, $signature));
    abort_unless($key !== '' && $matches, 400, 'webhook: the signature does not match');

    // Keep the event once, and work on it later: a scheduled command reads the files.
    if (Storage::disk('local')->missing("waybill-inbox/$id.json")) {
        abort_unless(Storage::disk('local')->put("waybill-inbox/$id.json", $body), 500);
        Log::info("stored $id " . $request->json('type'));
    }

    return response()->noContent();
})->withoutMiddleware('throttle:api'); // 60 webhooks a minute would be too few

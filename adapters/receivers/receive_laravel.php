<?php
// routes/api.php: receives webhooks at /api/webhooks/waybill. Laravel 8 or newer.
// Laravel 11 or newer has this file after `php artisan install:api`.
// .env: WAYBILL_WEBHOOK_SECRET="whsec_..."
// config/services.php: 'waybill' => ['webhook_secret' => env('WAYBILL_WEBHOOK_SECRET')],
// Set WAYBILL_WEBHOOK_SECRET, then start it: php artisan serve (port 8000)

use Illuminate\Http\Request;
use Illuminate\Support\Facades\Log;
use Illuminate\Support\Facades\Route;
use Illuminate\Support\Facades\Storage;
use Illuminate\Support\Str;

Route::post('/webhooks/waybill', function (Request $request) {
    $secret = (string) config('services.waybill.webhook_secret');
    throw_if($secret === '', RuntimeException::class, 'webhook refused: set WAYBILL_WEBHOOK_SECRET in .env');
    $refuse = function (string $why) {
        Log::warning("webhook refused: $why");
        abort(400, "webhook refused: $why");
    };

    $id = (string) $request->header('webhook-id');
    $timestamp = (string) $request->header('webhook-timestamp');
    $signatures = explode(' ', (string) $request->header('webhook-signature'));
    $body = $request->getContent(); // the raw bytes; $request->json() would lose them
    preg_match('/^[\w-]+$/D', $id) || $refuse('webhook-id is missing or invalid');

    $age = now()->timestamp - (int) $timestamp;
    ctype_digit($timestamp) && abs($age) <= 300 || $refuse('webhook-timestamp is more than 5 minutes from the clock of this machine');

    // After a rotation there are two signatures, and one of them matches.
    $key = base64_decode(Str::after(trim($secret), 'whsec_'));
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    $matches = collect($signatures)->contains(fn ($signature) => hash_equals($expected, $signature));
    $key !== '' && $matches || $refuse('the signature does not match; is WAYBILL_WEBHOOK_SECRET that of this endpoint?');

    // Keep the event once, and work on it later: a scheduled command reads the files.
    if (Storage::disk('local')->missing("waybill-inbox/$id.json")) {
        abort_unless(Storage::disk('local')->put("waybill-inbox/$id.json", $body), 500);
        Log::info("stored $id " . $request->json('type'));
    }

    return response()->noContent();
})->withoutMiddleware('throttle:api'); // 60 webhooks a minute would be too few

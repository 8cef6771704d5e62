<?php
// Receives webhooks. PHP 8.0 or newer, no packages. Set WAYBILL_WEBHOOK_SECRET, then start it:
// php -S 127.0.0.1:3000 receive.php

$secret = getenv('WAYBILL_WEBHOOK_SECRET');
if (!$secret) {
    http_response_code(500);
    error_log('webhook refused: set WAYBILL_WEBHOOK_SECRET and start the receiver again');
    exit(1);
}

const INBOX = __DIR__ . '/../waybill-inbox'; // beside the folder of this file: the web server must not show it

/** Throws unless Waybill sent this body, unchanged, in the last 5 minutes. */
function verify(string $secret, array $headers, string $body, ?int $now = null): void
{
    // Headers: their names can be in any case. Here they are in lower case.
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    $signatures = explode(' ', $headers['webhook-signature'] ?? '');
    if (!preg_match('/^[\w-]+$/D', $id)) {
        throw new UnexpectedValueException('webhook refused: webhook-id is missing or invalid');
    }

    // Timestamp: at most 5 minutes off. Keep your clock synchronized.
    if (!ctype_digit($timestamp) || abs(($now ?? time()) - (int) $timestamp) > 300) {
        throw new UnexpectedValueException('webhook refused: webhook-timestamp is more than 5 minutes from the clock of this machine');
    }

    // Secret: Base64 after whsec_. After a rotation there are two signatures, and one of them matches.
    $key = base64_decode(preg_replace('/^whsec_/', '', trim($secret)));
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    $matching = array_filter($signatures, fn ($signature) => hash_equals($expected, $signature));
    if ($key === '' || !$matching) {
        throw new UnexpectedValueException('webhook refused: the signature does not match; is WAYBILL_WEBHOOK_SECRET that of this endpoint?');
    }
}

/** Writes the event to a file. Returns false if it is there already. */
function store(string $id, string $body): bool
{
    $file = INBOX . "/$id.json";
    if (file_exists($file)) {
        return false;
    }
    is_dir(INBOX) || mkdir(INBOX, 0700, true);
    if (file_put_contents("$file.part", $body) !== strlen($body) || !rename("$file.part", $file)) {
        throw new RuntimeException("$file cannot be written");
    }
    return true;
}

$headers = array_change_key_case(getallheaders());
// Body: the raw bytes, before json_decode or a framework reads them.
$body = file_get_contents('php://input');

try {
    verify($secret, $headers, $body);
    if (store($headers['webhook-id'], $body)) { // work on it later, in another program
        error_log('stored ' . $headers['webhook-id'] . ' ' . json_decode($body)->type);
    }
    http_response_code(204);
} catch (UnexpectedValueException $error) {
    http_response_code(400);
    error_log($error->getMessage());
    echo $error->getMessage(), "\n";
} catch (Throwable $error) {
    http_response_code(500);
    error_log($error->getMessage());
}

<?php
$secret = getenv('WEBHOOK_SECRET');
// headers: PHP calls them HTTP_ and so on.
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$at = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
$signatures = explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '');
// timestamp: at most 5 minutes off, by a clock that follows a time server.
$late = abs(time() - (int) $at) > 300;
// body: the raw bytes, before json_decode or a framework.
$body = file_get_contents('php://input');
// secret: decoded, and compared with each signature, since there are two after a rotation.
$key = base64_decode(substr(trim($secret), 6));
$sum = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$at.$body", $key, true));
$sound = array_filter($signatures, fn ($one) => hash_equals($sum, $one));
// end
http_response_code($sound && !$late ? 204 : 400);

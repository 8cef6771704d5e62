"""Verifies webhooks. Python 3.8 or newer, standard library alone."""
import base64
import hashlib
import hmac
import json
import time


def verify(secret, headers, body, now=None):
    """Return the event if the body came from Waybill, unchanged and just now.

    headers: a mapping with names in lower case; body: the bytes as they
    arrived, before anything parsed them. Raises ValueError otherwise.
    """
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not message_id or not (timestamp.isascii() and timestamp.isdigit()):
        raise ValueError("webhook: not signed")
    if abs((time.time() if now is None else now) - int(timestamp)) > 300:
        raise ValueError("webhook: too old or too new")

    key = base64.b64decode(secret[len("whsec_"):] if secret.startswith("whsec_") else secret)
    signed = f"{message_id}.{timestamp}.".encode() + body
    want = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    given = headers.get("webhook-signature", "").encode().split(b" ")
    if not any(hmac.compare_digest(part, want) for part in given):
        raise ValueError("webhook: wrong signature")
    return json.loads(body)

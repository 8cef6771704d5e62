"""Receives webhooks. Flask 2 or newer: pip install flask. Set WAYBILL_WEBHOOK_SECRET, then start it:
python3 receive_flask.py
"""
import base64
import hashlib
import hmac
import json
import os
import re
import sys
import time
from pathlib import Path

from flask import Flask, request

SECRET = os.environ.get("WAYBILL_WEBHOOK_SECRET") or sys.exit("Set WAYBILL_WEBHOOK_SECRET first.")
INBOX = Path("waybill-inbox")
INBOX.mkdir(mode=0o700, exist_ok=True)

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 1 << 20


def verify(secret, headers, body, now=None):
    """Raise ValueError unless Waybill sent this body, unchanged, in the last 5 minutes."""
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    signatures = headers.get("webhook-signature", "").encode().split()
    if not re.fullmatch("[A-Za-z0-9_-]+", message_id):
        raise ValueError("webhook refused: webhook-id is missing or invalid")

    now = time.time() if now is None else now
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(now - int(timestamp)) > 300:
        raise ValueError("webhook refused: webhook-timestamp is more than 5 minutes from the clock of this machine")

    # After a rotation there are two signatures, and one of them matches.
    key = base64.b64decode(re.sub("^whsec_", "", secret.strip()))
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    if not key or not any(hmac.compare_digest(expected, signature) for signature in signatures):
        raise ValueError("webhook refused: the signature does not match; is WAYBILL_WEBHOOK_SECRET that of this endpoint?")


def store(message_id, body):
    """Write the event to a file. Return False if it is there already."""
    file = INBOX / f"{message_id}.json"
    if file.exists():
        return False
    part = file.with_suffix(".part")
    part.write_bytes(body)
    part.rename(file)
    return True


@app.post("/webhooks/waybill")
def receive():
    body = request.get_data()  # the raw bytes; request.json would lose them
    try:
        verify(SECRET, request.headers, body)
    except ValueError as error:
        print(error, flush=True)
        return str(error), 400
    if store(request.headers["webhook-id"], body):  # work on it later, in another program
        print("stored", request.headers["webhook-id"], json.loads(body)["type"], flush=True)
    return "", 204


if __name__ == "__main__":
    app.run(port=int(os.environ.get("PORT", "3000")))

"""Receives webhooks. Python 3.8 or newer, no packages. Set WAYBILL_WEBHOOK_SECRET, then start it:
python3 receive.py
"""
import base64
import hashlib
import hmac
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SECRET = os.environ.get("WAYBILL_WEBHOOK_SECRET") or sys.exit("Set WAYBILL_WEBHOOK_SECRET first.")
PORT = int(os.environ.get("PORT", "3000"))
INBOX = Path("waybill-inbox")
MAX_BODY = 1 << 20


def verify(secret, headers, body, now=None):
    """Raise ValueError unless Waybill sent this body, unchanged, in the last 5 minutes."""
    # Headers: http.server and Flask find them in any case.
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    signatures = headers.get("webhook-signature", "").encode().split()
    if not re.fullmatch("[A-Za-z0-9_-]+", message_id):
        raise ValueError("webhook refused: webhook-id is missing or invalid")

    # Timestamp: at most 5 minutes off. Keep your clock synchronized.
    now = time.time() if now is None else now
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(now - int(timestamp)) > 300:
        raise ValueError("webhook refused: webhook-timestamp is more than 5 minutes from the clock of this machine")

    # Secret: Base64 after whsec_. After a rotation there are two signatures, and one of them matches.
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


class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # of a client that sends nothing, in seconds

    def do_POST(self):
        # Body: the raw bytes, before json.loads. In Flask request.get_data(), in Django request.body.
        size = int(self.headers.get("content-length", "0"))
        body = self.rfile.read(max(0, min(size, MAX_BODY)))

        try:
            verify(SECRET, self.headers, body)
        except ValueError as error:
            self.send_error(400, str(error))
            return
        if store(self.headers["webhook-id"], body):  # work on it later, in another program
            print("stored", self.headers["webhook-id"], json.loads(body)["type"], flush=True)
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    INBOX.mkdir(mode=0o700, exist_ok=True)
    print(f"receiving webhooks at http://127.0.0.1:{PORT}/webhooks/waybill", flush=True)
    ThreadingHTTPServer(("127.0.0.1", PORT), Receiver).serve_forever()

import base64, hashlib, hmac, os, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

secret = os.environ["WEBHOOK_SECRET"]

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        # headers: whatever their capitals.
        id = self.headers.get("webhook-id", "")
        at = self.headers.get("webhook-timestamp", "0")
        signatures = self.headers.get("webhook-signature", "").split()
        # timestamp: at most 5 minutes off, by a clock that follows a time server.
        late = abs(time.time() - int(at)) > 300
        # body: the raw bytes; request.get_data() in Flask, request.body in Django.
        body = self.rfile.read(int(self.headers["content-length"]))
        # secret: decoded, and compared with each signature, since there are two after a rotation.
        key = base64.b64decode(secret.strip().removeprefix("whsec_"))
        sum = base64.b64encode(hmac.digest(key, f"{id}.{at}.".encode() + body, hashlib.sha256)).decode()
        sound = any(hmac.compare_digest("v1," + sum, one) for one in signatures)
        # end
        self.send_response(204 if sound and not late else 400)
        self.end_headers()

HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()

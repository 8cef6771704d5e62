# Run: python3 follow.py
import json
import os
import sys
import time
import urllib.error
import urllib.request

KEY = os.environ.get("WAYBILL_API_KEY") or sys.exit("Set WAYBILL_API_KEY first.")


def get(path):
    request = urllib.request.Request(
        "http://127.0.0.1:8081/v1" + path,
        headers={"Authorization": "Bearer " + KEY},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)["data"]
    except urllib.error.HTTPError as error:
        answer = json.load(error)
        sys.exit(f"{answer['error']['code']}: {answer['message']}")
    except OSError as error:
        sys.exit(f"The server cannot be reached: {error}")


deadline = time.monotonic() + 60
while True:
    found = get("/deliveries?external_id=first-order")
    if not found:
        sys.exit("first-order is not booked")
    delivery = found[0]
    print(delivery["status"], flush=True)
    ended = delivery["status"] in ("delivered", "failed", "cancelled")
    if ended or time.monotonic() > deadline:
        break
    time.sleep(2)

for event in get(f"/deliveries/{delivery['id']}/events"):
    print(event["sequence"], event["type"], event["occurred_at"])
sys.exit(0 if ended else 1)

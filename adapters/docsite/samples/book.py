# Run: python3 book.py
import json
import os
import sys
import urllib.error
import urllib.request

KEY = os.environ.get("WAYBILL_API_KEY") or sys.exit("Set WAYBILL_API_KEY first.")
request = urllib.request.Request(
    "http://127.0.0.1:8081/v1/deliveries",
    headers={
        "Authorization": "Bearer " + KEY,
        "Content-Type": "application/json",
        "Idempotency-Key": "first-order-1",
    },
    data=json.dumps({
        "external_id": "first-order",
        "recipient": {
            "name": "Ama Mensah",
            "phone_number": "024 412 3456",
            "address": {"address": "7 Airport Road, Accra", "latitude": 5.6037, "longitude": -0.1870},
        },
        "pickup": {
            "name": "Adom Foods",
            "contact": "030 212 3456",
            "address": "12 Oxford Street, Osu",
            "latitude": 5.5571,
            "longitude": -0.1818,
        },
        "payment": {"type": "cod", "goods_value": 120.50},
        "vehicle_type": "bike",
        "sandbox": {"scenario": "delivered", "step_seconds": 2},
    }).encode(),
)
try:
    with urllib.request.urlopen(request, timeout=30) as response:
        answer = json.load(response)
except urllib.error.HTTPError as error:
    answer = json.load(error)
    sys.exit(f"{answer['error']['code']}: {answer['message']}")
except OSError as error:
    sys.exit(f"The server cannot be reached: {error}")
print(json.dumps(answer, indent=2, ensure_ascii=False))

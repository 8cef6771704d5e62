# Run: python3 quote.py
import json
import os
import sys
import urllib.error
import urllib.request

KEY = os.environ.get("WAYBILL_API_KEY") or sys.exit("Set WAYBILL_API_KEY first.")
request = urllib.request.Request(
    "http://127.0.0.1:8081/v1/quotes",
    headers={
        "Authorization": "Bearer " + KEY,
        "Content-Type": "application/json",
    },
    data=json.dumps({
        "pickup": {"latitude": 5.5571, "longitude": -0.1818},
        "dropoff": {"latitude": 5.6037, "longitude": -0.1870},
        "vehicle_type": "bike",
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

import json
import os
import sys
import urllib.error
import urllib.request

request = urllib.request.Request(
    "http://127.0.0.1:8081/v1/api-key",
    headers={"Authorization": "Bearer " + os.environ["WAYBILL_API_KEY"]},
)
try:
    with urllib.request.urlopen(request, timeout=30) as response:
        answer = json.load(response)
except urllib.error.HTTPError as error:
    answer = json.load(error)
    sys.exit(f"{answer['error']['code']}: {answer['message']}")
print(json.dumps(answer, indent=2, ensure_ascii=False))

"""Assigns every booked delivery, once. Python 3.8 or newer, standard library alone. Run: python3 dispatch.py"""
import http.client
import json
import os
import sqlite3
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

if not os.environ.get("WAYBILL_OPS_URL") or not os.environ.get("WAYBILL_OPS_TOKEN"):
    sys.exit("Set WAYBILL_OPS_URL and WAYBILL_OPS_TOKEN first.")
BASE = os.environ["WAYBILL_OPS_URL"] + "/ops/v1"
TOKEN = os.environ["WAYBILL_OPS_TOKEN"]
MOST = 200  # deliveries in one request

db = sqlite3.connect("dispatch.db")
db.executescript("""
    CREATE TABLE IF NOT EXISTS feed (cursor TEXT);
    CREATE TABLE IF NOT EXISTS work (event TEXT PRIMARY KEY, delivery TEXT, key TEXT, outcome TEXT);
""")


def call(method, path, body=None, key=None):
    """Send the same bytes under the same key until there is an answer; return its status and JSON."""
    headers = {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    wait = 1
    while True:
        pause = wait
        try:
            request = urllib.request.Request(BASE + path, body, headers, method=method)
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as e:
            problem = e.read().decode(errors="replace")
            if e.code != 429 and e.code < 500 and "IDEMPOTENCY_IN_PROGRESS" not in problem:
                return e.code, problem
            pause = int(e.headers.get("Retry-After", wait))
        except (OSError, http.client.HTTPException, ValueError):
            pass  # no answer, or half of one: it may have been done
        time.sleep(pause)
        wait = min(2 * wait, 30)


def read():
    """Store a page of the feed together with where the next one begins; tell whether there is more."""
    cursor = db.execute("SELECT cursor FROM feed").fetchone()
    query = {"types": "delivery.created", "limit": 100}
    if cursor:
        query["cursor"] = cursor[0]
    status, page = call("GET", "/events?" + urllib.parse.urlencode(query))
    if status == 410:  # begin again; the events that are stored are passed over below
        with db:
            db.execute("DELETE FROM feed")
        return True
    if status != 200:
        sys.exit(f"the feed answers {status}: {page}")
    with db:
        for entry in page["data"]:
            event = entry["event"]
            db.execute("INSERT OR IGNORE INTO work (event, delivery) VALUES (?, ?)",
                       (event["id"], event["data"]["delivery"]["id"]))
        db.execute("DELETE FROM feed")
        db.execute("INSERT INTO feed VALUES (?)", (page["meta"]["resume_cursor"],))
    return page["meta"]["has_more"]


def assign():
    """Assign what waits; tell whether anything did. An answer that was lost is asked for first."""
    waiting = db.execute("SELECT key FROM work WHERE outcome IS NULL ORDER BY key IS NULL LIMIT 1").fetchone()
    if not waiting:
        return False
    key = waiting[0]
    if not key:
        key = str(uuid.uuid4())
        with db:  # stored before it is sent: whoever goes on sends the same again
            db.execute("UPDATE work SET key = ? WHERE event IN (SELECT event FROM work WHERE key IS NULL LIMIT ?)", (key, MOST))
    orders = db.execute("SELECT event, delivery FROM work WHERE key = ? ORDER BY event", (key,)).fetchall()
    body = json.dumps({"status": "assigned", "items": [{"delivery_id": delivery} for _, delivery in orders]})
    status, answer = call("POST", "/deliveries/advance", body.encode(), key)
    if status not in (200, 207):
        sys.exit(f"the move answers {status}: {answer}")
    with db:
        for (event, delivery), result in zip(orders, answer["data"]["results"]):
            db.execute("UPDATE work SET outcome = ? WHERE event = ?", (result["outcome"], event))
            print(delivery, result["outcome"], (result["error"] or {}).get("message", ""), flush=True)
    return True


while True:
    more = read()
    if not assign() and not more:
        if "--once" in sys.argv:
            break
        time.sleep(1)

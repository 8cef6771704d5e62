package e2e

import (
	"strings"
	"testing"
)

// A message that names the refused value saves its reader a look into a log; a
// personal or secret value it shows only in part.
func TestAMessageTellsWhichValueItIsAbout(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		endpoint := c.post("/webhook-endpoints", m{"url": "http://127.0.0.1:9"}).is(201).id()
		anyKey := strings.Repeat("k", 300)
		cod := func(amount string) string {
			return strings.Replace(string(render(anOrder(set("payment", m{"type": "cod", "goods_value": 7777})))), "7777", amount, 1)
		}
		for name, a := range map[string]struct {
			answer *answer
			tells  string
			hides  string // empty: nothing
		}{
			"a limit":            {c.get("/deliveries?limit=500"), `limit: must be from 1 to 100; it is "500"`, ""},
			"a limit in letters": {c.get("/deliveries?limit=ten"), `limit: must be a whole number from 1 to 100; it is "ten"`, ""},
			"an order":           {c.get("/deliveries?order=up"), `order: must be one of asc, desc; it is "up"`, ""},
			"a long order":       {c.get("/deliveries?order=" + strings.Repeat("x", 65)), `it is "` + strings.Repeat("x", 64) + `..."`, ""},
			"a painted order":    {c.get("/deliveries?order=%1b[31m"), `it is "\u001b[31m"`, "\x1b"},
			"a key as an order":  {c.get("/deliveries?order=" + c.key), `it is "svc_live_key_..."`, c.key},
			"a time":             {c.get("/deliveries?created_after=yesterday"), `such as 2026-11-21T10:00:00Z; it is "yesterday"`, ""},
			"an ID":              {c.get("/events?delivery_id=dlv_1"), `dlv_ and 32 lowercase hex characters; it is "dlv_1"`, ""},
			"a parameter twice":  {c.get("/deliveries?limit=1&limit=2&limit=3"), "limit: the parameter was sent 3 times; send it once", ""},
			"a long search": {c.get("/recipients?search=" + strings.Repeat("n", 130)), "has 130 characters; it may have 128",
				strings.Repeat("n", 10)},
			"a phone filter": {c.get("/recipients?phone_number=0241234567"), "such as %2B233201234567; the one sent has 10 digits and ends in 67",
				"0241234567"},
			"a phone number": {c.post("/recipients", m{"phone_number": "+233 24 123 45"}),
				"or as people dial it at home; the one sent has 10 digits and ends in 45", "123 45"},
			"a short phone number": {c.post("/recipients", m{"phone_number": "call 98765"}), "the one sent has 5 digits, with letters among them",
				"98765"},
			"a short key": {c.post("/recipients", m{}, idem("abc")),
				`Idempotency-Key: the header needs 8 to 255 characters and has 3; it is "abc". A UUID will do`, ""},
			"a long key":            {c.post("/recipients", m{}, idem(anyKey)), "may have 255 characters and has 300", anyKey[:9]},
			"a key of other bytes":  {c.post("/recipients", m{}, idem("abc\tdefgh")), "printable ASCII characters only; byte 4 is 0x09", ""},
			"an amount in parts":    {c.post("/deliveries", cod("12.345")), "payment.goods_value: has at most two decimals; it is 12.345", ""},
			"a large amount":        {c.post("/deliveries", cod("1000000.01")), "payment.goods_value: is at most 1000000; it is 1000000.01", ""},
			"an amount below 0":     {c.post("/deliveries", cod("-5.5")), "the amount the rider collects; it is -5.5.", ""},
			"an amount of 0":        {c.post("/deliveries", cod("0.00")), "the amount the rider collects; it is 0.", ""},
			"a tiny amount below 0": {c.post("/deliveries", cod("-0.001")), "the amount the rider collects.", ""},
			"an amount for nothing": {c.post("/deliveries", anOrder(set("payment", m{"type": "delivery_only", "goods_value": 5}))),
				"goes with payment type cod only; leave it out, or send type cod", ""},
			"an amount in quotes": {c.post("/deliveries", cod(`"120"`)), `payment.goods_value: must be a number, not a string; it is "120"`, ""},
			"an external_id": {c.post("/deliveries", anOrder(set("external_id", "a\u200bb"))),
				"may hold printable characters only; character 2 is U+200B", ""},
			"a point": {c.send("POST", "/quotes", aTrip(set("dropoff", m{"latitude": -0.187, "longitude": 5.6}))),
				"dropoff: latitude -0.187, longitude 5.6: this point is outside the area we serve; check that latitude and longitude are not swapped",
				""},
			"an address that is none": {c.post("/webhook-endpoints", m{"url": "//user:secret@?token=secret"}), "It is not an absolute address",
				"secret"},
			"an address to a file": {c.post("/webhook-endpoints", m{"url": "shop.example.com/hooks?token=secret"}),
				`; it is "shop.example.com/hooks".`, "secret"},
			"a scheme": {c.post("/webhook-endpoints", m{"url": "ftp://shop.example.com?token=secret"}), `Use http or https; it is "ftp".`,
				"secret"},
			"an empty address": {c.post("/webhook-endpoints", m{"url": ""}), "url: must have 1 to 2048 bytes; it has 0", ""},
			"a change to none": {c.send("PATCH", "/webhook-endpoints/"+endpoint, m{"url": " "}), "url: must have 1 to 2048 bytes; it has 0", ""},
			"a since": {c.post("/webhook-endpoints/"+endpoint+"/recover", m{"since": "monday"}),
				`since: must be an RFC 3339 time such as 2026-11-21T10:00:00Z; it is "monday"`, ""},
			"a type of content": {c.post("/recipients", m{}, with("Content-Type", "text/plain")),
				`Send Content-Type: application/json; it is "text/plain".`, ""},
			"an encoding": {c.post("/recipients", m{}, with("Content-Encoding", "gzip")),
				"Content-Encoding gzip is not supported; leave it out", ""},
			"a method": {c.send("PUT", "/deliveries", m{}), "This address does not take PUT. Send one of the Allow header: ", ""},
			"a forced error": {c.in(sandbox).get("/deliveries", with("X-Sandbox-Error", "BOOM")),
				`X-Sandbox-Error: send it once, as one of `, ""},
			"a forced error's value": {c.in(sandbox).get("/deliveries", with("X-Sandbox-Error", "BOOM")), `; it is "BOOM"`, ""},
		} {
			message := a.answer.text("message")
			if !strings.Contains(message, a.tells) {
				t.Errorf("%s: the message is %q, want %q in it", name, message, a.tells)
			}
			if a.hides != "" && strings.Contains(string(a.answer.body), a.hides) {
				t.Errorf("%s: %s repeats %q", name, a.answer.body, a.hides)
			}
		}
	})
}

func TestAFailureTellsWhatToDoNext(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c, failing, named := s.caller(t, sandbox), with("X-Sandbox-Error", "INTERNAL_SERVER_ERROR"), with("X-Request-ID", "my-request-1")
		for again, a := range map[string]*answer{
			"Try again in a moment; ":                          c.get("/deliveries", failing, named),
			"Try again with the same body and Idempotency-Key": c.post("/deliveries", anOrder(), failing, named),
		} {
			a.is(500)
			for _, want := range []string{again, "quote request ID my-request-1."} {
				if !strings.Contains(a.text("message"), want) {
					t.Errorf("the message is %q, want %q in it", a.text("message"), want)
				}
			}
		}
	})
}

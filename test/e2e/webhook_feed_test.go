package e2e

import (
	"slices"
	"strconv"
	"testing"
)

// follow reads the feed from a cursor to its end, and returns where that is.
func follow(t testing.TB, c *client, query, cursor string, limit int) (ids []string, end string) {
	t.Helper()
	for {
		pairs := []string{"limit", strconv.Itoa(limit)}
		if cursor != "" {
			pairs = append(pairs, "cursor", cursor)
		}
		page := c.get("/events" + escaped(pairs...) + query).is(200)
		ids = append(ids, page.ids()...)
		cursor = page.text("meta.resume_cursor")
		if page.text("meta.has_more") == "false" {
			page.has("meta.next_cursor", "null")
			return ids, cursor
		}
		page.has("meta.next_cursor", cursor)
	}
}

func TestTheFeedHasEveryEventOnceAndIsResumed(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		empty := c.get("/events").is(200).lacks("data.0").has("meta.has_more", "false")
		cursor := empty.has("meta.next_cursor", "null").text("meta.resume_cursor")
		if cursor == "" || cursor == "null" {
			t.Fatalf("an empty feed has no cursor: %s", empty.body)
		}
		// Written at once by several, and read meanwhile.
		const many = 24
		written := make(chan map[string]int)
		go func() {
			written <- manyAtOnce(many, func(int) string {
				a, err := c.try("POST", "/deliveries", anOrder(), idem(newKeyText()))
				if err != nil {
					return err.Error()
				}
				if _, err := c.try("POST", "/deliveries/"+a.id()+"/cancel", nil); err != nil {
					return err.Error()
				}
				return strconv.Itoa(a.status)
			})
		}()
		var seen []string
		for done := false; !done; {
			select {
			case counts := <-written:
				done = true
				if counts["201"] != many {
					t.Fatalf("answered %v", counts)
				}
			default:
			}
			var more []string
			more, cursor = follow(t, c, "", cursor, 7)
			seen = append(seen, more...)
		}
		eventually(t, "the feed has all events", func() bool { // Postgres shows them once no older transaction is open
			var more []string
			more, cursor = follow(t, c, "", cursor, 100)
			seen = append(seen, more...)
			return len(seen) >= 2*many
		})
		if whole, _ := follow(t, c, "", "", 100); !slices.Equal(whole, seen) {
			t.Errorf("read bit by bit the feed is\n%v\nand from the beginning\n%v", seen, whole)
		}
		unique := slices.Clone(seen)
		slices.Sort(unique)
		if len(slices.Compact(unique)) != 2*many {
			t.Errorf("there are %d different events, want %d", len(slices.Compact(unique)), 2*many)
		}
	})
}

func TestTheFeedIsFilteredAndItsCursorIsBound(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		one := c.post("/deliveries", anOrder()).is(201).id()
		two := c.post("/deliveries", anOrder()).is(201).id()
		c.send("POST", "/deliveries/"+one+"/cancel", nil).is(200)
		eventually(t, "the feed has all events", func() bool { return c.get("/events").is(200).count("data") == 3 })

		c.get("/events?type=delivery.cancelled").is(200).has("data.0.data.delivery.id", one).lacks("data.1")
		c.get("/events?delivery_id="+two).is(200).has("data.0.type", "delivery.created", "data.0.data.delivery.id", two).lacks("data.1")
		c.get("/events?delivery_id=" + unknown("dlv_")).is(200).lacks("data.0")
		last := c.get("/events").is(200).text("data.2.timestamp")
		c.get("/events"+escaped("created_after", last)).is(200).has("data.0.timestamp", last)
		c.get("/events?created_after=2099-01-01T00:00:00Z").is(200).lacks("data.0")
		c.get("/events?type=delivery.lost&delivery_id=dlv_1&created_after=now&limit=101").
			invalid("type not_allowed", "delivery_id invalid_format", "created_after invalid_format", "limit out_of_range")
		c.get("/events?order=desc").refused(400, "INVALID_REQUEST")

		cursor := c.get("/events?limit=1").is(200).has("meta.has_more", "true").text("meta.next_cursor")
		bad := func(who *client, path string, pairs ...string) {
			t.Helper()
			who.get(path + escaped(append(pairs, "cursor", cursor)...)).invalid("cursor invalid_format")
		}
		bad(c, "/events", "type", "delivery.created") // other filters
		bad(c, "/deliveries")                         // another list
		bad(s.caller(t, env), "/events")              // another application
		bad(c.in(map[string]string{live: sandbox, sandbox: live}[env]), "/events")
		c.get("/events" + escaped("cursor", cursor[:len(cursor)-2])).invalid("cursor invalid_format")
		c.get("/events" + escaped("cursor", c.get("/deliveries?limit=1").is(200).text("meta.next_cursor"))).invalid("cursor invalid_format")
		c.get("/events"+escaped("cursor", cursor, "limit", "2")).is(200).has("meta.has_more", "false") // the limit may change
	})
}

func TestAFeedWithoutNewsIsNotModifiedAndFree(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.loner(t, sandbox)
		c.post("/deliveries", anOrder()).is(201)
		eventually(t, "the feed has the event", func() bool { return c.get("/events").is(200).count("data") == 1 })
		_, end := follow(t, c, "", "", 25)
		at := "/events" + escaped("cursor", end)
		first := c.get(at).is(200).lacks("data.0").has("meta.resume_cursor", end)
		same := c.get(at, with("If-None-Match", first.header.Get("ETag"))).is(304)
		if before, after := first.number(t, "RateLimit-Remaining"), same.number(t, "RateLimit-Remaining"); after != before {
			t.Errorf("before the 304 %d requests remained, and %d after it", before, after)
		}
		c.post("/deliveries", anOrder()).is(201)
		eventually(t, "there are news", func() bool {
			return c.get(at, with("If-None-Match", first.header.Get("ETag"))).status == 200
		})
		if got := c.get(at).is(200).count("data"); got != 1 {
			t.Errorf("from the end there are %d events, want the new one", got)
		}
	})
}

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// walk follows the cursors of a list to its end; limits are used in turn.
func walk(t testing.TB, c *client, path string, limits ...int) []string {
	t.Helper()
	var ids []string
	cursor := ""
	for i := 0; ; i++ {
		limit := limits[i%len(limits)]
		query := []string{"limit", strconv.Itoa(limit)}
		if cursor != "" {
			query = append(query, "cursor", cursor)
		}
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		page := c.get(path+separator+escaped(query...)[1:]).is(200).has("meta.limit", strconv.Itoa(limit))
		ids = append(ids, page.ids()...)
		cursor = page.text("meta.next_cursor")
		if page.text("meta.has_more") != "true" {
			if cursor != "null" {
				t.Errorf("the last page has the cursor %s", cursor)
			}
			return ids
		}
		if got := len(page.ids()); got != limit || cursor == "" || len(cursor) > 512 {
			t.Fatalf("page %d has %d rows, want %d, and the cursor %q", i, got, limit, cursor)
		}
		if i > 1000 {
			t.Fatal("the list has no end")
		}
	}
}

// book creates n deliveries from several clients at once, so that many are
// made in the same millisecond, and returns them in the order of a list.
func book(t testing.TB, c *client, n int, changes ...change) []string {
	t.Helper()
	type row struct{ at, id string }
	var (
		mu   sync.Mutex
		rows []row
		wg   sync.WaitGroup
		next = make(chan struct{}, n)
	)
	for range n {
		next <- struct{}{}
	}
	close(next)
	for range 6 {
		wg.Go(func() {
			for range next {
				a, err := c.try("POST", "/deliveries", anOrder(changes...), idem(newKeyText()))
				if err != nil || a.status != 201 {
					t.Errorf("create: %v %v", err, a)
					return
				}
				mu.Lock()
				rows = append(rows, row{a.text("data.created_at"), a.id()})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.at+a.id, b.at+b.id) })
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.id)
	}
	return ids
}

func TestAListIsWalkedByItsCursors(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		want := book(t, c, 120)
		same := func(what string, got, want []string) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d rows in another order or number than the %d that were made", what, len(got), len(want))
			}
		}
		same("ascending", walk(t, c, "/deliveries", 7), want)
		same("limits that change", walk(t, c, "/deliveries", 1, 100, 3), want)
		same("filtered", walk(t, c, "/deliveries?status=booked", 50), want)
		newest := slices.Clone(want)
		slices.Reverse(newest)
		same("descending", walk(t, c, "/deliveries?order=desc", 7), newest)
		same("an explicit asc", walk(t, c, "/deliveries?order=asc", 60), want)
		same("exactly one page", walk(t, c, "/deliveries", 60, 60), want)

		// Rows made while a list is read come behind what was there.
		first := c.get("/deliveries?limit=100").is(200)
		more := book(t, c, 5)
		rest := c.get("/deliveries" + escaped("limit", "100", "cursor", first.text("meta.next_cursor"))).is(200)
		same("while rows are added", append(first.ids(), rest.ids()...), append(want, more...))
	})
}

func TestTimelineAndAddressesComeWholeOrByPages(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.loner(t, env)
		one := c.post("/recipients", m{"phone_number": newPhone()}).is(201).id()
		var places []string
		for i := range 9 {
			places = append(places, c.post("/recipients/"+one+"/addresses", m{"address": fmt.Sprintf("%d Oxford Street, Accra", i+1),
				"latitude": 5.6, "longitude": -0.18}).is(201).id())
		}
		delivery := c.post("/deliveries", anOrder()).is(201).id()
		c.send("POST", "/deliveries/"+delivery+"/cancel", nil).is(200)
		for path, want := range map[string][]string{
			"/recipients/" + one + "/addresses":   places,
			"/deliveries/" + delivery + "/events": c.get("/deliveries/" + delivery + "/events").is(200).ids(),
		} {
			if len(want) < 2 {
				t.Fatalf("%s has %d rows", path, len(want))
			}
			whole := c.get(path).is(200).has("meta.has_more", "false", "meta.limit", strconv.Itoa(len(want)))
			if !slices.Equal(whole.ids(), want) {
				t.Errorf("%s has %v, want %v", path, whole.ids(), want)
			}
			for _, limit := range []int{1, 4} {
				if got := walk(t, c, path, limit); !slices.Equal(got, want) {
					t.Errorf("%s by pages of %d: %v, want %v", path, limit, got, want)
				}
			}
			cursor := c.get(path+"?limit=1").is(200).has("meta.has_more", "true", "meta.limit", "1").text("meta.next_cursor")
			if rest := c.get(path+escaped("cursor", cursor)).is(200).has("meta.has_more", "false").ids(); !slices.Equal(rest, want[1:]) {
				t.Errorf("%s behind its first row: %v, want %v", path, rest, want[1:])
			}
			c.get(path + "?limit=0").invalid("limit out_of_range")
			c.get(path + "?cursor=nonsense").invalid("cursor invalid_format")
			c.get(path+"?order=desc").refused(400, "INVALID_REQUEST")
		}
		c.get("/deliveries/" + unknown("dlv_") + "/events?limit=0").is(404)
		c.get("/recipients/" + unknown("rcp_") + "/addresses?limit=0").is(404)
	})
}

func TestACursorIsGoodForItsOwnListOnly(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.loner(t, sandbox)
		book(t, c, 3)
		cursor := c.get("/deliveries?limit=1&status=booked").is(200).text("meta.next_cursor")
		c.get("/deliveries" + escaped("limit", "100", "status", "booked", "cursor", cursor)).is(200)
		c.in(sandbox).get("/deliveries" + escaped("status", "booked", "cursor", cursor)).is(200)

		bad := func(c *client, path string) string {
			t.Helper()
			return string(c.get(path).invalid("cursor invalid_format").body)
		}
		want := bad(c, "/deliveries"+escaped("cursor", cursor)) // a filter less
		for what, got := range map[string]string{
			"another filter":      bad(c, "/deliveries"+escaped("status", "assigned", "cursor", cursor)),
			"a filter more":       bad(c, "/deliveries"+escaped("status", "booked", "order", "asc", "cursor", cursor)),
			"another list":        bad(c, "/recipients"+escaped("cursor", cursor)),
			"a third list":        bad(c, "/pickup-locations"+escaped("cursor", cursor)),
			"another environment": bad(c.in(live), "/deliveries"+escaped("status", "booked", "cursor", cursor)),
			"another application": bad(s.caller(t, sandbox), "/deliveries"+escaped("status", "booked", "cursor", cursor)),
			"cut off":             bad(c, "/deliveries"+escaped("status", "booked", "cursor", cursor[:len(cursor)-1])),
			"made up":             bad(c, "/deliveries?cursor=next"),
			"longer than any":     bad(c, "/deliveries?cursor="+strings.Repeat("A", 513)),
		} {
			if got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		c.get("/deliveries"+escaped("status", "lost", "cursor", "x")).invalid("status not_allowed", "cursor invalid_format")
	})
}

func TestDeliveriesAreFiltered(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		external := newExternalID()
		first := c.post("/deliveries", anOrder(set("external_id", external))).is(201)
		after := first
		for after.text("data.created_at") == first.text("data.created_at") {
			after = c.post("/deliveries", anOrder()).is(201)
		}
		c.send("POST", "/deliveries/"+after.id()+"/cancel", nil).is(200)
		find := func(query string, want ...string) {
			t.Helper()
			got := c.get("/deliveries" + query).is(200).ids()
			got = slices.DeleteFunc(got, func(id string) bool { return id != first.id() && id != after.id() })
			if !slices.Equal(got, want) {
				t.Errorf("%s found %v, want %v", query, got, want)
			}
		}
		a, b := first.id(), after.id()
		find("", a, b)
		find("?order=desc", b, a)
		find("?status=booked", a)
		find("?status=cancelled", b)
		find("?status=outsourced")
		find("?external_id="+external, a)
		find("?external_id=" + strings.ToUpper(external)) // case counts
		find("?external_id=" + external[:8])
		find(escaped("external_id", external, "status", "cancelled"))

		at, then := first.text("data.created_at"), after.text("data.created_at")
		find(escaped("created_after", at), a, b) // inclusive
		find(escaped("created_before", at))      // exclusive
		find(escaped("created_after", then), b)
		find(escaped("created_before", then), a)
		find(escaped("created_after", at, "created_before", then), a)
		moment, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		find(escaped("created_before", moment.Add(time.Nanosecond).Format(time.RFC3339Nano)), a)
		find(escaped("created_after", moment.Add(time.Nanosecond).Format(time.RFC3339Nano)), b)
		east := time.FixedZone("", 5*3600+1800)
		find(escaped("created_before", moment.In(east).Format(time.RFC3339Nano)))
		find("?created_after="+moment.In(east).Format(time.RFC3339Nano), a, b) // the plus came unencoded
		find(escaped("created_after", "0000-01-01T00:00:00Z", "created_before", "9999-12-31T23:59:59Z"), a, b)
	})
}

func TestWrongQueriesAreRefused(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		for query, want := range map[string][]string{
			"limit=0":                        {"limit out_of_range"},
			"limit=5;cursor=x":               {"limit invalid_type"},
			"limit=101":                      {"limit out_of_range"},
			"limit=-1":                       {"limit invalid_type"},
			"limit=ten":                      {"limit invalid_type"},
			"limit=1.0":                      {"limit invalid_type"},
			"limit=%2B5":                     {"limit invalid_type"},
			"limit=99999999999999999999":     {"limit invalid_type"},
			"limit=":                         {"limit too_short"},
			"limit=1&limit=2":                {"limit invalid_format"},
			"status=Booked":                  {"status not_allowed"},
			"status=booked&status=booked":    {"status invalid_format"},
			"order=newest":                   {"order not_allowed"},
			"external_id=":                   {"external_id too_short"},
			"external_id=%20":                {"external_id too_short"},
			"external_id=" + long(129):       {"external_id too_long"},
			"external_id=%ff":                {"external_id invalid_format"},
			"external_id=a%00b":              {"external_id invalid_format"},
			"created_after=yesterday":        {"created_after invalid_format"},
			"created_before=2026-11-21":      {"created_before invalid_format"},
			"status=x&limit=0&cursor=&order": {"cursor too_short", "order too_short", "status not_allowed", "limit out_of_range"},
		} {
			c.get("/deliveries?" + query).invalid(want...)
		}
		for _, query := range []string{"page=2", "Limit=5", "limit=5&offset=1", "limit=%zz", "=5"} {
			c.get("/deliveries?"+query).refused(400, "INVALID_REQUEST")
		}
		// Unknown comes before wrong.
		c.get("/deliveries?limit=0&page=2").refused(400, "INVALID_REQUEST").has("error.details.field", "page")
		c.get("/recipients?status=booked").refused(400, "INVALID_REQUEST")
		c.get("/pickup-locations?phone_number=1").refused(400, "INVALID_REQUEST")
		c.get("/api-key?verbose=1").refused(400, "INVALID_REQUEST")
		c.post("/deliveries?dry_run=1", anOrder()).refused(400, "INVALID_REQUEST")
		id := c.post("/deliveries", anOrder()).is(201).id()
		c.get("/deliveries/"+id+"?expand=events").refused(400, "INVALID_REQUEST")
		c.get("/deliveries/"+id+"/events?order=desc").refused(400, "INVALID_REQUEST")
		c.send("POST", "/deliveries/"+id+"/cancel?force=1", nil).refused(400, "INVALID_REQUEST")
	})
}

// The ID in the path is judged before the query is.
func TestAWrongQueryDoesNotHideThatThereIsNothing(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		foreign := s.loner(t, live).post("/deliveries", anOrder()).is(201).id()
		for _, id := range []string{foreign, "dlv_" + strings.Repeat("0", 32), "dlv_x"} {
			c.get("/deliveries/"+id+"?expand=events").refused(404, "NOT_FOUND")
			c.get("/deliveries/"+id+"/events?limit=1").refused(404, "NOT_FOUND")
			c.send("GET", "/deliveries/"+id, "not JSON").refused(404, "NOT_FOUND")
			c.send("POST", "/deliveries/"+id+"/cancel?force=1", "{").refused(404, "NOT_FOUND")
		}
	})
}

func long(n int) string { return strings.Repeat("x", n) }

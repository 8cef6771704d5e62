package simulation

import (
	"fmt"
	"net/url"
)

// scan is one client's way through the pages of its deliveries.
type scan struct {
	from        *client
	newestFirst bool
	limit       int
	wanted      []string // what was booked before the first page was asked for
	found       []record
	whole       bool
}

type record struct {
	ID        string
	CreatedAt string `json:"created_at"`
}

func (w *world) scan() bool {
	c := w.anyone()
	w.beginScan(c, 1+w.rng.IntN(6))
	return true
}

func (w *world) beginScan(c *client, limit int) *scan {
	s := &scan{from: c, limit: limit, newestFirst: w.rng.IntN(3) == 0}
	for _, p := range c.parcels {
		s.wanted = append(s.wanted, p.id)
	}
	w.nextPage(s, "")
	return s
}

func (w *world) nextPage(s *scan, cursor string) {
	query := url.Values{"limit": {fmt.Sprint(s.limit)}}
	if s.newestFirst {
		query.Set("order", "desc")
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	w.send(w.anywhere(), &request{from: s.from, method: "GET", path: "/deliveries?" + query.Encode()}, func(t *task) {
		a, heard := w.heard(t)
		if !heard {
			return
		}
		w.expect(t, a, 200)
		page, ok := dataOf[[]record](a)
		if !ok || a.status != 200 {
			return // the scan begins anew
		}
		s.found = append(s.found, page...)
		if next := cursorOf(a); next != "" {
			w.later = append(w.later, func() { w.nextPage(s, next) })
			return
		}
		s.whole = true
		w.judgeScan(t, s)
	})
}

// judgeScan looks for what is missing, doubled or out of order.
func (w *world) judgeScan(t *task, s *scan) {
	seen := map[string]bool{}
	for i, r := range s.found {
		if seen[r.ID] {
			w.breach("#%d: a list has %s twice", t.n, r.ID)
		}
		seen[r.ID] = true
		if i == 0 {
			continue
		}
		before := s.found[i-1]
		if ascends := before.CreatedAt+before.ID < r.CreatedAt+r.ID; ascends == s.newestFirst {
			w.breach("#%d: a list has %v behind %v", t.n, r, before)
		}
	}
	for _, id := range s.wanted {
		if !seen[id] {
			w.breach("#%d: a list lacks %s", t.n, id)
		}
	}
}

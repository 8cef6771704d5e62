package faults

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The tables of the request log.
var logTables = []string{"request_successes", "request_failures", "usage_minutes"}

// unread is what pages say that have nothing to tell.
const unread = "The request log cannot be read right now"

// pageWithin is how long a page may take to say that the log cannot be read: a list
// waits a second for it, the start page for two of them, and the machine is busy.
const pageWithin = 30 * time.Second

func TestARequestLogThatIsLockedOrGoneFailsNoCallAndPagesSaySo(t *testing.T) {
	t.Parallel()
	url := freshDatabase(t, Postgres)
	s := serve(t, url, 1)
	t.Cleanup(s.close)
	db, ama := openDatabase(t, url), newVisitor(t, s.portal(0))
	s.invites(t, ama, "ama@log.example", "owner")
	if !s.calls(t, s.servers[0], 3) {
		t.Fatal("nothing can be booked")
	}
	logged := func(more int) func() bool {
		before := countRequests(t, db)
		return func() bool { return countRequests(t, db) >= before+more }
	}
	for name, cut := range map[string]func() (back func()){
		"locked": func() func() { return lockTables(t, db) },
		"gone":   func() func() { return hideTables(t, db) },
	} {
		back := cut()
		begun := time.Now()
		if !s.calls(t, s.servers[0], 60) {
			t.Errorf("%s: calls fail", name)
		}
		slowest := s.watch.slowest()
		for _, path := range []string{"/requests", "/errors", "/usage"} {
			if p := ama.get(path).is(t, http.StatusServiceUnavailable, unread); p.took > pageWithin {
				t.Errorf("%s: %s takes %s to say so", name, path, p.took)
			}
		}
		for _, path := range []string{"/", s.keys("live")} {
			if p := ama.get(path).is(t, http.StatusOK, unread); p.took > pageWithin {
				t.Errorf("%s: %s takes %s", name, path, p.took)
			}
		}
		if !s.calls(t, s.servers[0], 20) {
			t.Errorf("%s: calls fail while pages wait for the log", name)
		}
		t.Logf("%s: %s long, slowest call %s", name, time.Since(begun).Round(time.Millisecond), slowest)
		back()
		again := logged(5)
		if !s.calls(t, s.servers[0], 5) {
			t.Errorf("%s: calls fail afterwards", name)
		}
		until(t, "requests are recorded again after the log was "+name, time.Minute, again)
		ama.get("/requests").is(t, http.StatusOK, "data-id=\"req_")
	}
}

// calls reads the list some times, and reports whether all went well.
func (s *shop) calls(t *testing.T, v *victim, times int) bool {
	t.Helper()
	for range times {
		if _, status := s.call(t, v); status != http.StatusOK {
			t.Logf("answered %d", status)
			return false
		}
	}
	j := newClerk(0, 0).single()
	s.remember(j)
	return s.sender.try(t.Context(), j, v.url())
}

// call reads a list, and tells the ID of the request.
func (s *shop) call(t *testing.T, v *victim) (id string, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.url()+singlePath, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.sender.customer.Key)
	res, err := s.sender.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body) // only whether it is answered
	return res.Header.Get("X-Request-ID"), res.StatusCode
}

func countRequests(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM request_log").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// lockTables keeps all other sessions from the tables of the log.
func lockTables(t *testing.T, db *sql.DB) (unlock func()) {
	t.Helper()
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err == nil {
		_, err = tx.ExecContext(t.Context(), "LOCK TABLE "+strings.Join(logTables, ", ")+" IN ACCESS EXCLUSIVE MODE")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

// hideTables gives the tables other names, and with them the view.
func hideTables(t *testing.T, db *sql.DB) (back func()) {
	t.Helper()
	rename := func(from, to string) {
		for _, table := range append([]string{"request_log"}, logTables...) {
			kind := "TABLE"
			if table == "request_log" {
				kind = "VIEW"
			}
			if _, err := db.ExecContext(context.WithoutCancel(t.Context()), fmt.Sprintf("ALTER %s %s RENAME TO %s", kind, from+table,
				to+table)); err != nil {
				t.Fatal(err)
			}
		}
	}
	rename("", "hidden_")
	return func() { rename("hidden_", "") }
}

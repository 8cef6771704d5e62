package faults

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Statements by which a count for reports is followed.
const (
	adding  = `INSERT INTO "report_figures"`
	keeping = `UPDATE "report_progress"`
)

// countMoments are those in the life of a batch at which a process that counts must be able
// to vanish. Each process dies at one, and the next one goes on.
var countMoments = []moment{
	{name: "before figures are stored", statement: adding, nth: 1},
	{name: "after figures are stored", statement: adding, nth: 1, done: true},
	{name: "before the place is kept", statement: keeping, nth: 1},
	{name: "after the place is kept", statement: keeping, nth: 1, done: true},
	{name: "before the commit", statement: keeping, commit: true, nth: 1},
	{name: "after the commit", statement: keeping, commit: true, nth: 1, done: true},
}

// What is to be counted is history where nothing has been counted yet, and the feed
// where there is no history.
var countsFrom = map[string]string{
	"history": "",
	"the feed": "INSERT INTO report_progress (stream, position, sequence, event_id, done) SELECT stream, 0, 0, " +
		"'00000000-0000-0000-0000-000000000000', true FROM unnest(ARRAY['live', 'sandbox', 'past']) AS stream",
}

// TestACountForReportsGoesOnWhereItsProcessWasKilled lets one worker after the other die in
// the middle of a count. The figures are those of a worker that counts all of it undisturbed.
func TestACountForReportsGoesOnWhereItsProcessWasKilled(t *testing.T) {
	t.Parallel()
	s := newCounted(t, program)
	for from := range countsFrom {
		s.countFrom(t, from)
		whole := s.count(t)
		s.countFrom(t, from)
		for _, at := range countMoments {
			s.die(t, at)
		}
		if got := s.count(t); !slices.Equal(got, whole) {
			t.Errorf("%s, counted over %d deaths:\n%s\nand at once:\n%s", from, len(countMoments), strings.Join(got, "\n"),
				strings.Join(whole, "\n"))
		}
	}
}

// TestACountForReportsNoticesAMutant shows what the deaths above are worth.
func TestACountForReportsNoticesAMutant(t *testing.T) {
	t.Parallel()
	s := newCounted(t, mutantProgram, "WAYBILL_MUTANT=report_own_commit")
	s.countFrom(t, "history")
	whole := s.count(t)
	s.countFrom(t, "history")
	s.die(t, moment{statement: keeping, nth: 1})
	if got := s.count(t); slices.Equal(got, whole) {
		t.Error("nothing was counted twice, with that bug in the program")
	}
}

// counted is a database with events of more than one batch, in which nothing runs.
type counted struct {
	binary, database string
	env              []string
	db               *sql.DB
}

func newCounted(t *testing.T, program func() (string, error), with ...string) *counted {
	t.Helper()
	if testing.Short() {
		t.Skip("starts servers; left out in short mode")
	}
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	s := &counted{binary: binary, database: freshDatabase(t, Postgres)}
	s.env, s.db = append(settings(s.database), with...), openDatabase(t, s.database)
	v := newVictim(t, binary, s.env)
	life := v.start(t)
	customer, clerk := newSender(enroll(t, binary, s.env, noLimit), []*victim{v}), newClerk(0, 0)
	for range 6 {
		j := clerk.bulk(100, nil)
		until(t, "a hundred deliveries are booked", startPatience, func() bool { return customer.try(t.Context(), j, v.url()) })
	}
	life.kill()
	return s
}

// countFrom forgets all figures, so that a process counts from there.
func (s *counted) countFrom(t *testing.T, from string) {
	t.Helper()
	for _, statement := range []string{"DELETE FROM report_figures", "DELETE FROM report_progress", countsFrom[from]} {
		if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// die lets a worker count until it comes to a moment.
func (s *counted) die(t *testing.T, at moment) {
	t.Helper()
	w := newWire(t, s.database)
	caught := make(chan struct{})
	lives := make(chan *life, 1)
	w.set(at, func() (goOn bool) {
		(<-lives).kill()
		close(caught)
		return false
	})
	lives <- newVictimOf(t, s.binary, append(slices.Clone(s.env), "WAYBILL_DATABASE_URL="+w.url), "worker").start(t)
	select {
	case <-caught:
	case <-time.After(startPatience):
		t.Fatalf("the moment %s never came", at.name)
	}
}

// count lets a worker count the rest, and tells the figures.
func (s *counted) count(t *testing.T) (figures []string) {
	t.Helper()
	life := newVictimOf(t, s.binary, s.env, "worker").start(t)
	defer life.kill()
	const left = "SELECT (SELECT count(*) FROM report_progress WHERE NOT done AND stream = 'past') + (SELECT count(*) FROM feed_events f, " +
		"report_progress p WHERE p.stream = f.environment AND f.delivery_id IS NOT NULL AND (f.position, f.sequence, f.id) > " +
		"(p.position, p.sequence, p.event_id)) + 3 - (SELECT count(*) FROM report_progress)"
	until(t, "all is counted", time.Minute, func() bool { return scan(t, s.db, left) == 0 })
	rows, err := s.db.QueryContext(t.Context(), "SELECT environment, by_what, day, business_id, vehicle, municipality, booked, delivered, "+
		"cancelled, failed, to_assign, to_deliver FROM report_figures ORDER BY 1, 2, 3, 4, 5, 6")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		all := make([]any, 12)
		into := make([]any, len(all))
		for i := range all {
			into[i] = &all[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		figures = append(figures, fmt.Sprint(all...))
	}
	if err := rows.Err(); err != nil || len(figures) == 0 {
		t.Fatalf("%d figures, %v", len(figures), err)
	}
	return figures
}

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestARequestIsBesideCleaningWhereTheyOverlap(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	from := func(begun, ended int) span {
		return span{start.Add(time.Duration(begun) * time.Second), start.Add(time.Duration(ended) * time.Second)}
	}
	var w watch
	for _, s := range []span{from(10, 12), from(11, 13), from(20, 21)} {
		w.note(s)
	}
	if want := []span{from(10, 13), from(20, 21)}; !slices.Equal(w.spans, want) {
		t.Fatalf("cleaning %v, want %v", w.spans, want)
	}
	for s, want := range map[span]bool{
		from(1, 9): false, from(1, 10): true, from(12, 12): true, from(13, 15): true, from(14, 19): false,
		from(14, 30): true, from(21, 22): true, from(22, 23): false,
	} {
		if got := w.during(s); got != want {
			t.Errorf("%v: %t", s, got)
		}
	}
	beside, others := w.split([]span{from(11, 14), from(12, 13), from(30, 35)})
	if !slices.Equal(beside.latencies, []time.Duration{time.Second, 3 * time.Second}) ||
		!slices.Equal(others.latencies, []time.Duration{5 * time.Second}) {
		t.Errorf("beside %v, others %v", beside.latencies, others.latencies)
	}
}

func TestFlatIsTheLastThirdBesideTheOneBefore(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{
		1:   {1, 5, 9, 10, 10, 10, 10, 10, 10},
		2:   {1, 1, 1, 10, 10, 10, 20, 20, 20},
		0.5: {9, 9, 9, 10, 10, 10, 1, 5, 20},
	} {
		if got := flatness(values); len(got) != 1 || got[0] != want {
			t.Errorf("%v: %v, want %v", values, got, want)
		}
	}
	if flatness([]float64{1, 2, 3}) != nil || flatness(make([]float64, 9)) != nil {
		t.Error("a few values, or nothing, show something")
	}
}

func TestAGaugeIsReadFromMetrics(t *testing.T) {
	t.Parallel()
	const metrics = "# HELP go_goroutines x\n# TYPE go_goroutines gauge\ngo_goroutines_old 3\ngo_goroutines 42\n"
	if n, err := gauge(strings.NewReader(metrics), "go_goroutines"); n != 42 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := gauge(strings.NewReader(metrics), "go_threads"); err == nil {
		t.Error("a metric that is not there is read")
	}
}

func TestWhatIsMadeOldIsCleanedAway(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := s.record(t, s.due(t, s.endpoints[1])); err != nil {
		t.Fatal(err)
	}
	before, err := sizes(t, s)
	if err != nil {
		t.Fatal(err)
	}
	const n = 40
	for batch := range 2 {
		if tag, err := s.db.Exec(t.Context(), agedSQL, n, batch*n, aged); err != nil || tag.RowsAffected() != n {
			t.Fatalf("%d were made, %v", tag.RowsAffected(), err)
		}
	}
	if after, err := sizes(t, s); err != nil || after != [3]int{before[0] + 2*n, before[1] + 2*n, before[2] + 2*n} {
		t.Errorf("there were %v, and then %v, %v", before, after, err)
	}
	var w watch
	if err := w.begin(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	removed, _, err := s.store.PurgeExpired(t.Context(), 1000)
	ended := time.Now()
	if err != nil || removed != 2*2*n {
		t.Errorf("%d records were cleaned away, want %d events and their webhooks, %v", removed, 2*n, err)
	}
	if after, err := sizes(t, s); err != nil || after != before {
		t.Errorf("there were %v, and in the end %v, %v", before, after, err)
	}
	// On a busy machine one cleaning may look like several.
	if err := w.end(t.Context(), s.db); err != nil || len(w.spans) == 0 ||
		w.spans[0].begun.Before(begun.Truncate(time.Microsecond)) || w.spans[len(w.spans)-1].ended.After(ended.Add(aftermath)) ||
		!w.during(span{begun, ended}) {
		t.Errorf("the cleaning was at %v, want it between %v and %v, %v", w.spans, begun, ended, err)
	}
	if tables, err := sizesOf(t.Context(), s.db); err != nil || tables[cleaned[0]].heap+tables[cleaned[0]].indexes == 0 {
		t.Errorf("sizes %v, %v", tables, err)
	}
}

func sizes(t *testing.T, s *scene) (n [3]int, err error) {
	t.Helper()
	err = s.db.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM feed_events), (SELECT count(*) FROM webhook_deliveries), (SELECT "+
		"count(*) FROM webhook_attempts)").
		Scan(&n[0], &n[1], &n[2])
	return n, err
}

func TestAStreamKeepsItsPaceAndTellsWhatIsUnexpected(t *testing.T) {
	t.Parallel()
	s, seen := newEcho(t)
	stream := stream{name: "creates"}
	numbers := make(chan int, 1000)
	for n := range cap(numbers) {
		numbers <- n
	}
	err := stream.at(t.Context(), 100, time.Now().Add(2*time.Second), s, work{
		request: createRequest, next: func(int) int { return <-numbers },
		send: func(c *conn, n int) (answer, error) { return c.create(n, n) }, expected: func(a answer) bool { return a.status == http.StatusOK },
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := int(seen.Load()); n < 100 || n > 201 || len(stream.spans) != n || stream.unexpected != n ||
		!strings.HasPrefix(stream.example, "201: ") {
		t.Errorf("%d requests, %d spans, %d unexpected, the first %q", n, len(stream.spans), stream.unexpected, stream.example)
	}
}

// newEcho answers creates.
func newEcho(t *testing.T) (address string, seen *atomic.Int64) {
	t.Helper()
	seen = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		seen.Add(1)
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), seen
}

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/domain"
)

func TestAFilledDatabaseIsAsTheMigrationsMadeIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before := s.schema(t)
	f := filling{rows: 500, begun: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	if err := f.fill(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	if after := s.schema(t); !slices.Equal(after, before) {
		t.Errorf("indexes and keys are\n%s\nand were\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	for table, want := range map[string]int{"deliveries": 501, "recipients": 51, "recipient_addresses": 51, "feed_events": 101} {
		var n int
		if err := s.db.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != want {
			t.Errorf("%s has %d rows, want %d, %v", table, n, want, err)
		}
	}
	var business, application, environment string
	if err := s.db.QueryRow(t.Context(), "SELECT business_id::text, application_id::text, environment FROM feed_events LIMIT 1").Scan(
		&business, &application, &environment); err != nil {
		t.Fatal(err)
	}
	tenant := domain.Tenant{BusinessID: domain.ID("biz_" + strings.ReplaceAll(business, "-", "")),
		ApplicationID: domain.ID("app_" + strings.ReplaceAll(application, "-", "")), Environment: domain.Environment(environment)}
	d, err := s.store.Read().Deliveries.Get(t.Context(), tenant, domain.ID("dlv_"+f.id(deliveryKind, 41)))
	if err != nil || !d.CreatedAt.Equal(f.begun.Add(41*apart)) || d.Dropoff.ID.Hex() != f.id(addressKind, 41) {
		t.Errorf("the 42nd is %+v, %v", d, err)
	}
	page, err := s.store.Read().Feed.Events(t.Context(), tenant, domain.FeedFilter{}, nil, 200)
	if err != nil || len(page.Events) < f.events() {
		t.Errorf("%d events of %d can be read, %v", len(page.Events), f.events(), err)
	}
}

func TestAYearOfDeliveriesLeavesWhatIsKeptOfIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	// As the program's create does.
	const key = "INSERT INTO idempotency_keys (application_id, business_id, environment, key, fingerprint, claim_id, status, location, " +
		"created_at, expires_at) SELECT application_id, business_id, environment, 'bench-order-0000000', decode(repeat('ab', 32), 'hex'), id, " +
		"201, '', now(), now() FROM deliveries"
	if _, err := s.db.Exec(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	before := s.schema(t)
	f := yearOf(36_500) // a hundred a day, the last 52 of which are open
	if err := f.fill(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	after := slices.DeleteFunc(s.schema(t), func(line string) bool { return strings.Contains(line, "request_successes_2") })
	if !slices.Equal(after, before) {
		t.Errorf("indexes and keys are\n%s\nand were\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	const open, month = 52, 3000*5 - 4*52
	for question, want := range map[string]int{
		"FROM deliveries WHERE status = 'booked'": open + 1,
		"FROM deliveries WHERE last_sequence <> (SELECT count(*) FROM delivery_events e WHERE e.delivery_id = deliveries.id)": 0,
		"FROM delivery_events": 36_500*5 - 4*open + 1,
		"FROM delivery_events WHERE occurred_at > now() + interval '1 day'": 0,
		"FROM feed_events": month + 1,
		"FROM webhook_deliveries WHERE status = 'succeeded'":                            month,
		"FROM webhook_attempts JOIN webhook_deliveries w ON w.id = webhook_delivery_id": month,
		"FROM idempotency_keys WHERE expires_at > now()":                                100,
	} {
		var n int
		if err := s.db.QueryRow(t.Context(), "SELECT count(*) "+question).Scan(&n); err != nil || max(n-want, want-n) > want/1000 {
			t.Errorf("%s: %d, want %d, %v", question, n, want, err)
		}
	}
	var logged, days int
	const log = "SELECT count(*), count(DISTINCT tableoid) FROM request_successes"
	if err := s.db.QueryRow(t.Context(), log).Scan(&logged, &days); err != nil || days != 3 || logged < 400 || logged > 600 {
		t.Errorf("%d requests of %d days, %v", logged, days, err)
	}
}

func TestFilledDeliveriesVaryAsIsSaid(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	f := filling{rows: 100, begun: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	id := func(kind int) func(int) string { return func(n int) string { return f.id(kind, n) } }
	f.owner = func(recipient int) (business, application string) {
		return f.id(businessKind, recipient%3), f.id(applicationKind, recipient%3)
	}
	f.deliveries = values{"status": func(n int) string {
		if n%10 == 0 {
			return string(domain.Failed)
		}
		return string(domain.Delivered)
	}}
	if err := multiply(t.Context(), s.db, "businesses", 3, values{"id": id(businessKind)}); err != nil {
		t.Fatal(err)
	}
	if err := multiply(t.Context(), s.db, "applications", 3, values{"id": id(applicationKind), "business_id": id(businessKind)}); err != nil {
		t.Fatal(err)
	}
	if err := f.fill(t.Context(), s.db); err != nil { // with all foreign keys
		t.Fatal(err)
	}
	var failed, theirs int
	const counts = "SELECT count(*) FILTER (WHERE status = 'failed'), " +
		"count(*) FILTER (WHERE business_id = $1::text::uuid AND application_id = $2::text::uuid) FROM deliveries"
	business, application := f.owner(2)
	if err := s.db.QueryRow(t.Context(), counts, business, application).Scan(&failed, &theirs); err != nil {
		t.Fatal(err)
	}
	if failed != 10 || theirs != 30 {
		t.Errorf("%d failed and %d are of the third customer, want 10 and 30", failed, theirs)
	}
}

// schema is all indexes and constraints.
func (s *scene) schema(t *testing.T) []string {
	t.Helper()
	rows, err := s.db.Query(context.WithoutCancel(t.Context()), `SELECT indexdef AS line FROM pg_indexes WHERE schemaname = 'public'
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || convalidated || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		ORDER BY line`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestRowsOfALargeTableAreNumbersThatRise(t *testing.T) {
	t.Parallel()
	if rows, err := rowsOf("20000, 100000"); err != nil || !slices.Equal(rows, []int{20000, 100000}) {
		t.Errorf("%v, %v", rows, err)
	}
	for _, text := range []string{"", "many", "100000,20000", "20000,20000", "9999"} {
		if rows, err := rowsOf(text); err == nil {
			t.Errorf("%q is %v", text, rows)
		}
	}
}

func TestGrowthIsFromTheFewestRowsToTheMostWithinARound(t *testing.T) {
	t.Parallel()
	of := func(values ...time.Duration) (rounds []measurement) {
		for _, v := range values {
			rounds = append(rounds, measurement{latencies: []time.Duration{v}})
		}
		return rounds
	}
	if got := growth(of(10, 20), of(11, 30), 0.99); !slices.Equal(got, []float64{1.1, 1.5}) {
		t.Errorf("growth %v", got)
	}
}

func TestRowsOfTheLastDatabaseAreAsManyAsTheDiskHasRoomFor(t *testing.T) {
	t.Parallel()
	asked := []int{100_000, 1_000_000}
	for room, want := range map[int][]int{
		2_000_000 * yearBytes: asked,
		1_100_000 * yearBytes: asked,
		519_999 * yearBytes:   {100_000, 410_000},
		200_000 * yearBytes:   nil, // no more than in the first
		-1:                    nil,
	} {
		rows, err := fit(asked, room)
		if !slices.Equal(rows, want) || (err == nil) != (want != nil) {
			t.Errorf("with %d MB there are %v, %v, want %v", room/1e6, rows, err, want)
		}
	}
	if asked[1] != 1_000_000 {
		t.Error("what was asked for is changed")
	}
}

func TestAFillingEndsWhenOthersAreLeftTooLittleOfTheDisk(t *testing.T) {
	t.Parallel()
	limited, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	ctx, fail := context.WithCancelCause(limited)
	l := &library{largeOptions: largeOptions{spare: 1e9}}
	l.watchDisk(ctx, t.TempDir(), fail)
	if told := context.Cause(ctx); told == nil || !strings.Contains(told.Error(), "-spare") {
		t.Errorf("it ends with %v", told)
	}
}

func TestRequestsOfALargeTableVaryAndAPageHasAnotherBehindIt(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.String()] = true
		_, _ = io.WriteString(w, `{"meta":{"has_more":false}}`)
	}))
	t.Cleanup(s.Close)
	at := &server{address: strings.TrimPrefix(s.URL, "http://"), customers: customers{keys: []string{"k"}}}
	v := &volume{filling: yearOf(leastRows), server: at}
	for _, k := range kinds[1:] {
		clear(asked)
		_, err := k.load(v, 100*time.Millisecond).openLoop(t.Context(), 200)
		if k.page != (err != nil) {
			t.Errorf("%s, on a page without another behind it: %v", k.name, err)
		}
		if few := len(asked) < 2; !k.page && few {
			t.Errorf("%s asks for %v", k.name, asked)
		}
	}
}

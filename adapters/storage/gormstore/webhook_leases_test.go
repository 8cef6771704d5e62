package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// holdSnapshot does what pg_dump does until the test ends.
func holdSnapshot(t testing.TB, s *gormstore.Store) {
	t.Helper()
	write, _ := s.Pools()
	conn, err := write.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = conn.ExecContext(context.Background(), "ROLLBACK"); _ = conn.Close() })
	for _, statement := range []string{
		"BEGIN ISOLATION LEVEL REPEATABLE READ", "SET LOCAL idle_in_transaction_session_timeout = 0", "SELECT count(*) FROM webhook_endpoints",
	} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// sendMany makes so many webhooks pending for an endpoint that were due over the hour
// up to a minute ago, and done: what that leaves only ends with the snapshot.
func sendMany(t testing.TB, s *gormstore.Store, e domain.WebhookEndpoint, many int) {
	t.Helper()
	const of = "(id, business_id, endpoint_id, event_id, event_type, sequence, status, attempts, used, due_at, trigger, back, created_at)"
	exec(t, s, fmt.Sprintf("INSERT INTO webhook_deliveries "+of+
		" SELECT gen_random_uuid(), '%s', '%s', gen_random_uuid(), 'delivery.created', 1, 'pending', 0, 0, at, 'schedule', '', at"+
		" FROM (SELECT now() - interval '1 minute' - interval '1 hour' * (i / %d.0) AS at FROM generate_series(1, %d) AS n (i)) AS n",
		e.Tenant.BusinessID.Hex(), e.ID.Hex(), many, many))
	exec(t, s, "UPDATE webhook_deliveries SET status = 'succeeded', due_at = NULL, attempts = 1 WHERE status = 'pending'")
}

// seen is a statement with its values.
type seen struct {
	query  string
	values []any
}

var pagesHit = regexp.MustCompile(`Buffers: shared hit=(\d+)(?: read=(\d+))?`)

// pagesOf is how many pages the database looks at for a statement, and its plan.
func pagesOf(t testing.TB, s *gormstore.Store, of seen) (pages int, plan string) {
	t.Helper()
	write, _ := s.Pools()
	tx, err := write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	rows, err := tx.QueryContext(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) "+of.query, of.values...)
	if err != nil {
		t.Fatalf("%s: %v", of.query, err)
	}
	defer func() { _ = rows.Close() }()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", of.query, err)
	}
	plan = strings.Join(lines, "\n")
	if hit := pagesHit.FindStringSubmatch(plan); hit != nil { // of the whole statement: the first one
		for _, n := range hit[1:] {
			some, _ := strconv.Atoi(n)
			pages += some
		}
	}
	return pages, of.query + "\n" + plan
}

// While a snapshot is held nothing that was sent, and no version of a lease, can be
// cleaned up: a search for due webhooks must not walk through them.
func TestLongLooksForWebhooksPassByWhatASnapshotKeeps(t *testing.T) {
	t.Parallel()
	const sent, leases, most = 30_000, 5_000, 100
	s := openPostgres(t)
	tenant := newTenant(t, s)
	e := insertEndpoint(t, s, tenant, func(e *domain.WebhookEndpoint) { e.Health = domain.WebhookHealth{} })
	idle := insertEndpoint(t, s, newTenant(t, s))
	holdSnapshot(t, s)
	sendMany(t, s, e, sent)
	exec(t, s, fmt.Sprintf("DO $$ BEGIN FOR i IN 1..%d LOOP UPDATE webhook_leases SET number = number + 1; END LOOP; END $$", leases))
	ctx, now := t.Context(), domain.Millis(time.Now())
	exec(t, s, "ANALYZE")                                      // as autovacuum does, which finds a table of two rows
	if late, err := s.FindLate(ctx); late != 0 || err != nil { // walks, and notes how far
		t.Fatalf("%d late (%v)", late, err)
	}
	if err := s.Book(ctx, sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = now })); err != nil {
		t.Fatal(err)
	}
	s.LookAtEachEndpoint()

	o, token, statements := s.Outbox(), sample.ID("").Hex(), []seen(nil)
	see := func(query string, values []any) { statements = append(statements, seen{query, slices.Clone(values)}) }
	if err := errors.Join(s.WatchReads(see), s.WatchWrites(see)); err != nil {
		t.Fatal(err)
	}
	var due []ports.OutgoingWebhook
	for _, look := range []struct {
		what string
		at   func() error
	}{
		{"Waiting", func() error {
			waiting, err := o.Waiting(ctx, now, 0, 1000)
			if err == nil && (len(waiting) != 1 || waiting[0].ID != e.ID) {
				err = fmt.Errorf("%v wait, want %s and not %s", waiting, e.ID, idle.ID)
			}
			return err
		}},
		{"WaitingFor", func() error { return errorOf(o.WaitingFor(ctx, e.ID, now, 0)) }},
		{"Lease", func() error { _, _, err := o.Lease(ctx, e.ID, token, time.Minute); return err }},
		{"Due", func() (err error) {
			if due, err = o.Due(ctx, e.ID, now, 10); err == nil && len(due) != 1 {
				err = fmt.Errorf("%d are due, want one", len(due))
			}
			return err
		}},
		{"Renew", func() error { return errorOf(o.Renew(ctx, e.ID, token, time.Minute)) }},
		{"Record", func() error {
			return o.Record(ctx, e.ID, token, []ports.WebhookOutcome{sample.WebhookOutcome(due[0].WebhookDelivery, sample.Arrived(now), now)},
				domain.WebhookHealth{})
		}},
		{"Release", func() error { return o.Release(ctx, e.ID, token) }},
		{"Backlog", func() error { _, _, err := o.Backlog(ctx, now); return err }},
		{"disabling", func() error {
			return s.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
				e.Enabled, e.Disabled = false, domain.DisabledByCaller
				return tx.Webhooks.UpdateEndpoint(ctx, e)
			})
		}},
		{"cleaning", func() error { _, _, err := s.PurgeExpired(ctx, 100); return err }},
	} {
		statements = nil
		if err := look.at(); err != nil {
			t.Fatalf("%s: %v", look.what, err)
		}
		of := slices.Clone(statements)
		if len(of) == 0 {
			t.Errorf("%s: no statement was seen", look.what)
		}
		for _, statement := range of {
			if !strings.Contains(statement.query, "webhook_") || strings.HasPrefix(statement.query, "SELECT set_config") {
				continue
			}
			if pages, plan := pagesOf(t, s, statement); pages > most {
				t.Errorf("%s looks at %d pages, want at most %d:\n%s", look.what, pages, most, plan)
			}
		}
	}
}

// An attempt that tells nothing new about its endpoint changes nothing of it: each
// booking reads all versions of that row.
func TestRecordingLeavesAHealthyEndpointAsItIs(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tenant := newTenant(t, s)
	health := domain.WebhookHealth{}
	e := insertEndpoint(t, s, tenant, func(e *domain.WebhookEndpoint) { e.Health = health })
	version := func() (v string) {
		t.Helper()
		write, _ := s.Pools()
		if err := write.QueryRowContext(t.Context(), "SELECT ctid FROM webhook_endpoints").Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	at := version()
	o, token := s.Outbox(), sample.ID("").Hex()
	for range 3 {
		if err := s.Book(t.Context(), sample.BookingWrite(tenant)); err != nil {
			t.Fatal(err)
		}
		_, _, err := o.Lease(t.Context(), e.ID, token, time.Minute)
		due, err2 := o.Due(t.Context(), e.ID, sample.Now.Add(time.Hour), 10)
		if err := errors.Join(err, err2); err != nil || len(due) != 1 {
			t.Fatalf("%d due: %v", len(due), err)
		}
		outcome := sample.WebhookOutcome(due[0].WebhookDelivery, sample.Arrived(sample.Now), sample.Now)
		if err := errors.Join(o.Record(t.Context(), e.ID, token, []ports.WebhookOutcome{outcome}, health),
			o.Release(t.Context(), e.ID, token)); err != nil {
			t.Fatal(err)
		}
	}
	if now := version(); now != at {
		t.Errorf("the row of the endpoint went from %s to %s", at, now)
	}
	token = leased(t, s, e)
	health.Failures, health.FailingSince = 1, new(sample.Now)
	if err := o.Record(t.Context(), e.ID, token, nil, health); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read().Webhooks.Endpoint(t.Context(), tenant, e.ID); err != nil || got.Health.Failures != 1 || version() == at {
		t.Errorf("health %+v (%v), want what was recorded", got.Health, err)
	}
}

func leased(t testing.TB, s *gormstore.Store, e domain.WebhookEndpoint) (token string) {
	t.Helper()
	token = sample.ID("").Hex()
	if _, leased, err := s.Outbox().Lease(t.Context(), e.ID, token, time.Minute); !leased || err != nil {
		t.Fatalf("leased %t (%v)", leased, err)
	}
	return token
}

// Where a look through the index takes long, each endpoint is looked at instead, and
// nothing is found late by that.
func TestALongWayThroughTheIndexIsLeft(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			insertEndpoint(t, s, tenant)
			exec(t, s, "UPDATE webhook_endpoints SET open_until = NULL")
			if err := s.Book(t.Context(), sample.BookingWrite(tenant)); err != nil {
				t.Fatal(err)
			}
			s.CallLooksLong()
			for range 2 {
				waiting, err := s.Outbox().Waiting(t.Context(), time.Now().Add(time.Hour), 0, 10)
				if err != nil || len(waiting) != 1 {
					t.Fatalf("%v wait (%v), want one", waiting, err)
				}
				if !s.LooksAtEachEndpoint() {
					t.Error("the index is walked again")
				}
			}
		})
	}
}

// world is an endpoint whose webhooks become pending, early and late, while others look
// for them; its time is made up.
type world struct {
	t       *testing.T
	store   *gormstore.Store
	e       domain.WebhookEndpoint
	random  *rand.Rand
	now     time.Time
	open    []*transaction
	pending map[domain.ID]promise // event
	sent    []domain.ID           // webhook deliveries
}

// promise is from when on a webhook has to be found, at once or once FindLate has looked.
type promise struct {
	due    time.Time
	prompt bool
}

// transaction has made something pending and not committed it yet.
type transaction struct {
	event         domain.FeedEvent
	commit, ended chan error
}

// Whatever the order in which transactions end, and with looks in between: what is
// committed within the margin is found by the next look, and all else by the first one
// after FindLate.
func TestNothingThatIsDueIsPassedOver(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			for seed := range uint64(6) {
				w := &world{
					t: t, store: s, e: insertEndpoint(t, s, newTenant(t, s)), random: rand.New(rand.NewPCG(seed, 14)), //nolint:gosec // a test
					now: time.Now().UTC().Truncate(time.Millisecond), pending: map[domain.ID]promise{},
				}
				concurrent := name == "Postgres" // SQLite has one transaction at a time
				for range 60 {
					w.step(concurrent)
				}
				for len(w.open) > 0 {
					w.commit()
				}
				w.findLate()
				w.look()
				if len(w.pending) > 0 || t.Failed() {
					t.Fatalf("seed %d: %d are still pending", seed, len(w.pending))
				}
			}
		})
	}
}

func (w *world) step(concurrent bool) {
	w.now = w.now.Add(time.Duration(w.random.IntN(3000)) * time.Millisecond)
	switch n := w.random.IntN(10); {
	case n < 2 && concurrent && len(w.open) < 3:
		w.begin()
	case n < 3: // as if it had begun a while ago
		w.publish(w.now.Add(-time.Duration(w.random.IntN(20_000)) * time.Millisecond))
	case n < 6 && len(w.open) > 0:
		w.commit()
	case n == 6:
		w.redeliver()
	case n == 7 && w.random.IntN(4) == 0:
		w.findLate()
	default:
		w.look()
	}
}

func (w *world) event(at time.Time) domain.FeedEvent {
	return sample.EndpointEvent(domain.EventEndpointTest, func(e *domain.FeedEvent) { e.OccurredAt = at })
}

// begin makes something due now, to be committed some time.
func (w *world) begin() {
	tx := &transaction{event: w.event(w.now), commit: make(chan error), ended: make(chan error, 1)}
	begun := make(chan struct{})
	go func() {
		tx.ended <- w.store.InTx(w.t.Context(), func(ctx context.Context, s ports.Stores) error {
			if err := s.Webhooks.Publish(ctx, domain.WebhookEndpoint{Tenant: w.e.Tenant}, tx.event); err != nil {
				return err
			}
			close(begun)
			select {
			case <-tx.commit:
				return nil
			case <-w.t.Context().Done(): // the test has failed
				return w.t.Context().Err()
			}
		})
	}()
	select {
	case <-begun:
		w.open = append(w.open, tx)
	case err := <-tx.ended:
		w.t.Fatal(err)
	}
}

func (w *world) commit() {
	i := w.random.IntN(len(w.open))
	tx := w.open[i]
	w.open = slices.Delete(w.open, i, i+1)
	close(tx.commit)
	if err := <-tx.ended; err != nil { // Postgres ends one that is idle for too long
		w.t.Logf("not committed: %v", err)
		return
	}
	w.committed(tx.event)
}

func (w *world) publish(at time.Time) {
	event := w.event(at)
	if err := w.store.InTx(w.t.Context(), func(ctx context.Context, s ports.Stores) error {
		return s.Webhooks.Publish(ctx, domain.WebhookEndpoint{Tenant: w.e.Tenant}, event)
	}); err != nil {
		w.t.Fatal(err)
	}
	w.committed(event)
}

func (w *world) committed(e domain.FeedEvent) {
	w.pending[e.ID] = promise{due: e.OccurredAt, prompt: w.now.Sub(e.OccurredAt) <= gormstore.DueMargin}
}

// redeliver makes one that was sent pending again, as if it were due since long ago.
func (w *world) redeliver() {
	if len(w.sent) == 0 {
		return
	}
	id := w.sent[w.random.IntN(len(w.sent))]
	var d domain.WebhookDelivery
	if err := w.store.InTx(w.t.Context(), func(ctx context.Context, s ports.Stores) (err error) {
		if _, err = s.Webhooks.LockEndpoint(ctx, w.e.Tenant, w.e.ID); err != nil {
			return err
		}
		if d, err = s.Webhooks.LockDelivery(ctx, w.e.Tenant, id); err != nil {
			return err
		}
		d.Redeliver(w.now.Add(-time.Duration(w.random.IntN(7200)) * time.Second))
		return s.Webhooks.UpdateDelivery(ctx, d)
	}); err != nil {
		w.t.Fatal(err)
	}
	w.pending[d.EventID] = promise{due: *d.DueAt, prompt: true}
}

// look sends all that it finds.
func (w *world) look() {
	token := leased(w.t, w.store, w.e)
	o := w.store.Outbox()
	due, err := o.Due(w.t.Context(), w.e.ID, w.now, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var outcomes []ports.WebhookOutcome
	for _, d := range due {
		outcomes = append(outcomes, sample.WebhookOutcome(d.WebhookDelivery, sample.Arrived(w.now), w.now))
		if _, promised := w.pending[d.EventID]; !promised {
			w.t.Errorf("%s is due and was not made so", d.ID)
		}
		delete(w.pending, d.EventID)
		w.sent = append(w.sent, d.ID)
	}
	if err := errors.Join(o.Record(w.t.Context(), w.e.ID, token, outcomes, domain.WebhookHealth{}),
		o.Release(w.t.Context(), w.e.ID, token)); err != nil {
		w.t.Fatal(err)
	}
	for id, p := range w.pending {
		if p.prompt && !p.due.After(w.now) {
			w.t.Errorf("%s was due %s ago and passed over", id, w.now.Sub(p.due))
		}
	}
}

func (w *world) findLate() {
	if _, err := w.store.FindLate(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	for id, p := range w.pending {
		w.pending[id] = promise{due: p.due, prompt: true}
	}
}

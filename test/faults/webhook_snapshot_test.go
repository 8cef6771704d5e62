package faults

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/test/redis"
)

// heldSnapshot is a snapshot that a session holds, as pg_dump does, while webhooks
// flow: Postgres keeps every dead row of the sending.
type heldSnapshot struct {
	dead   int           // webhooks to the first receiver that were sent since
	lasts  time.Duration // each phase
	mutant string
}

// besideSnapshot is what came of it: within how long 95 of 100 webhooks came, and all.
type besideSnapshot struct {
	*ledger
	calm, held, free struct{ p95, last time.Duration }
}

func newHeldSnapshot(mutant string) heldSnapshot {
	if full() {
		return heldSnapshot{dead: 1_500_000, lasts: 3 * time.Minute, mutant: mutant}
	}
	return heldSnapshot{dead: 600_000, lasts: 3 * time.Second, mutant: mutant}
}

// late tells whether they came later beside the snapshot than they may.
func (b besideSnapshot) late() bool {
	return b.held.p95 > 3*b.calm.p95+250*time.Millisecond || b.held.last > 3*b.calm.last+2*time.Second // beside other tests
}

// TestASnapshotThatIsHeldDelaysNoWebhook holds one while webhooks flow, behind as much
// as many hours of sending leave, and measures how late they come before, meanwhile and
// afterwards. How it is in a full half hour is measured by `bench webhooks -held 30m`.
func TestASnapshotThatIsHeldDelaysNoWebhook(t *testing.T) {
	alongside(t)
	for range snapshotTries {
		b := newHeldSnapshot("").last(t)
		if !b.sound() || b.doubled > 0 {
			t.Fatal("want every webhook once")
		}
		if !b.late() {
			return
		}
	}
	t.Errorf("beside each of %d snapshots they came late", snapshotTries)
}

// snapshotTries are for what else the machine does.
const snapshotTries = 3

// TestASnapshotThatIsHeldNoticesAMutant shows what that is worth: looks for what is
// due go through all that was sent.
func TestASnapshotThatIsHeldNoticesAMutant(t *testing.T) {
	alongside(t)
	for range snapshotTries {
		if newHeldSnapshot("webhook_due_since_ever").last(t).late() {
			return
		}
	}
	t.Errorf("%d snapshots delayed nothing, with that bug in the program", snapshotTries)
}

func (h heldSnapshot) last(t *testing.T) (b besideSnapshot) {
	t.Helper()
	p := newPost(t, setting{dialect: Postgres, redis: redis.Own(t).URL, servers: 1, workers: 1, apps: 2, mutant: h.mutant})
	for _, app := range p.apps {
		p.receive(t, app, takes)
	}
	phase := func(name string) (m struct{ p95, last time.Duration }) {
		t.Helper()
		begun := time.Now()
		p.write(t.Context(), 4, 20*time.Millisecond, func() bool { return time.Since(begun) > h.lasts }).Wait()
		took := p.drain(t, time.Minute)
		late := latenessSince(p.receivers, begun)
		m.p95, m.last = quantileOf(late, 950), quantileOf(late, 1000)
		t.Logf("%s: %d webhooks, half within %.1f ms of the event, 95 of 100 within %.1f ms, all within %.1f ms; %.1f s until all was sent",
			name, len(late), ms(quantileOf(late, 500)), ms(m.p95), ms(m.last), took.Seconds())
		return m
	}
	phase("warming up")
	b.calm = phase("without a snapshot")
	release := holdSnapshot(t, p.url)
	h.leaveDead(t, p)
	b.held = phase("beside a snapshot")
	release()
	b.free = phase("released")
	b.ledger = p.audit(t)
	t.Logf("%s (answers: %s)", b.ledger, p.answered(t))
	return b
}

// holdSnapshot takes one and keeps it.
func holdSnapshot(t *testing.T, url string) (release func()) {
	t.Helper()
	holder, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Close(context.Background()) })
	for _, statement := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM webhook_endpoints"} {
		if _, err := holder.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if _, err := holder.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// leaveDead makes the dead rows that sending leaves under a held snapshot, at the due
// times of the half hour before, without a visible pending webhook.
func (h heldSnapshot) leaveDead(t *testing.T, p *post) {
	t.Helper()
	tx, err := p.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // once it is committed this does nothing
	made, err := tx.ExecContext(t.Context(),
		`INSERT INTO webhook_deliveries (id, endpoint_id, business_id, event_id, event_type, sequence, status, attempts, used, due_at, trigger,
			back, created_at)
		SELECT gen_random_uuid(), $1::uuid, $3::uuid, '00000000-0000-0000-0000-000000000000'::uuid, 'delivery.created', 1, 'pending', 0, 0, due,
			'schedule', '', due
		FROM (SELECT now() - interval '10 seconds' - n * interval '30 minutes' / $2 AS due FROM generate_series(1, $2::integer) AS n) AS past`,
		hexOf(p.receivers[0].endpoint), h.dead, hexOf(p.apps[0].customer.BusinessID))
	if err == nil {
		_, err = tx.ExecContext(t.Context(), "DELETE FROM webhook_deliveries WHERE event_id = '00000000-0000-0000-0000-000000000000'")
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := made.RowsAffected(); err != nil || n != int64(h.dead) {
		t.Fatalf("%d dead webhooks (error %v)", n, err)
	}
}

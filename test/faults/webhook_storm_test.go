package faults

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"waybill/test/backend"
)

// strikeEvery is how often a process is killed; one of so many is the server.
const (
	strikeEvery  = 500 * time.Millisecond
	serverStrike = 6
)

// aftermath is what a flood left.
type aftermath struct {
	*ledger
	missed, repeated int // events, by readers of the feed
}

func (a aftermath) sound() bool {
	return a.ledger.sound() && a.missed == 0 && a.repeated == 0
}

func TestStormOnWebhooksLosesNothing(t *testing.T) {
	alongside(t)
	events := 600
	if full() {
		events = 20_000
	}
	a := rage(t, events)
	if !a.sound() {
		t.Errorf("want all that was committed with every receiver, and nothing twice but by a death: %d at most, and %d of one endpoint", a.most,
			mostUnstored)
	}
}

// rage lets clients write and readers read while processes die and transactions
// are open for long.
func rage(t *testing.T, events int) aftermath {
	t.Helper()
	database := ownPostgres(t)
	p := newPost(t, setting{
		dialect: Postgres, url: database.URL, redis: backend.OwnRedis(t).URL, servers: 1, workers: 2, apps: 3,
	})
	p.receive(t, p.apps[0], takes)
	p.receive(t, p.apps[0], takes)
	p.receive(t, p.apps[1], flaky(20))
	p.receive(t, p.apps[1], thinks(20*time.Millisecond))
	p.receive(t, p.apps[2], takes)
	p.receivers[2].unwell.Store(true)

	simulations := min(events/10, 240)
	p.begin(t, simulations, 1)
	begun := time.Now()
	calm := make(chan struct{})
	readers := []*feedReader{{app: p.apps[0]}, {app: p.apps[1]}}
	eventsOf := func(app *sender) int { return p.count(t, app) }
	var beside sync.WaitGroup
	for _, r := range readers {
		beside.Go(func() { r.follow(t.Context(), calm, func() int { return eventsOf(r.app) }) })
	}
	beside.Go(func() { holdTransactions(t, database.URL, calm) })
	clients := p.write(t.Context(), 8, 0, func() bool { return int(p.written.Load()) >= events-4*simulations })
	ended := make(chan struct{})
	go func() { clients.Wait(); close(ended) }()
	for n, over := 0, false; !over || n < 8; n++ {
		next := time.After(strikeEvery)
		if n%serverStrike == serverStrike-1 {
			p.strikeServer(t, 0)
		} else {
			p.strikeWorker(t, n%len(p.lives))
		}
		<-next
		select {
		case <-ended:
			over = true
		default:
		}
	}
	stormed := time.Since(begun)
	took := p.drain(t, 90*time.Second)
	close(calm)
	beside.Wait()
	a := aftermath{ledger: p.audit(t)}
	t.Logf("storm of %.1f s, and %.1f s until all was sent: %s", stormed.Seconds(), took.Seconds(), a)
	t.Logf("half of the webhooks came first within %.0f ms of the event, 99 of 100 within %.0f ms; answers: %s", ms(a.quantile(500)),
		ms(a.quantile(990)), p.answered(t))
	stored := p.published(t)
	for _, r := range readers {
		missed, repeated := r.against(stored[hexOf(r.app.customer.AppID)])
		t.Logf("a reader of the feed saw %d events: %d missed, %d twice (error %v)", len(r.seen), missed, repeated, r.err)
		a.missed, a.repeated = a.missed+missed, a.repeated+repeated
		if r.err != nil {
			t.Error(r.err)
		}
	}
	return a
}

// against compares what a reader saw with what is stored.
func (f *feedReader) against(events []published) (missed, repeated int) {
	seen := map[string]int{}
	for _, id := range f.seen {
		if seen[id]++; seen[id] > 1 {
			repeated++
		}
	}
	for _, e := range events {
		if seen[e.id] == 0 {
			missed++
		}
	}
	return missed, repeated
}

// count is how many events of deliveries an application has. It may be called
// beside the test.
func (p *post) count(t *testing.T, app *sender) (n int) {
	err := p.db.QueryRowContext(t.Context(),
		"SELECT count(*) FROM feed_events WHERE delivery_id IS NOT NULL AND replace(CAST(application_id AS text), '-', '') = $1",
		hexOf(app.customer.AppID)).Scan(&n)
	if err != nil {
		return 0
	}
	return n
}

// holdTransactions keeps transactions open that have a number, some seconds each
// and two at a time, as reports and migrations do.
func holdTransactions(t *testing.T, url string, until <-chan struct{}) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Error(err)
		return
	}
	defer db.Close()
	lasting := time.Second
	if full() {
		lasting = 3 * time.Second
	}
	var holders sync.WaitGroup
	for range 2 {
		holders.Go(func() {
			for {
				if err := holdTransaction(t.Context(), db, lasting, until); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-until:
					return
				case <-time.After(300 * time.Millisecond):
				}
			}
		})
	}
	holders.Wait()
}

func holdTransaction(ctx context.Context, db *sql.DB, lasting time.Duration, until <-chan struct{}) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "SELECT pg_current_xact_id()"); err != nil {
		return err
	}
	select {
	case <-until:
	case <-time.After(lasting):
	}
	return tx.Commit()
}

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// dueSQL makes webhooks that are due, many more than could be created in time.
// They are what the program would have stored, without their deliveries, which a
// sender does not read.
//
//go:embed due.sql
var dueSQL string

// inserted tells what no create was for; its timestamp says nothing.
func (a arrival) inserted() bool { return a.Order == 0 }

// The webhooks of these trials are inserted.
const (
	overdueFor = 20 * time.Second // is sent of a large backlog
	overdueAge = time.Hour        // of the oldest of it
	retryAge   = 5 * time.Second
)

var overdueFigures = append([]figure{
	{"per second", rate.of, 0, 0, -1},
	{"per CPU-second", throughput[1].of, 0, 0, -1},
}, processors...)

// besideRetries are latencies of the creates, and what is of the retries.
var besideRetries = slices.Concat(latency(-1)[:5], []figure{
	{"retries per second", func(o outcome) float64 { return float64(o.insertedOnes()) / lastInserted(o) }, 0, 0, -1},
	{"last retry after s", lastInserted, 1, 0, -1},
	{"lost", missing, 0, 0, 0},
}, processors)

// insertDue makes so many webhooks due, as many for each endpoint: after a first
// attempt in vain, or before it. Each endpoint must have had one webhook.
func insertDue(ctx context.Context, db *pgx.Conn, endpoints []string, n int, age time.Duration, failed bool) error {
	tag, err := db.Exec(ctx, dueSQL, endpoints, n/len(endpoints), age, orderMark, failed)
	if err == nil && tag.RowsAffected() != int64(n/len(endpoints)*len(endpoints)) {
		err = fmt.Errorf("%d webhooks were inserted, not %d for each of %d endpoints", tag.RowsAffected(), n/len(endpoints), len(endpoints))
	}
	if err != nil {
		return fmt.Errorf("insert webhooks: %w", err)
	}
	return nil
}

// overdue is the beginning of a backlog that is too large to be waited for.
func (p *post) overdue(ctx context.Context, webhooks int) (o outcome, err error) {
	f, err := p.insertDue(ctx, p.neighbours[:1], webhooks, overdueAge, false)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, f.clear(ctx)) }()
	before := p.spent()
	if o.begun, err = f.release(ctx); err != nil {
		return o, err
	}
	err = p.await(ctx, f.inserted, overdueFor)
	o.took, o.spent = time.Since(o.begun), p.spent().since(before)
	return o, err
}

// retried is a steady pace of one application while many retries of others become
// due in one moment; the endpoints of those answer at once.
func (p *post) retried(ctx context.Context, perSecond, retries int, duration time.Duration) (o outcome, err error) {
	f, err := p.insertDue(ctx, p.neighbours, retries, retryAge, true)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, f.clear(ctx)) }()
	creates := perSecond * int(duration/time.Second)
	o.expected = f.inserted + creates
	before := p.spent()
	if o.begun, err = f.release(ctx); err != nil {
		return o, err
	}
	if err = p.order(ctx, []application{p.one}, creates, perSecond); err != nil {
		return o, err
	}
	err = p.await(ctx, o.expected, patience+time.Duration(f.inserted)*time.Millisecond)
	o.took, o.spent = time.Since(o.begun), p.spent().since(before)
	return o, err
}

// field is what was inserted, and the endpoints it is for. They are held back by a
// lease, so that all of it becomes due in one moment, which is after the insert.
type field struct {
	*post
	of        []application
	endpoints []string // IDs of the API, one of each application
	keys      []string // the same in the database
	inserted  int
}

// insertDue makes webhooks for a new endpoint of each application. The field is to be
// cleared if there is no error.
func (p *post) insertDue(ctx context.Context, of []application, n int, age time.Duration, failed bool) (*field, error) {
	f := &field{post: p, of: of, inserted: n / len(of) * len(of)}
	if f.inserted == 0 {
		return nil, fmt.Errorf("%d webhooks are fewer than the %d endpoints they are for; ask for more", n, len(of))
	}
	err := f.prepare(ctx, age, failed)
	if err != nil {
		err = errors.Join(err, f.clear(ctx))
	}
	return f, err
}

func (f *field) prepare(ctx context.Context, age time.Duration, failed bool) error {
	for _, a := range f.of {
		id, err := f.addEndpoint(ctx, a, a.inboxes[0]+"/hooks")
		if err != nil {
			return err
		}
		f.endpoints, f.keys = append(f.endpoints, id), append(f.keys, id[len("whe_"):])
	}
	if err := f.order(ctx, f.of, len(f.of), 0); err != nil { // each has a real one, the template
		return err
	}
	if err := f.settled(ctx); err != nil {
		return err
	}
	if _, err := f.db.Exec(ctx, "UPDATE webhook_leases SET token = gen_random_uuid(), leased_until = now() + interval '10 minutes', "+
		"due_since = '1970-01-01T00:00:00Z' WHERE endpoint_id = ANY ($1::uuid[])", f.keys); err != nil {
		return err
	}
	if err := insertDue(ctx, f.db, f.keys, f.inserted, age, failed); err != nil {
		return err
	}
	for _, statement := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := f.db.Exec(ctx, statement); err != nil {
			return err
		}
	}
	f.answered = nil
	_, err := f.receiver.ask(askTake)
	return err
}

// release makes all of it due, and tells when.
func (f *field) release(ctx context.Context) (time.Time, error) {
	at := time.Now()
	_, err := f.db.Exec(ctx, "UPDATE webhook_leases SET token = NULL, leased_until = NULL WHERE endpoint_id = ANY ($1::uuid[])", f.keys)
	return at, err
}

// clear ends the sending and leaves nothing of it, so that what is measured next
// is as it would be without.
func (f *field) clear(ctx context.Context) error {
	var err error
	for i, id := range f.endpoints {
		err = errors.Join(err, f.removeEndpoint(ctx, f.of[i], id))
	}
	return errors.Join(err, uproot(ctx, f.db, f.keys))
}

// uproot deletes all that endpoints ever had.
func uproot(ctx context.Context, db *pgx.Conn, endpoints []string) error {
	for _, statement := range []string{
		"DELETE FROM webhook_attempts a USING webhook_deliveries w WHERE w.endpoint_id = ANY ($1::uuid[]) AND a.webhook_delivery_id = w.id",
		"DELETE FROM feed_events f USING webhook_deliveries w WHERE w.endpoint_id = ANY ($1::uuid[]) AND f.id = w.event_id",
		"DELETE FROM webhook_deliveries WHERE endpoint_id = ANY ($1::uuid[])",
	} {
		if _, err := db.Exec(ctx, statement, endpoints); err != nil {
			return fmt.Errorf("clear what was inserted: %w", err)
		}
	}
	return nil
}

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"
)

// deadSQL makes what sending leaves.
//
//go:embed dead.sql
var deadSQL string

const (
	sentSQL = "UPDATE webhook_deliveries SET status = 'succeeded', due_at = NULL, attempts = 1 WHERE status = 'pending' AND attempts = 0 " +
		"AND event_id = delivery_id"
	// versionsSQL makes versions of the row that an owner changes.
	versionsSQL = "DO $$ BEGIN FOR i IN 1..%d LOOP UPDATE webhook_leases SET number = number + 1; END LOOP; END $$"

	deadFor      = 30 * time.Minute // of sending is the least that is made
	deadAge      = 10 * time.Second // of the youngest
	deadAtOnce   = 250_000
	leaseUpdates = 9000 // of each lease in that time: five a second
)

// beside is a steady pace beside a snapshot that is held, as pg_dump does, and what so
// many webhooks left that were sent since it was taken.
func (p *post) beside(ctx context.Context, perSecond, dead int, duration time.Duration) (o outcome, err error) {
	snapshot, err := p.takeSnapshot(ctx)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, snapshot.Close(context.WithoutCancel(ctx))) }()
	if err := p.leaveDead(ctx, dead, perSecond); err != nil {
		return o, err
	}
	if err := pause(ctx, quiet); err != nil {
		return o, err
	}
	o.spent = p.spent()
	o.expected = perSecond * int(duration/time.Second)
	err = p.order(ctx, []application{p.one}, o.expected, perSecond)
	return o, errors.Join(err, p.await(ctx, o.expected, patience))
}

// leaveDead makes them as if so many a second had been sent, with none visible as
// pending.
func (p *post) leaveDead(ctx context.Context, dead, perSecond int) error {
	for done := 0; done < dead; done += deadAtOnce {
		n := min(deadAtOnce, dead-done)
		span := func(of int) time.Duration { return time.Duration(of) * time.Second / time.Duration(perSecond) }
		tx, err := p.db.Begin(ctx)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, deadSQL, "http://"+p.one.inboxes[0]+"/hooks", n, span(n), done+dead, deadAge+span(dead-done-n))
		if err == nil && tag.RowsAffected() != int64(n) {
			err = fmt.Errorf("%d webhooks were made, not %d", tag.RowsAffected(), n)
		}
		if err == nil {
			_, err = tx.Exec(ctx, sentSQL)
		}
		if err == nil {
			err = tx.Commit(ctx)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("make dead webhooks: %w", err), tx.Rollback(context.WithoutCancel(ctx)))
		}
	}
	_, err := p.db.Exec(ctx, fmt.Sprintf(versionsSQL, leaseUpdates))
	return err
}

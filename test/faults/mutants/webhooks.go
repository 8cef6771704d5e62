//go:build mutants

package gormstore

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"

	"waybill/domain"
	"waybill/ports"
)

// fanOutOf is fanOut of a session.
type fanOutOf func(ctx context.Context, t domain.Tenant, e domain.FeedEvent, except domain.ID) error

// newFanOut breaks the rule that WAYBILL_MUTANT names.
func newFanOut(s feed) fanOutOf {
	switch {
	case mutant("fanout_own_commit"): // a crash in between loses the webhooks
		return func(ctx context.Context, t domain.Tenant, e domain.FeedEvent, except domain.ID) error {
			go s.fanOutLater(context.WithoutCancel(ctx), t, e, except)
			return nil
		}
	case mutant("feed_unsettled"): // transactions end in another order than they began
		return func(ctx context.Context, t domain.Tenant, e domain.FeedEvent, except domain.ID) error {
			time.Sleep(rand.N(mutantPause))
			return s.fanOut(ctx, t, e, except)
		}
	}
	return s.fanOut
}

// fanOutLater waits for the commit of the event, and fans it out on its own.
func (s feed) fanOutLater(ctx context.Context, t domain.Tenant, e domain.FeedEvent, except domain.ID) {
	pool := s.db.Session(&gorm.Session{NewDB: true, Context: ctx})
	pool.Statement.ConnPool = pool.ConnPool
	alone := feed{session{db: pool, dialect: s.dialect, fanned: &fanned{}}}
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		time.Sleep(mutantPause)
		var n int64
		err := alone.with(ctx).Table("feed_events").Where("id = ?", rowIDOf(e.ID)).Count(&n).Error
		if err == nil && n > 0 {
			_ = alone.fanOut(ctx, t, e, except) // no endpoint is left
			return
		}
	}
}

func newFeed(s session) ports.FeedReader { return mutantFeed{s} }

// mutantFeed and mutantOutbox break the rule that WAYBILL_MUTANT names.
type mutantFeed struct{ session }

func (s mutantFeed) Events(ctx context.Context, t domain.Tenant, f domain.FeedFilter, after *domain.FeedPosition,
	limit int) (domain.FeedPage, error) {
	sn := s.session
	if mutant("feed_unsettled") { // what is committed later with an earlier position is missed
		careless := *s.dialect
		careless.feedBound = sqliteDialect.feedBound
		sn.dialect = &careless
	}
	return feed{sn}.Events(ctx, t, f, after, limit)
}

func (s mutantFeed) OfAll(ctx context.Context, f domain.PlatformFeedFilter, after *domain.FeedPosition, limit int) (domain.PlatformFeedPage,
	error) {
	return feed{s.session}.OfAll(ctx, f, after, limit)
}

func (s mutantFeed) Event(ctx context.Context, t domain.Tenant, id domain.ID) (domain.FeedEvent, error) {
	return feed{s.session}.Event(ctx, t, id)
}

func newOutbox(s *Store) ports.WebhookOutbox { return mutantOutbox{outbox{store: s}} }

type mutantOutbox struct{ outbox }

func (o mutantOutbox) Due(ctx context.Context, endpoint domain.ID, now time.Time, limit int,
	except ...domain.ID) ([]ports.OutgoingWebhook, error) {
	if mutant("webhook_due_since_ever") { // under an old snapshot each look goes through all sent webhooks
		if err := o.write().dueFrom(ctx, rowIDOf(endpoint), time.Unix(0, 0)); err != nil {
			return nil, err
		}
	}
	due, err := o.outbox.Due(ctx, endpoint, now, limit, except...)
	if err != nil {
		return nil, err
	}
	switch {
	case mutant("webhook_settled_early"): // a crash of the sender loses the webhooks it was sending
		ids := all(due, func(d *ports.OutgoingWebhook) rowID { return rowIDOf(d.ID) })
		if len(ids) == 0 {
			return nil, nil
		}
		err = o.write().with(ctx).Exec("UPDATE webhook_deliveries SET status = 'succeeded', due_at = NULL WHERE id IN ?", ids).Error
	case mutant("webhook_written_anew"): // a repeat is not what was sent before
		for i := range due {
			due[i].Payload = append(bytes.Clone(due[i].Payload), bytes.Repeat([]byte{' '}, due[i].Attempts)...)
		}
	}
	return due, err
}

func (o mutantOutbox) Lease(ctx context.Context, endpoint domain.ID, token string, lasting time.Duration) (domain.WebhookEndpoint, bool,
	error) {
	if mutant("webhook_shared") { // two send to one endpoint
		return o.lease(ctx, endpoint, token, lasting, "CAST(? AS text) <> ''", "NOT e.listener")
	}
	return o.outbox.Lease(ctx, endpoint, token, lasting)
}

func (o mutantOutbox) Waiting(ctx context.Context, now time.Time, ahead time.Duration, limit int) ([]ports.WaitingEndpoint, error) {
	if mutant("webhook_unswept") { // a notification that was lost is never made up for
		return nil, nil
	}
	return o.outbox.Waiting(ctx, now, ahead, limit)
}

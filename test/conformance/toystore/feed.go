package toystore

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"waybill/domain"
)

type feed struct{ session }

func (s feed) Events(_ context.Context, t domain.Tenant, f domain.FeedFilter, after *domain.FeedPosition, limit int) (page domain.FeedPage,
	_ error) {
	found, err := s.read(func(of domain.Tenant) bool { return sameApplication(of, t) }, func(e of[domain.FeedEvent]) bool {
		return (f.DeliveryID == "" || e.record.DeliveryID == f.DeliveryID) && (f.Type == "" || e.record.Type == f.Type) &&
			within(e.record.OccurredAt, f.CreatedAfter, nil)
	}, after, limit)
	for _, e := range found.Events {
		page.Events = append(page.Events, e.FeedEvent)
	}
	page.Next, page.More = found.Next, found.More
	return page, err
}

func (s feed) OfAll(_ context.Context, f domain.PlatformFeedFilter, after *domain.FeedPosition, limit int) (domain.PlatformFeedPage,
	error) {
	return s.read(func(t domain.Tenant) bool { return t.Environment == f.Environment }, func(e of[domain.FeedEvent]) bool {
		return (len(f.Types) == 0 || slices.Contains(f.Types, e.record.Type)) &&
			(f.BusinessID == "" || e.tenant.BusinessID == f.BusinessID) && within(e.record.OccurredAt, f.CreatedAfter, nil)
	}, after, limit)
}

func (s feed) read(in func(domain.Tenant) bool, admits func(of[domain.FeedEvent]) bool, after *domain.FeedPosition, limit int) (
	page domain.PlatformFeedPage, _ error) {
	order := func(a, b domain.FeedPosition) int {
		return cmp.Or(cmp.Compare(a.Commit, b.Commit), cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.ID, b.ID))
	}
	all := s.now().feed.where(
		func(e of[domain.FeedEvent]) bool { return in(e.tenant) && e.record.DeliveryID != "" },
		func(a, b of[domain.FeedEvent]) int { return order(a.record.Position, b.record.Position) })
	if after != nil {
		at, known := slices.BinarySearchFunc(all, *after, func(e of[domain.FeedEvent], p domain.FeedPosition) int {
			return order(e.record.Position, p)
		})
		switch {
		case known:
			at++
		case after.ID != "" && len(all) == 0:
			return page, domain.CursorExpired(nil)
		case after.ID != "":
			return page, domain.CursorExpired(&all[0].record.OccurredAt)
		}
		all, page.Next = all[at:], *after
	}
	for _, e := range all {
		if admits(e) {
			if len(page.Events) == limit {
				page.More = true
				page.Next = page.Events[limit-1].Position
				return page, nil
			}
			page.Events = append(page.Events, domain.PlatformEvent{FeedEvent: e.record, Tenant: e.tenant})
		}
		page.Next = e.record.Position
	}
	return page, nil
}

var errNoPayload = errors.New("toystore: an event without the JSON that is published")

// publish stores an event and makes it pending for all endpoints that take it, but one.
func (s session) publish(t domain.Tenant, e domain.FeedEvent, except domain.ID) error {
	if err := s.keepEvent(t, e); err != nil {
		return err
	}
	mask := domain.MaskOf(e.Type)
	for _, to := range s.tx.endpoints.rows {
		wants, _ := domain.MaskOfPatterns(to.EventTypes)
		if !sameApplication(to.Tenant, t) || to.ID == except || wants&mask == 0 {
			continue
		}
		d := domain.WebhookDelivery{
			ID: domain.WebhookDeliveryID(e.ID, to.Slot), EndpointID: to.ID, EventID: e.ID, EventType: e.Type, DeliveryID: e.DeliveryID,
			Sequence: e.Sequence, Status: domain.WebhookHeld, Trigger: domain.TriggerSchedule, CreatedAt: e.OccurredAt,
		}
		if to.Enabled {
			d.Status, d.DueAt = domain.WebhookPending, &e.OccurredAt
			s.tx.fanned = append(s.tx.fanned, to.ID)
		}
		s.tx.webhooks.put(d.ID, d)
	}
	return nil
}

// keepEvent stores an event in the feed alone.
func (s session) keepEvent(t domain.Tenant, e domain.FeedEvent) error {
	if len(e.Payload) == 0 {
		return errNoPayload
	}
	e.Position = domain.FeedPosition{Commit: s.tx.commit, Sequence: e.Sequence, ID: e.ID}
	s.tx.feed.put(e.ID, of[domain.FeedEvent]{t, e})
	return nil
}

func (s feed) Event(_ context.Context, t domain.Tenant, id domain.ID) (domain.FeedEvent, error) {
	e, err := s.now().feed.take(id)
	if err != nil || !sameApplication(e.tenant, t) {
		return domain.FeedEvent{}, domain.ErrNotFound
	}
	return e.record, nil
}

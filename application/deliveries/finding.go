package deliveries

import (
	"cmp"
	"context"
	"slices"

	"waybill/domain"
)

// changesTold is of how many changes a story tells who made them.
const changesTold = 50

// Story is a case with all that became of the delivery.
type Story struct {
	Case
	Webhooks []SentWebhook
	Changes  []domain.AuditEntry // by people and operators, newest first
}

// Story is NOT_FOUND for a delivery that does not exist. While a simulation runs
// there is no Next.
func (o *Operations) Story(ctx context.Context, id domain.ID) (s Story, err error) {
	if s.Case, err = o.Case(ctx, id); err != nil {
		return s, err
	}
	if s.Delivery.Simulating() {
		s.Next = nil
	}
	if s.Webhooks, err = Webhooks(ctx, o.storage.Read(), s.Delivery); err != nil {
		return s, err
	}
	s.Changes, err = o.log.Entries(ctx, domain.AuditFilter{Target: id}, domain.PageRequest{Limit: changesTold})
	return s, err
}

// Typed is what a person has in hand of a delivery.
type Typed struct {
	Text  string             // an ID, a reference as people write it down, or an external_id, whole
	Phone domain.PhoneNumber // that the text is in some spelling; empty: it is none
}

// searches are the ways to find what was typed, within a search.
func (t Typed) searches(within domain.DeliverySearch) []domain.DeliverySearch {
	one := within
	if id, err := domain.ParseID(domain.PrefixDelivery, t.Text); err == nil {
		one.ID = id
		return []domain.DeliverySearch{one}
	}
	one.ExternalID = t.Text
	all := []domain.DeliverySearch{one}
	if reference, ok := domain.FoldReference(t.Text); ok {
		one = within
		one.Reference = reference
		all = append(all, one)
	}
	if t.Phone != "" {
		one = within
		one.Phone = t.Phone
		all = append(all, one)
	}
	return all
}

// Find is Search of the deliveries that have what was typed for their ID, reference,
// external_id or recipient's phone number.
func (o *Operations) Find(ctx context.Context, typed Typed, within domain.DeliverySearch, p domain.PageRequest) (found Found, err error) {
	if typed.Text == "" {
		return o.Search(ctx, within, p)
	}
	seen := map[domain.ID]bool{}
	for _, s := range typed.searches(within) {
		some, err := o.Search(ctx, s, p)
		if err != nil {
			return Found{}, err
		}
		for _, d := range some.Deliveries {
			if !seen[d.ID] {
				seen[d.ID] = true
				found.Deliveries = append(found.Deliveries, d)
			}
		}
	}
	slices.SortFunc(found.Deliveries, func(a, b *domain.Delivery) int {
		if within.NewestFirst {
			a, b = b, a
		}
		return cmp.Compare(a.ID, b.ID)
	})
	found.Since = within.CreatedAfter
	found.Deliveries = found.Deliveries[:min(len(found.Deliveries), p.Limit+1)]
	return found, nil
}

// Reasons are why deliveries came to where they are, by their IDs; those without a reason
// are left out. It asks once for each: give it those of a short list.
func (o *Operations) Reasons(ctx context.Context, of []*domain.Delivery) (map[domain.ID]domain.ReasonCode, error) {
	why := map[domain.ID]domain.ReasonCode{}
	for _, d := range of {
		events, err := o.storage.Read().Deliveries.Events(ctx, d.Tenant, d.ID)
		if err != nil {
			return nil, err
		}
		if last := len(events) - 1; last >= 0 && events[last].Reason != "" {
			why[d.ID] = events[last].Reason
		}
	}
	return why, nil
}

// BusinessNames are the names of the businesses of deliveries.
func (o *Operations) BusinessNames(ctx context.Context, of []*domain.Delivery) (map[domain.ID]string, error) {
	var ids []domain.ID
	for _, d := range of {
		if !slices.Contains(ids, d.Tenant.BusinessID) {
			ids = append(ids, d.Tenant.BusinessID)
		}
	}
	return o.storage.Read().Platform.BusinessNames(ctx, ids)
}

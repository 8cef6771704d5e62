package deliveries

import (
	"cmp"
	"context"
	"slices"

	"waybill/domain"
)

// maxChanges limits how many changes a story lists.
const maxChanges = 50

// Story is a case with the webhooks and changes of its delivery.
type Story struct {
	Case
	Webhooks []SentWebhook
	Changes  []domain.AuditEntry // by people and operators, newest first
}

// Story returns the story of a delivery, or NOT_FOUND. While a simulation runs there is no Next.
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
	s.Changes, err = o.log.Entries(ctx, domain.AuditFilter{Target: id}, domain.PageRequest{Limit: maxChanges})
	return s, err
}

// Typed is what a person types to find a delivery.
type Typed struct {
	Text  string             // an ID, an external_id with plain or other punctuation, or a reference in any spelling; never a part of one
	Phone domain.PhoneNumber // the number that the text spells; empty: it is none
}

// searches returns the searches for what was typed, each narrowed by within.
func (t Typed) searches(within domain.DeliverySearch) []domain.DeliverySearch {
	one := within
	if id, err := domain.ParseID(domain.PrefixDelivery, t.Text); err == nil {
		one.ID = id
		return []domain.DeliverySearch{one}
	}
	one.ExternalID = t.Text
	all := []domain.DeliverySearch{one}
	if plain := domain.FoldPunctuation(t.Text); plain != t.Text {
		one.ExternalID = plain
		all = append(all, one)
	}
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

// Find searches the deliveries whose ID, reference, external_id or recipient's phone number was
// typed.
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

// Reasons returns the reason of each delivery's current status, by ID. Deliveries without a reason
// are left out. It makes one query per delivery, so pass a short list.
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

// BusinessNames returns the names of the businesses of deliveries, by ID.
func (o *Operations) BusinessNames(ctx context.Context, of []*domain.Delivery) (map[domain.ID]string, error) {
	var ids []domain.ID
	for _, d := range of {
		if !slices.Contains(ids, d.Tenant.BusinessID) {
			ids = append(ids, d.Tenant.BusinessID)
		}
	}
	return o.storage.Read().Platform.BusinessNames(ctx, ids)
}

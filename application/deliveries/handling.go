package deliveries

import (
	"context"
	"slices"
	"time"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

// Handling shows and changes the deliveries of one business in the portal.
type Handling struct {
	storage  ports.Storage
	log      *audit.Log
	clock    ports.Clock
	ids      ports.Identifiers
	renderer ports.EventRenderer
}

// NewHandling returns the use cases of the portal.
func NewHandling(s ports.Storage, c ports.Clock, ids ports.Identifiers, r ports.EventRenderer) *Handling {
	return &Handling{storage: s, log: audit.New(s, c, ids), clock: c, ids: ids, renderer: r}
}

// List lists deliveries as Deliveries.List does, of an application of the business.
func (h *Handling) List(
	ctx context.Context, t domain.Tenant, f domain.DeliveryFilter, p domain.PageRequest,
) ([]*domain.Delivery, error) {
	if err := h.owns(ctx, t); err != nil {
		return nil, err
	}
	return h.storage.Read().Deliveries.List(ctx, t, f, p)
}

// ListAny lists deliveries as List does. Without an application it lists those of all applications
// of the business, in the order of their IDs.
func (h *Handling) ListAny(
	ctx context.Context, t domain.Tenant, f domain.DeliveryFilter, p domain.PageRequest,
) ([]*domain.Delivery, error) {
	if t.ApplicationID != "" {
		return h.List(ctx, t, f, p)
	}
	if t.BusinessID == "" {
		return nil, domain.ErrNotFound
	}
	return h.storage.Read().Platform.Deliveries(ctx, domain.DeliverySearch{BusinessID: t.BusinessID, Environment: t.Environment,
		Status: f.Status, ExternalID: f.ExternalID, CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore,
		NewestFirst: f.NewestFirst}, p)
}

// mostCounted limits how many deliveries a Count reads.
const mostCounted = 1000

// Count sums up deliveries that were booked since a time.
type Count struct {
	ByStatus map[domain.Status]int // their status now
	Fees     []domain.Money        // the sum of each currency
	More     bool                  // there are more than the newest 1,000, which are counted
}

// CountBooked counts the deliveries that a tenant booked since a time, or all applications of its
// business where the tenant has none.
func (h *Handling) CountBooked(ctx context.Context, t domain.Tenant, since time.Time) (Count, error) {
	found, err := h.ListAny(ctx, t, domain.DeliveryFilter{CreatedAfter: &since, NewestFirst: true},
		domain.PageRequest{Limit: mostCounted})
	c := Count{ByStatus: map[domain.Status]int{}, More: len(found) > mostCounted}
	for _, d := range found[:min(len(found), mostCounted)] {
		c.ByStatus[d.Status()]++
		if d.Quote.Fee == nil {
			continue
		}
		i := slices.IndexFunc(c.Fees, func(m domain.Money) bool { return m.Currency == d.Quote.Fee.Currency })
		if i < 0 {
			c.Fees = append(c.Fees, domain.Money{Currency: d.Quote.Fee.Currency})
			i = len(c.Fees) - 1
		}
		c.Fees[i].Minor += d.Quote.Fee.Minor
	}
	return c, err
}

// owns returns domain.ErrNotFound unless the tenant's application belongs to its business.
func (h *Handling) owns(ctx context.Context, t domain.Tenant) error {
	app, err := h.storage.Read().Tenancy.Application(ctx, t.ApplicationID)
	if err == nil && (t.BusinessID == "" || app.BusinessID != t.BusinessID) {
		return domain.ErrNotFound
	}
	return err
}

// Get returns a delivery of the business.
func (h *Handling) Get(ctx context.Context, business, id domain.ID) (*domain.Delivery, error) {
	t, err := h.Tenant(ctx, business, id)
	if err != nil {
		return nil, err
	}
	return h.storage.Read().Deliveries.Get(ctx, t, id)
}

// BusinessStory holds a delivery with its events, webhooks and changes.
type BusinessStory struct {
	Delivery *domain.Delivery
	Events   []domain.Event
	Webhooks []SentWebhook
	Changes  []domain.AuditEntry // by people and operators, newest first
	Next     []domain.Status     // statuses to which a person may move it now; sandbox only
}

// maxChangesOfBusiness limits how many changes a story lists.
const maxChangesOfBusiness = 50

// Story returns the story of a delivery of the business.
func (h *Handling) Story(ctx context.Context, business, id domain.ID) (s BusinessStory, err error) {
	t, err := h.Tenant(ctx, business, id)
	if err != nil {
		return s, err
	}
	read := h.storage.Read()
	if s.Delivery, err = read.Deliveries.Get(ctx, t, id); err != nil {
		return s, err
	}
	if s.Events, err = read.Deliveries.Events(ctx, t, id); err != nil {
		return s, err
	}
	if s.Delivery.Simulated() && !s.Delivery.Simulating() {
		s.Next = s.Delivery.Next(domain.ActorHelper)
	}
	s.Changes, err = h.log.EntriesOfBusiness(ctx, business, domain.AuditFilter{Target: id}, domain.PageRequest{Limit: maxChangesOfBusiness})
	if err != nil {
		return s, err
	}
	s.Webhooks, err = Webhooks(ctx, read, s.Delivery)
	return s, err
}

// Tenant returns the tenant of a delivery of the business: its environment, and the application
// that booked it.
func (h *Handling) Tenant(ctx context.Context, business, id domain.ID) (domain.Tenant, error) {
	t, err := h.storage.Read().Deliveries.Owner(ctx, id)
	if err == nil && (business == "" || t.BusinessID != business) {
		return domain.Tenant{}, domain.ErrNotFound
	}
	return t, err
}

// Search finds deliveries of the business by their complete ID, reference or external_id, newest
// first. A reference may have any spelling, and an external_id the dashes and apostrophes of a
// phone where it has plain ones. It returns at most limit.
func (h *Handling) Search(ctx context.Context, business domain.ID, text string, limit int) ([]*domain.Delivery, error) {
	if business == "" {
		return nil, domain.ErrNotFound
	}
	search := domain.DeliverySearch{BusinessID: business, ExternalID: text, NewestFirst: true}
	if id, err := domain.ParseID(domain.PrefixDelivery, text); err == nil {
		search.ID, search.ExternalID = id, ""
	} else if reference, ok := domain.ParseReference(text); ok {
		search.Reference, search.ExternalID = reference, ""
	}
	found, err := h.storage.Read().Platform.Deliveries(ctx, search, domain.PageRequest{Limit: limit})
	var spelled []domain.DeliverySearch
	if plain := domain.FoldPunctuation(text); search.ExternalID != "" && plain != text {
		spelled = append(spelled, domain.DeliverySearch{BusinessID: business, ExternalID: plain, NewestFirst: true})
	}
	if folded, ok := domain.FoldReference(text); ok && folded != search.Reference {
		spelled = append(spelled, domain.DeliverySearch{BusinessID: business, Reference: folded, NewestFirst: true})
	}
	for _, s := range spelled {
		if err != nil || len(found) >= limit {
			break
		}
		var more []*domain.Delivery
		more, err = h.storage.Read().Platform.Deliveries(ctx, s, domain.PageRequest{Limit: limit})
		found = append(found, more...)
	}
	return found[:min(len(found), limit)], err
}

// Cancel stops a delivery that was never picked up, or returns DELIVERY_NOT_CANCELLABLE. A
// cancelled delivery stays unchanged.
func (h *Handling) Cancel(ctx context.Context, by domain.AuditActor, id domain.ID) error {
	return h.change(ctx, by, id, domain.ActionDeliveryCancel, nil, func(d *domain.Delivery) ([]domain.Event, error) {
		event, changed, err := d.Cancel(h.ids.ID(domain.PrefixEvent), h.clock.Now())
		if err != nil || !changed {
			return nil, err
		}
		return []domain.Event{event}, nil
	})
}

// Move takes a sandbox delivery one step from a status to another. It returns
// SANDBOX_TRANSITION_INVALID where the status has changed since, and SIMULATION_RUNNING while a
// simulation runs.
func (h *Handling) Move(ctx context.Context, by domain.AuditActor, id domain.ID, from, to domain.Status) error {
	details := map[string]string{"from": string(from), "to": string(to)}
	return h.change(ctx, by, id, domain.ActionDeliveryMove, details, func(d *domain.Delivery) ([]domain.Event, error) {
		if err := h.isAt(d, from); err != nil {
			return nil, err
		}
		event, err := d.Move(to, domain.ActorHelper, "", h.ids.ID(domain.PrefixEvent), h.clock.Now())
		return []domain.Event{event}, err
	})
}

func (h *Handling) isAt(d *domain.Delivery, from domain.Status) error {
	if !d.Simulated() {
		return domain.ErrNotFound
	}
	if d.Status() == from {
		return nil
	}
	return &domain.Error{Kind: domain.KindConflict, Code: domain.CodeSandboxTransitionInvalid,
		Message: "The delivery is " + string(d.Status()) + " by now, and no longer " + string(from) + "."}
}

// Simulate starts a scenario for a booked sandbox delivery, as sandbox.Start does.
func (h *Handling) Simulate(ctx context.Context, by domain.AuditActor, id domain.ID, plan domain.Plan) error {
	details := map[string]string{"scenario": string(plan.Scenario)}
	return h.change(ctx, by, id, domain.ActionDeliverySimulate, details, func(d *domain.Delivery) ([]domain.Event, error) {
		return nil, d.StartSimulation(plan, h.clock.Now())
	})
}

// StopSimulation stops the simulation of a delivery, which keeps its status. It does nothing where
// none runs.
func (h *Handling) StopSimulation(ctx context.Context, by domain.AuditActor, id domain.ID) error {
	return h.change(ctx, by, id, domain.ActionDeliveryStop, nil, func(d *domain.Delivery) ([]domain.Event, error) {
		d.StopSimulation(h.clock.Now())
		return nil, nil
	})
}

// change changes a delivery of the actor's business and writes the audit log. Where nothing
// changes, it writes no record.
func (h *Handling) change(
	ctx context.Context, by domain.AuditActor, id domain.ID, action domain.Action, details map[string]string, decide Decision,
) error {
	t, err := h.Tenant(ctx, by.BusinessID, id)
	if err != nil {
		return err
	}
	return h.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		var before, after domain.Lifecycle
		_, err := Change(ctx, tx, h.renderer, t, id, h.clock.Now(), func(d *domain.Delivery) ([]domain.Event, error) {
			before = d.Lifecycle()
			events, err := decide(d)
			after = d.Lifecycle()
			return events, err
		})
		if err != nil || before == after {
			return domain.AuditRecord{}, err
		}
		return domain.AuditRecord{Action: action, Target: id, BusinessID: t.BusinessID, Details: details}, nil
	})
}

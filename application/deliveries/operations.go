package deliveries

import (
	"context"
	"errors"
	"time"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

// Operations implements the use cases of the delivery company.
type Operations struct {
	storage  ports.Storage
	log      *audit.Log
	clock    ports.Clock
	ids      ports.Identifiers
	renderer ports.EventRenderer
}

// NewOperations returns the use cases of the delivery company.
func NewOperations(s ports.Storage, c ports.Clock, ids ports.Identifiers, r ports.EventRenderer) *Operations {
	return &Operations{storage: s, log: audit.New(s, c, ids), clock: c, ids: ids, renderer: r}
}

// Advance moves a delivery one step as the platform. TRANSITION_INVALID lists the allowed steps.
// SIMULATION_RUNNING means that a scenario moves the delivery.
func (o *Operations) Advance(ctx context.Context, by domain.AuditActor, id domain.ID, to domain.Status,
	reason domain.ReasonCode) (*domain.Delivery, error) {
	return o.change(ctx, by, id, to, reason, func(_ context.Context, _ ports.Stores, d *domain.Delivery) ([]domain.Event, error) {
		return o.move(d, to, reason)
	})
}

func (o *Operations) move(d *domain.Delivery, to domain.Status, reason domain.ReasonCode) ([]domain.Event, error) {
	event, err := d.Move(to, domain.ActorPlatform, reason, o.ids.ID(domain.PrefixEvent), o.clock.Now())
	return []domain.Event{event}, err
}

// NoReasonOfOurs explains why a reason code is not for the platform.
const NoReasonOfOurs = "cancelled_by_caller is what the customer's own cancellation says; of the platform's use cancelled_by_platform"

// decision changes a locked delivery, or leaves it unchanged.
type decision func(ctx context.Context, tx ports.Stores, d *domain.Delivery) ([]domain.Event, error)

// change applies a decision and writes the audit log with the actor's reason.
func (o *Operations) change(ctx context.Context, by domain.AuditActor, id domain.ID, to domain.Status, reason domain.ReasonCode,
	decide decision) (moved *domain.Delivery, err error) {
	if reason == domain.ReasonCancelledByCaller {
		return nil, domain.Invalid(domain.FieldError{Field: "reason_code", Code: domain.FieldNotAllowed, Message: NoReasonOfOurs})
	}
	tenant, err := o.storage.Read().Deliveries.Owner(ctx, id)
	if err != nil {
		return nil, err
	}
	err = o.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (record domain.AuditRecord, err error) {
		moved, record, err = o.within(ctx, tx, tenant, id, to, reason, decide)
		return record, err
	})
	if err != nil {
		return nil, err
	}
	return moved, nil
}

// Step advances a delivery inside a transaction of the caller, who stores the audit record. judge
// sees the delivery first, under its lock. Where it returns false, the delivery stays unchanged and
// the record is zero.
func (o *Operations) Step(ctx context.Context, tx ports.Stores, t domain.Tenant, id domain.ID, to domain.Status, reason domain.ReasonCode,
	judge func(*domain.Delivery) bool) (moved *domain.Delivery, record domain.AuditRecord, err error) {
	return o.within(ctx, tx, t, id, to, reason, func(_ context.Context, _ ports.Stores, d *domain.Delivery) ([]domain.Event, error) {
		if !judge(d) {
			return nil, nil
		}
		return o.move(d, to, reason)
	})
}

// within changes a delivery in a transaction and returns the audit record. The record is zero where
// nothing was changed.
func (o *Operations) within(ctx context.Context, tx ports.Stores, t domain.Tenant, id domain.ID, to domain.Status, reason domain.ReasonCode,
	decide decision) (moved *domain.Delivery, record domain.AuditRecord, err error) {
	var from domain.Status
	var events []domain.Event
	moved, err = Change(ctx, tx, o.renderer, t, id, o.clock.Now(), func(d *domain.Delivery) (_ []domain.Event, err error) {
		from = d.Status()
		events, err = decide(ctx, tx, d)
		return events, err
	})
	if err != nil || len(events) == 0 {
		return moved, record, err
	}
	details := map[string]string{"from": string(from), "to": string(to)}
	if reason != "" {
		details["reason_code"] = string(reason)
	}
	return moved, domain.AuditRecord{Action: domain.ActionDeliveryAdvance, Target: id, BusinessID: t.BusinessID, Details: details}, nil
}

// lookBack limits a search that names neither a record nor a start. Without it the search would
// read all deliveries ever made.
const lookBack = 7 * 24 * time.Hour

// Found is a page of deliveries, up to Limit+1, and the start of the search. A nil Since means all
// of time.
type Found struct {
	Deliveries []*domain.Delivery
	Since      *time.Time
}

// Search lists deliveries of all businesses, by ID. A search that names neither a record nor a
// start looks back seven days from its end.
func (o *Operations) Search(ctx context.Context, s domain.DeliverySearch, p domain.PageRequest) (Found, error) {
	named := s.ID != "" || s.Reference != "" || s.ExternalID != "" || s.Phone != ""
	work := s.Open || s.Status == domain.Failed && s.UpdatedAfter != nil // found by their own indexes
	if s.CreatedAfter == nil && !named && !work {
		end := o.clock.Now()
		if s.CreatedBefore != nil && s.CreatedBefore.Before(end) {
			end = *s.CreatedBefore
		}
		since := domain.Millis(end.Add(-lookBack))
		s.CreatedAfter = &since
	}
	found, err := o.storage.Read().Platform.Deliveries(ctx, s, p)
	if errors.Is(err, ports.ErrTookTooLong) {
		err = &domain.Error{
			Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: time.Second, Err: err,
			Message: "The search reads too much. Narrow it: give business_id, or a later created_after.",
		}
	}
	return Found{Deliveries: found, Since: s.CreatedAfter}, err
}

// StatusOlderThan returns the moment before which a status counts as older than d.
func (o *Operations) StatusOlderThan(d time.Duration) time.Time { return o.clock.Now().Add(-d) }

// Case holds a delivery with all that an operator needs to decide about it.
type Case struct {
	Delivery    *domain.Delivery
	Business    domain.Business
	Application domain.Application
	Timeline    []domain.Event
	Next        []domain.Status // statuses to which the platform may move it now
}

// Case returns the case of a delivery, or NOT_FOUND.
func (o *Operations) Case(ctx context.Context, id domain.ID) (c Case, err error) {
	read := o.storage.Read()
	tenant, err := read.Deliveries.Owner(ctx, id)
	if err != nil {
		return c, err
	}
	if c.Delivery, err = read.Deliveries.Get(ctx, tenant, id); err != nil {
		return c, err
	}
	if c.Business, err = read.Tenancy.Business(ctx, tenant.BusinessID); err != nil {
		return c, err
	}
	if c.Application, err = read.Tenancy.Application(ctx, tenant.ApplicationID); err != nil {
		return c, err
	}
	if c.Timeline, err = read.Deliveries.Events(ctx, tenant, id); err != nil {
		return c, err
	}
	c.Next = c.Delivery.Next(domain.ActorPlatform)
	return c, nil
}

// Events returns a page of the events of all applications of an environment, after a position; nil
// means from the beginning. A caller that continues from Next misses none.
func (o *Operations) Events(ctx context.Context, f domain.PlatformFeedFilter, after *domain.FeedPosition,
	limit int) (domain.PlatformFeedPage, error) {
	return o.storage.Read().Feed.OfAll(ctx, f, after, limit)
}

// Audit returns up to Limit+1 entries of the audit log, newest first.
func (o *Operations) Audit(ctx context.Context, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry, error) {
	return o.log.Entries(ctx, f, p)
}

// AuditOfBusiness returns up to Limit+1 entries about one business, newest first.
func (o *Operations) AuditOfBusiness(ctx context.Context, business domain.ID, f domain.AuditFilter,
	p domain.PageRequest) ([]domain.AuditEntry, error) {
	return o.log.EntriesOfBusiness(ctx, business, f, p)
}

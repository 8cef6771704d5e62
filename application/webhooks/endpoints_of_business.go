package webhooks

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

// Endpoints shows and changes the endpoints of one business.
type Endpoints struct {
	storage  ports.Storage
	webhooks *Webhooks
	log      *audit.Log
	clock    ports.Clock
	ids      ports.Identifiers
}

// NewEndpoints returns the use cases.
func NewEndpoints(s ports.Storage, w *Webhooks, c ports.Clock, ids ports.Identifiers) *Endpoints {
	return &Endpoints{storage: s, webhooks: w, log: audit.New(s, c, ids), clock: c, ids: ids}
}

// Shown is an endpoint with its summary.
type Shown struct {
	domain.WebhookEndpoint
	// Summary counts nothing as due before the endpoint's pause ends.
	Summary domain.WebhookSummary
}

// List returns all endpoints of an application of the business, oldest first.
func (e *Endpoints) List(ctx context.Context, t domain.Tenant) (all []Shown, err error) {
	if err := e.owns(ctx, t); err != nil {
		return nil, err
	}
	found, err := e.storage.Read().Webhooks.Endpoints(ctx, t, domain.PageRequest{Limit: domain.MaxWebhookEndpoints})
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		shown, err := e.shown(ctx, one)
		if err != nil {
			return nil, err
		}
		all = append(all, shown)
	}
	return all, nil
}

// owns returns domain.ErrNotFound unless the tenant's application belongs to its business.
func (e *Endpoints) owns(ctx context.Context, t domain.Tenant) error {
	app, err := e.storage.Read().Tenancy.Application(ctx, t.ApplicationID)
	if err == nil && (t.BusinessID == "" || app.BusinessID != t.BusinessID) {
		return domain.ErrNotFound
	}
	return err
}

func (e *Endpoints) shown(ctx context.Context, one domain.WebhookEndpoint) (Shown, error) {
	sum, err := e.storage.Read().Webhooks.Summary(ctx, one.Tenant, one.ID)
	if open := one.Health.OpenUntil; sum.NextAt != nil && open != nil && open.After(*sum.NextAt) {
		sum.NextAt = open
	}
	return Shown{WebhookEndpoint: one, Summary: sum}, err
}

// Get returns an endpoint of the business.
func (e *Endpoints) Get(ctx context.Context, business, id domain.ID) (Shown, error) {
	one, err := e.storage.Read().Webhooks.EndpointOf(ctx, business, id)
	if err != nil {
		return Shown{}, err
	}
	return e.shown(ctx, one)
}

// mostUnhealthy limits the unhealthy endpoints that people see at a time.
const mostUnhealthy = 10

// Unhealthy returns endpoints of the business that will be disabled because they fail, or were
// disabled because of their responses: at most 10.
func (e *Endpoints) Unhealthy(ctx context.Context, business domain.ID) ([]domain.WebhookEndpoint, error) {
	if business == "" {
		return nil, domain.ErrNotFound
	}
	return e.storage.Read().Webhooks.Unhealthy(ctx, business, e.clock.Now().Add(-domain.WarnAfter), "", mostUnhealthy)
}

// delayOf limits how many webhooks Delay looks at.
const delayOf = 20

// Delay returns the median time from an event to the success of its webhook, of the last ones that
// an application of the business got, and how many these are.
func (e *Endpoints) Delay(ctx context.Context, t domain.Tenant, since time.Time) (median time.Duration, of int, err error) {
	all, err := e.List(ctx, t)
	if err != nil {
		return 0, 0, err
	}
	var delays []time.Duration
	for _, one := range all {
		found, err := e.webhooks.Deliveries(ctx, t, one.ID, domain.WebhookDeliveryFilter{Status: domain.WebhookSucceeded, CreatedAfter: &since},
			domain.PageRequest{Limit: delayOf - len(delays)})
		if err != nil {
			return 0, 0, err
		}
		for _, d := range found[:min(len(found), delayOf-len(delays))] {
			attempts, err := e.storage.Read().Webhooks.Attempts(ctx, t, d.ID)
			if err != nil {
				return 0, 0, err
			}
			if n := len(attempts); n > 0 {
				delays = append(delays, attempts[n-1].Result.StartedAt.Add(attempts[n-1].Result.Duration).Sub(d.CreatedAt))
			}
		}
		if len(delays) >= delayOf {
			break
		}
	}
	if len(delays) == 0 {
		return 0, 0, nil
	}
	slices.Sort(delays)
	return delays[len(delays)/2], len(delays), nil
}

// Deliveries lists the webhooks of an endpoint of the business, as Webhooks.Deliveries does.
func (e *Endpoints) Deliveries(ctx context.Context, business, id domain.ID, f domain.WebhookDeliveryFilter,
	p domain.PageRequest) ([]domain.WebhookDelivery, error) {
	one, err := e.storage.Read().Webhooks.EndpointOf(ctx, business, id)
	if err != nil {
		return nil, err
	}
	return e.webhooks.Deliveries(ctx, one.Tenant, id, f, p)
}

// Sent is an event as it was, or will be, sent to an endpoint.
type Sent struct {
	domain.WebhookDelivery
	Attempts []domain.WebhookAttempt // the last ones, by number
	Body     []byte                  // nil: it is no longer stored
}

// Sent returns a webhook of an endpoint of the business.
func (e *Endpoints) Sent(ctx context.Context, business, id, delivery domain.ID) (s Sent, err error) {
	one, err := e.storage.Read().Webhooks.EndpointOf(ctx, business, id)
	if err != nil {
		return s, err
	}
	if s.WebhookDelivery, err = e.webhooks.Delivery(ctx, one.Tenant, delivery); err != nil {
		return s, err
	}
	if s.EndpointID != id {
		return Sent{}, domain.ErrNotFound
	}
	if s.Attempts, err = e.webhooks.Attempts(ctx, one.Tenant, delivery); err != nil {
		return s, err
	}
	event, err := e.storage.Read().Feed.Event(ctx, one.Tenant, s.EventID)
	if domain.HasCode(err, domain.CodeNotFound) {
		return s, nil
	}
	s.Body = event.Payload
	return s, err
}

// Secret is an endpoint with its signing secret, as receivers configure it.
type Secret struct {
	domain.WebhookEndpoint
	Secret string
}

// Create adds an endpoint under an ID that was drawn with the form. However often the form is sent,
// one endpoint is made. All other calls return FORM_ALREADY_SENT. It refuses with
// WEBHOOK_URL_NOT_ALLOWED or WEBHOOK_ENDPOINT_LIMIT.
func (e *Endpoints) Create(ctx context.Context, by domain.AuditActor, once domain.ID, t domain.Tenant, f Form) (s Secret,
	err error) {
	if _, err := domain.ParseID(domain.PrefixWebhookEndpoint, string(once)); err != nil {
		return s, alreadySent()
	}
	if err := e.owns(ctx, t); err != nil {
		return s, err
	}
	if err := e.webhooks.MayHave(ctx, t, f.URL); err != nil {
		return s, err
	}
	err = e.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if err := unsent(ctx, tx, t.BusinessID, once); err != nil {
			return domain.AuditRecord{}, err
		}
		s.WebhookEndpoint, s.Secret, err = e.webhooks.AddWithin(ctx, tx, once, t, f)
		if errors.Is(err, ports.ErrIDTaken) { // by the API, or by another business, which is not revealed
			err = alreadySent()
		}
		return record(domain.ActionEndpointCreate, s.WebhookEndpoint, nil), err
	})
	return s, err
}

// unsent returns FORM_ALREADY_SENT where an endpoint of the ID was ever made. The business stays
// locked until the transaction ends, so that the second of two concurrent forms waits.
func unsent(ctx context.Context, tx ports.Stores, business, once domain.ID) error {
	if _, err := tx.Tenancy.LockBusiness(ctx, business); err != nil {
		return err
	}
	made, err := tx.Audit.ListOfBusiness(ctx, business, domain.AuditFilter{Action: domain.ActionEndpointCreate, Target: once},
		domain.PageRequest{Limit: 1})
	if err == nil && len(made) > 0 {
		return alreadySent()
	}
	return err
}

func alreadySent() *domain.Error {
	return &domain.Error{Kind: domain.KindConflict, Code: domain.CodeFormAlreadySent,
		Message: "This form was sent already, and a secret is shown once. If it was not copied, rotate it: the endpoint is in the list."}
}

// record returns the audit record of a change. It keeps only the host of the URL, since the rest
// may be secret.
func record(a domain.Action, one domain.WebhookEndpoint, details map[string]string) domain.AuditRecord {
	if details == nil {
		details = map[string]string{}
	}
	details["host"], details["environment"] = one.Host(), string(one.Tenant.Environment)
	return domain.AuditRecord{Action: a, Target: one.ID, BusinessID: one.Tenant.BusinessID, Details: details}
}

// find returns an endpoint that the actor may change: one of their own business, or for the staff
// of the delivery company any.
func (e *Endpoints) find(ctx context.Context, by domain.AuditActor, id domain.ID) (domain.WebhookEndpoint, error) {
	if by.Kind() == domain.ActorOperator {
		return e.storage.Read().Machinery.Endpoint(ctx, id)
	}
	return e.storage.Read().Webhooks.EndpointOf(ctx, by.BusinessID, id)
}

// on locks and changes an endpoint that the actor may change.
func (e *Endpoints) on(ctx context.Context, by domain.AuditActor, id domain.ID,
	change func(ctx context.Context, tx ports.Stores, one domain.WebhookEndpoint) (domain.AuditRecord, error)) error {
	found, err := e.find(ctx, by, id)
	if err != nil {
		return err
	}
	return e.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		one, err := e.webhooks.LockWithin(ctx, tx, found.Tenant, id)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		return change(ctx, tx, one)
	})
}

// Change changes an endpoint, as Webhooks.Change does.
func (e *Endpoints) Change(ctx context.Context, by domain.AuditActor, id domain.ID, c domain.WebhookEndpointChange) error {
	return e.change(ctx, by, id, nil, c, "")
}

// Pause pauses an endpoint for the delivery company. The customer reads the reason.
func (e *Endpoints) Pause(ctx context.Context, by domain.AuditActor, id domain.ID, reason string) error {
	reason = strings.TrimSpace(reason)
	if code, message := domain.PauseReasonRule.Judge(reason); code != "" {
		return domain.Invalid(domain.FieldError{Field: "reason", Code: code, Message: message})
	}
	return e.change(ctx, by, id, nil, domain.WebhookEndpointChange{Enabled: new(false)}, reason)
}

// PausedBy returns the audit log entry of the person who paused an endpoint. It returns
// domain.ErrNotFound where a program paused it: the log has no entries of programs, so an entry
// older than the endpoint's last change may be about an earlier pause.
func (e *Endpoints) PausedBy(ctx context.Context, one domain.WebhookEndpoint) (domain.AuditEntry, error) {
	entries, err := e.log.EntriesOfBusiness(ctx, one.Tenant.BusinessID, domain.AuditFilter{Target: one.ID}, domain.PageRequest{Limit: 20})
	if err != nil {
		return domain.AuditEntry{}, err
	}
	if one.Disabled == domain.DisabledByCaller && len(entries) > 0 && !one.UpdatedAt.After(entries[0].At) {
		for _, entry := range entries {
			if enabled := entry.Details["enabled"]; enabled != "" {
				if enabled == "false" {
					return entry, nil
				}
				break
			}
		}
	}
	return domain.AuditEntry{}, domain.ErrNotFound
}

// ErrEndpointChanged means that an endpoint was changed since it was shown.
var ErrEndpointChanged = errors.New("the endpoint has changed since it was shown")

// ChangeShown changes an endpoint whose last change was at shownAt. It returns ErrEndpointChanged
// where it was changed after that, and the change would change it again.
func (e *Endpoints) ChangeShown(ctx context.Context, by domain.AuditActor, id domain.ID, shownAt time.Time,
	c domain.WebhookEndpointChange) error {
	return e.change(ctx, by, id, &shownAt, c, "")
}

func (e *Endpoints) change(ctx context.Context, by domain.AuditActor, id domain.ID, shownAt *time.Time,
	c domain.WebhookEndpointChange, reason string) error {
	if c.URL != nil {
		found, err := e.find(ctx, by, id)
		if err != nil {
			return err
		}
		if *c.URL == found.URL {
			c.URL = nil
		} else if err := e.webhooks.MayHave(ctx, found.Tenant, *c.URL); err != nil {
			return err
		}
	}
	return e.on(ctx, by, id, func(ctx context.Context, tx ports.Stores, one domain.WebhookEndpoint) (domain.AuditRecord, error) {
		after, err := e.webhooks.ChangeWithin(ctx, tx, one, c)
		if err != nil || after.UpdatedAt.Equal(one.UpdatedAt) {
			return domain.AuditRecord{}, err
		}
		if shownAt != nil && !one.UpdatedAt.Equal(*shownAt) {
			return domain.AuditRecord{}, ErrEndpointChanged
		}
		details := map[string]string{}
		if changed := changes(one, after); changed != "" {
			details["changed"] = changed
		}
		if after.Enabled != one.Enabled {
			details["enabled"] = strconv.FormatBool(after.Enabled)
		}
		if reason != "" {
			details["reason"] = reason
		}
		return record(domain.ActionEndpointUpdate, after, details), nil
	})
}

// changes lists the names of what a change made different.
func changes(before, after domain.WebhookEndpoint) string {
	var names []string
	for _, c := range []struct {
		name string
		made bool
	}{
		{"url", before.URL != after.URL}, {"event_types", !slices.Equal(before.EventTypes, after.EventTypes)},
		{"description", before.Description != after.Description},
	} {
		if c.made {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ",")
}

// Rotate gives an endpoint whose last change was at shownAt a new secret. The previous one also
// signs for the overlap. A form that is sent twice rotates once: FORM_ALREADY_SENT, also where the
// endpoint was changed meanwhile.
func (e *Endpoints) Rotate(ctx context.Context, by domain.AuditActor, id domain.ID, shownAt time.Time, overlap time.Duration) (s Secret,
	err error) {
	if overlap < 0 || overlap > domain.MaxSecretOverlap {
		return s, domain.Invalid(domain.FieldError{Field: "overlap_seconds", Code: domain.FieldOutOfRange, Message: "must be 7 days at most"})
	}
	shown, sealed, err := e.webhooks.NewSecret(id)
	if err != nil {
		return s, err
	}
	err = e.on(ctx, by, id, func(ctx context.Context, tx ports.Stores, one domain.WebhookEndpoint) (domain.AuditRecord, error) {
		if !one.UpdatedAt.Equal(shownAt) {
			return domain.AuditRecord{}, &domain.Error{Kind: domain.KindConflict, Code: domain.CodeFormAlreadySent,
				Message: "The secret was not rotated: the endpoint was changed since this form was opened, or the form was sent already. " +
					"Look at it and send the form below."}
		}
		s.WebhookEndpoint, err = e.webhooks.RotateWithin(ctx, tx, one, sealed, overlap)
		return record(domain.ActionEndpointRotate, one, map[string]string{"overlap": overlap.String()}), err
	})
	s.Secret = shown
	return s, err
}

// Delete deletes an endpoint and its pending webhooks.
func (e *Endpoints) Delete(ctx context.Context, by domain.AuditActor, id domain.ID) error {
	return e.on(ctx, by, id, func(ctx context.Context, tx ports.Stores, one domain.WebhookEndpoint) (domain.AuditRecord, error) {
		return record(domain.ActionEndpointDelete, one, nil), tx.Webhooks.DeleteEndpoint(ctx, one.Tenant, id)
	})
}

// Test sends a test event, as Webhooks.Test does.
func (e *Endpoints) Test(ctx context.Context, by domain.AuditActor, id domain.ID) (d domain.WebhookDelivery, err error) {
	event := e.ids.ID(domain.PrefixEvent) // the same, however often the transaction runs
	err = e.on(ctx, by, id, func(ctx context.Context, tx ports.Stores, one domain.WebhookEndpoint) (domain.AuditRecord, error) {
		d, err = e.webhooks.TestWithin(ctx, tx, one, event)
		return record(domain.ActionEndpointTest, one, nil), err
	})
	return d, err
}

// Resend makes one more attempt of a webhook of an endpoint of the business.
func (e *Endpoints) Resend(ctx context.Context, by domain.AuditActor, id, delivery domain.ID) error {
	of, err := e.find(ctx, by, id)
	if err != nil {
		return err
	}
	sent, err := e.Sent(ctx, of.Tenant.BusinessID, id, delivery)
	if err != nil {
		return err
	}
	return e.on(ctx, by, id, func(ctx context.Context, tx ports.Stores, one domain.WebhookEndpoint) (domain.AuditRecord, error) {
		_, err := e.webhooks.RedeliverWithin(ctx, tx, one.Tenant, sent.ID)
		return domain.AuditRecord{Action: domain.ActionWebhookResend, Target: sent.ID, BusinessID: one.Tenant.BusinessID}, err
	})
}

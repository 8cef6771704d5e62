package webhooks

import (
	"bytes"
	"context"
	"errors"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// The changes below happen within a transaction of their caller, who stores a record there: the API
// its answer under an Idempotency-Key, and Endpoints (endpoints_of_business.go) the person in the
// audit log. All of them return domain.ErrNotFound for a listener.

// MayHave returns an error unless an endpoint of the tenant may have the URL. It queries the DNS,
// so call it while no transaction is open.
func (w *Webhooks) MayHave(ctx context.Context, t domain.Tenant, url string) error {
	if refusal := domain.CheckWebhookURL(url, t.Environment, bool(w.private)); refusal != nil {
		return refusal
	}
	return w.sender.Resolvable(ctx, url)
}

// AddWithin stores an endpoint under an ID and returns its secret, as receivers configure it. It
// refuses with WEBHOOK_ENDPOINT_LIMIT.
func (w *Webhooks) AddWithin(ctx context.Context, tx ports.Stores, id domain.ID, t domain.Tenant, f Form) (e domain.WebhookEndpoint,
	secret string, err error) {
	now := w.clock.Now()
	e = domain.WebhookEndpoint{
		ID: id, Tenant: t, URL: f.URL, EventTypes: f.EventTypes, Description: f.Description, Enabled: f.Enabled, CreatedAt: now, UpdatedAt: now,
	}
	if !f.Enabled {
		e.Disabled = domain.DisabledByCaller
	}
	return insertEndpoint(ctx, tx, w.sealer, e, w.ids.SigningSecret())
}

// insertEndpoint stores an endpoint with its secret.
func insertEndpoint(ctx context.Context, tx ports.Stores, s ports.Sealer, e domain.WebhookEndpoint,
	drawn [domain.SigningSecretBytes]byte) (stored domain.WebhookEndpoint, secret string, err error) {
	secret, sealed, err := sealSecret(s, e.ID, drawn)
	if err != nil {
		return e, "", err
	}
	e.Secrets = []domain.SigningSecret{{Sealed: sealed}}
	stored, err = tx.Webhooks.InsertEndpoint(ctx, e)
	if errors.Is(err, ports.ErrEndpointLimit) {
		err = domain.WebhookEndpointLimit()
	}
	return stored, secret, err
}

// LockWithin reads an endpoint and locks it until the transaction ends.
func (w *Webhooks) LockWithin(ctx context.Context, tx ports.Stores, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error) {
	return noListener(tx.Webhooks.LockEndpoint(ctx, t, id))
}

// ChangeWithin changes a locked endpoint, whose new URL the caller has checked, and returns the
// result. It mails people about an endpoint that is enabled again.
func (w *Webhooks) ChangeWithin(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint,
	c domain.WebhookEndpointChange) (domain.WebhookEndpoint, error) {
	before := e
	if e.Apply(c, w.clock.Now()) {
		if err := tx.Webhooks.UpdateEndpoint(ctx, e); err != nil {
			return e, err
		}
	}
	if n, told := domain.EnabledNotice(before, e); told {
		return e, tx.Mails.Tell(ctx, n)
	}
	return e, nil
}

// NewSecret returns a new secret for an endpoint: as receivers configure it, and sealed.
func (w *Webhooks) NewSecret(endpoint domain.ID) (shown string, sealed []byte, err error) {
	return sealSecret(w.sealer, endpoint, w.ids.SigningSecret())
}

// RotateWithin gives a locked endpoint a secret of NewSecret. The previous one also signs for the
// overlap. A secret that the endpoint has already changes nothing.
func (w *Webhooks) RotateWithin(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint, sealed []byte,
	overlap time.Duration) (domain.WebhookEndpoint, error) {
	// A commit without an answer is retried. The previous secret must not lose its overlap to the
	// one that replaced it in that commit.
	if bytes.Equal(e.Secrets[0].Sealed, sealed) {
		return e, nil
	}
	e.Rotate(sealed, overlap, w.clock.Now())
	return e, tx.Webhooks.UpdateEndpoint(ctx, e)
}

// TestWithin sends a locked endpoint a test event of the ID, once however often it is called. It
// refuses with WEBHOOK_ENDPOINT_DISABLED or RATE_LIMIT_EXCEEDED.
func (w *Webhooks) TestWithin(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint, event domain.ID) (domain.WebhookDelivery,
	error) {
	d, err := tx.Webhooks.Delivery(ctx, e.Tenant, domain.WebhookDeliveryID(event, e.Slot))
	if errors.Is(err, domain.ErrNotFound) {
		return w.sendTest(ctx, tx, e, event)
	}
	return d, err
}

// RecoverWithin makes the webhooks of a recovery pending again, for a locked endpoint. It refuses
// with WEBHOOK_ENDPOINT_DISABLED or RECOVERY_RUNNING.
func (w *Webhooks) RecoverWithin(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint, r domain.Recovery) (Recovered, error) {
	if !e.Enabled {
		return Recovered{}, domain.WebhookEndpointDisabled(e.ID, e.Disabled)
	}
	now := w.clock.Now()
	if err := hurry(ctx, tx, e, now); err != nil {
		return Recovered{}, err
	}
	queued, running, err := tx.Webhooks.Recover(ctx, e.ID, r, now, w.recoverMost)
	switch {
	case err != nil:
		return Recovered{}, err
	case running:
		return Recovered{}, domain.RecoveryRunning()
	}
	more := false
	if queued >= w.recoverMost {
		more, err = anyLeft(ctx, tx, e, r)
	}
	return Recovered{Queued: queued, HasMore: more}, err
}

// RecoverMost returns how many webhooks one call recovers.
func (w *Webhooks) RecoverMost() int { return w.recoverMost }

// RedeliverWithin makes one more attempt due now. It locks the endpoint first, like everything that
// sends to it or disables it. It refuses with WEBHOOK_ENDPOINT_DISABLED.
func (w *Webhooks) RedeliverWithin(ctx context.Context, tx ports.Stores, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error) {
	d, err := tx.Webhooks.Delivery(ctx, t, id)
	if err != nil {
		return d, err
	}
	e, err := tx.Webhooks.LockEndpoint(ctx, t, d.EndpointID)
	if err != nil {
		return d, err
	}
	if !e.Enabled {
		return d, domain.WebhookEndpointDisabled(e.ID, e.Disabled)
	}
	now := w.clock.Now()
	if err := hurry(ctx, tx, e, now); err != nil {
		return d, err
	}
	if d, err = tx.Webhooks.LockDelivery(ctx, t, id); err != nil {
		return d, err
	}
	if d.Redeliver(now) {
		err = tx.Webhooks.UpdateDelivery(ctx, d)
	}
	return d, err
}

// hurry ends the pause of a locked endpoint for a caller that requests an attempt.
func hurry(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint, now time.Time) error {
	if !e.Health.Hurry(now) {
		return nil
	}
	return tx.Webhooks.UpdateEndpoint(ctx, e)
}

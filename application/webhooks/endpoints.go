package webhooks

import (
	"context"
	"errors"

	"waybill/application/audit"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// AllowPrivate allows endpoints with addresses that are not on the public internet, for
// development.
type AllowPrivate bool

// Webhooks implements the use cases of webhook endpoints and of what is sent to them.
type Webhooks struct {
	storage  ports.Storage
	gate     *idempotency.Gate
	sealer   ports.Sealer
	sender   ports.WebhookSender
	renderer ports.EventRenderer
	clock    ports.Clock
	ids      ports.Identifiers
	private  AllowPrivate
	log      *audit.Log

	recoverMost int // in one call
}

// New returns the use cases of webhook endpoints.
func New(s ports.Storage, g *idempotency.Gate, sealer ports.Sealer, sender ports.WebhookSender, r ports.EventRenderer,
	c ports.Clock, ids ports.Identifiers, private AllowPrivate,
) *Webhooks {
	return &Webhooks{
		storage: s, gate: g, sealer: sealer, sender: sender, renderer: r, clock: c, ids: ids, private: private,
		log: audit.New(s, c, ids), recoverMost: RecoverMost,
	}
}

// Form describes an endpoint to add; see domain.WebhookEndpoint.
type Form struct {
	URL         string
	EventTypes  []string
	Description string
	Enabled     bool
}

// Get returns an endpoint of the application, or NOT_FOUND, also for a listener.
func (w *Webhooks) Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error) {
	return noListener(w.storage.Read().Webhooks.Endpoint(ctx, t, id))
}

// List returns up to Limit+1 endpoints, oldest first, without listeners.
func (w *Webhooks) List(ctx context.Context, t domain.Tenant, p domain.PageRequest) ([]domain.WebhookEndpoint, error) {
	return w.storage.Read().Webhooks.Endpoints(ctx, t, p)
}

// Create adds an endpoint with a new secret, which only answer sees. It refuses with
// WEBHOOK_URL_NOT_ALLOWED or WEBHOOK_ENDPOINT_LIMIT.
func (w *Webhooks) Create(ctx context.Context, req idempotency.Request,
	form func() (Form, error), answer func(e domain.WebhookEndpoint, secret string) domain.Answer,
) (idempotency.Result, error) {
	return confidential(w.sealer, req)(w.gate.Once(ctx, req, func(ctx context.Context) (idempotency.Attempt, error) {
		f, err := form()
		if err != nil {
			return nil, err
		}
		if err := w.MayHave(ctx, req.Tenant, f.URL); err != nil {
			return nil, err
		}
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return w.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				e, secret, err := w.AddWithin(ctx, tx, w.ids.ID(domain.PrefixWebhookEndpoint), req.Tenant, f)
				if err != nil {
					return domain.Answer{}, err
				}
				return sealAnswer(w.sealer, req, answer(e, secret))
			})
		}, nil
	}))
}

// Change updates the given fields. It tells answer whether that enabled a disabled endpoint, for
// which events may be held. A change without effect keeps updated_at.
func (w *Webhooks) Change(ctx context.Context, req idempotency.Request, id domain.ID,
	form func() (domain.WebhookEndpointChange, error), answer func(e domain.WebhookEndpoint, enabled bool) domain.Answer,
) (idempotency.Result, error) {
	return w.gate.Once(ctx, req, func(ctx context.Context) (idempotency.Attempt, error) {
		change, err := form()
		if err != nil {
			return nil, err
		}
		if change.URL != nil {
			if err := w.MayHave(ctx, req.Tenant, *change.URL); err != nil {
				return nil, err
			}
		}
		return w.onEndpoint(req.Tenant, id, func(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint) (domain.Answer, error) {
			after, err := w.ChangeWithin(ctx, tx, e, change)
			if err != nil {
				return domain.Answer{}, err
			}
			return answer(after, after.Enabled && !e.Enabled), nil
		}), nil
	})
}

// Delete deletes an endpoint and its pending webhooks, and answers with its last state.
func (w *Webhooks) Delete(ctx context.Context, req idempotency.Request, id domain.ID,
	answer func(domain.WebhookEndpoint) domain.Answer) (idempotency.Result, error) {
	return w.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		return deletion(w.onEndpoint(req.Tenant, id, func(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint) (domain.Answer, error) {
			return answer(e), tx.Webhooks.DeleteEndpoint(ctx, req.Tenant, id)
		})), nil
	})
}

// deletion repeats an attempt whose commit got no answer. Where the record is gone by then, the
// lost commit deleted it.
func deletion(attempt idempotency.Attempt) idempotency.Attempt {
	var last *domain.Answer
	return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
		a, err := attempt(ctx, key)
		switch {
		case errors.Is(err, ports.ErrOutcomeUnknown):
			last = &a
		case errors.Is(err, domain.ErrNotFound) && last != nil:
			return *last, nil
		}
		return a, err
	}
}

// onEndpoint returns an attempt in one transaction that locks the endpoint.
func (w *Webhooks) onEndpoint(t domain.Tenant, id domain.ID,
	fn func(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint) (domain.Answer, error),
) idempotency.Attempt {
	return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
		return w.gate.InTx(ctx, t, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
			e, err := w.LockWithin(ctx, tx, t, id)
			if err != nil {
				return domain.Answer{}, err
			}
			return fn(ctx, tx, e)
		})
	}
}

// noListener returns NOT_FOUND for listeners, which have calls of their own.
func noListener(e domain.WebhookEndpoint, err error) (domain.WebhookEndpoint, error) {
	if err == nil && e.Listener {
		err = domain.ErrNotFound
	}
	return e, err
}

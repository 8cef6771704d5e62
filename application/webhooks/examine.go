package webhooks

import (
	"context"
	"errors"

	"waybill/domain"
)

// Received is a webhook as a receiver got it.
type Received struct {
	ReceivedRequest // Secrets holds the pasted ones
	// Endpoint is its presumed sender; empty: none is known.
	Endpoint domain.ID
	// Inbox is set where the inbox of the sandbox is the presumed sender.
	Inbox bool
	// BySecrets also tries the secrets of the application's endpoints. The verdict only says which
	// of them has signed.
	BySecrets bool
}

// Examine finds out why the signature of a webhook for an application of the business does not
// verify. It stores nothing.
func (e *Endpoints) Examine(ctx context.Context, t domain.Tenant, r Received) (SignatureVerdict, error) {
	if err := e.owns(ctx, t); err != nil {
		return SignatureVerdict{}, err
	}
	q := r.ReceivedRequest
	for _, environment := range []domain.Environment{t.Environment, map[domain.Environment]domain.Environment{
		domain.Live: domain.Sandbox, domain.Sandbox: domain.Live}[t.Environment]} {
		of := t
		of.Environment = environment
		if r.BySecrets {
			if err := e.addSecrets(ctx, of, r, &q); err != nil {
				return SignatureVerdict{}, err
			}
		}
		if q.Sent != nil {
			continue
		}
		event, err := e.storage.Read().Feed.Event(ctx, of, SignedEventID(q.Headers))
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return SignatureVerdict{}, err
		}
		q.Sent = event.Payload
	}
	if r.Endpoint != "" && q.Sent == nil {
		last, err := e.Deliveries(ctx, t.BusinessID, r.Endpoint, domain.WebhookDeliveryFilter{}, domain.PageRequest{Limit: 1})
		if err != nil {
			return SignatureVerdict{}, err
		}
		if len(last) > 0 {
			if event, err := e.storage.Read().Feed.Event(ctx, t, last[0].EventID); err == nil {
				q.Alike = event.Payload
			}
		}
	}
	return ExamineSignature(q), nil
}

// addSecrets adds the secrets of all endpoints and listeners of an application. Those of the
// presumed sender follow the pasted ones.
func (e *Endpoints) addSecrets(ctx context.Context, t domain.Tenant, r Received, q *ReceivedRequest) error {
	all, err := e.storage.Read().Webhooks.Endpoints(ctx, t, domain.PageRequest{Limit: domain.MaxWebhookEndpoints})
	if err != nil {
		return err
	}
	var first, others []PossibleSecret
	for _, one := range all {
		for _, s := range e.webhooks.Secrets(one) {
			secret := PossibleSecret{Bytes: s.Bytes, EndedAt: s.ExpiresAt,
				Name: "secret of the " + string(t.Environment) + " endpoint at " + one.Host()}
			if one.ID == r.Endpoint {
				first = append(first, secret)
			} else {
				others = append(others, secret)
			}
		}
	}
	listeners, err := e.listenerSecrets(ctx, t)
	if err != nil {
		return err
	}
	if r.Inbox && t.Environment == domain.Sandbox {
		first = append(first, listeners...)
	} else {
		others = append(others, listeners...)
	}
	pasted := 0
	for pasted < len(q.Secrets) && q.Secrets[pasted].Pasted {
		pasted++
	}
	q.Secrets = append(append(append(q.Secrets[:pasted:pasted], first...), q.Secrets[pasted:]...), others...)
	return nil
}

// listenerSecrets returns the secret of new listeners, and those that listeners have kept since the
// server had another key, with the inbox before the others.
func (e *Endpoints) listenerSecrets(ctx context.Context, t domain.Tenant) (all []PossibleSecret, err error) {
	name := "secret of listeners on live"
	if t.Environment == domain.Sandbox {
		name = "secret of the inbox and other listeners in the sandbox"
	}
	listeners, err := e.storage.Read().Webhooks.Listeners(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, one := range listeners {
		for _, s := range e.webhooks.Secrets(one) {
			secret := PossibleSecret{Bytes: s.Bytes, EndedAt: s.ExpiresAt, Name: name}
			if one.Description == domain.InboxDescription {
				all = append([]PossibleSecret{secret}, all...)
			} else {
				all = append(all, secret)
			}
		}
	}
	current, err := e.webhooks.ListenerSecret(t)
	return append(all, PossibleSecret{Bytes: current, Name: name}), err
}

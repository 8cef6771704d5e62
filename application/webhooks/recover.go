package webhooks

import (
	"context"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

const (
	// RecoverMost is how many webhooks one call recovers: as many as a busy database changes in one
	// statement within its time-out.
	RecoverMost = 10_000
	// recoverGrace allows for the caller's clock and for the time of the request.
	recoverGrace = time.Minute
)

// Span is the requested period of a recovery.
type Span struct {
	Since time.Time
	Until *time.Time           // nil: now
	Only  domain.WebhookStatus // empty: failed and held
}

// Recovered is the result of a recovery.
type Recovered struct {
	Queued  int
	HasMore bool
}

// Recover makes failed or held webhooks pending again, each with a fresh schedule. It refuses with
// WEBHOOK_ENDPOINT_DISABLED or RECOVERY_RUNNING.
func (w *Webhooks) Recover(ctx context.Context, req idempotency.Request, id domain.ID,
	form func() (Span, error), answer func(Recovered) domain.Answer,
) (idempotency.Result, error) {
	return w.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		span, err := form()
		if err != nil {
			return nil, err
		}
		r, err := span.Recovery(w.clock.Now())
		if err != nil {
			return nil, err
		}
		return w.onEndpoint(req.Tenant, id, func(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint) (domain.Answer, error) {
			recovered, err := w.RecoverWithin(ctx, tx, e, r)
			return answer(recovered), err
		}), nil
	})
}

// clockTolerance is how far ahead a caller's clock may be when it sends its own time as the start.
// Such a request finds nothing and is no error.
const clockTolerance = time.Minute

// Recovery returns the period of the span as of now.
func (s Span) Recovery(now time.Time) (domain.Recovery, error) {
	r := domain.Recovery{Since: s.Since, Until: now, Only: s.Only}
	if s.Until != nil {
		r.Until = *s.Until
	}
	switch {
	case now.Sub(s.Since) > domain.RecoverableFor+recoverGrace:
		return r, domain.Invalid(domain.FieldError{Field: "since", Code: domain.FieldOutOfRange,
			Message: "may be at most 30 days back, since what is older is cleaned away; it is " + domain.FormatTime(s.Since)})
	case !s.Since.Before(r.Until) && s.Until != nil:
		return r, domain.Invalid(domain.FieldError{Field: "until", Code: domain.FieldOutOfRange, Message: "must be after since; it is " +
			domain.FormatTime(*s.Until)})
	case s.Since.After(now.Add(clockTolerance)):
		return r, domain.Invalid(domain.FieldError{Field: "since", Code: domain.FieldOutOfRange, Message: "must be in the past; it is " +
			domain.FormatTime(s.Since)})
	}
	return r, nil
}

// anyLeft reports whether another recovery of the same span would find something.
func anyLeft(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint, r domain.Recovery) (bool, error) {
	for _, status := range r.Statuses() {
		f := domain.WebhookDeliveryFilter{Status: status, CreatedAfter: &r.Since, CreatedBefore: &r.Until}
		found, err := tx.Webhooks.Deliveries(ctx, e.Tenant, e.ID, f, domain.PageRequest{Limit: 1})
		if err != nil || len(found) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

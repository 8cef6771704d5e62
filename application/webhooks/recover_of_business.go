package webhooks

import (
	"context"
	"strconv"

	"waybill/domain"
	"waybill/ports"
)

// CodeCountChanged is the conflict of a recovery that would send more or less than the person was
// shown. The details have the current count.
const CodeCountChanged = "RECOVERY_COUNT_CHANGED"

// Recoverable is what a recovery of a period would send now.
type Recoverable struct {
	domain.Recovery // with both ends, so that later webhooks change nothing
	Count           int
	HasMore         bool // the period has more than one recovery sends
}

// Recoverable counts what a recovery of a span would send, for an endpoint of the business.
func (e *Endpoints) Recoverable(ctx context.Context, business, id domain.ID, span Span) (r Recoverable, err error) {
	one, err := e.storage.Read().Webhooks.EndpointOf(ctx, business, id)
	if err != nil {
		return r, err
	}
	if r.Recovery, err = span.Recovery(e.clock.Now()); err != nil {
		return r, err
	}
	most := e.webhooks.RecoverMost()
	n, err := e.storage.Read().Webhooks.Recoverable(ctx, one.Tenant, id, r.Recovery, most+1)
	r.Count, r.HasMore = min(n, most), n > most
	return r, err
}

// Recover sends what Recoverable counted, or returns RECOVERY_COUNT_CHANGED where the count has
// changed. It refuses with WEBHOOK_ENDPOINT_DISABLED or RECOVERY_RUNNING.
func (e *Endpoints) Recover(ctx context.Context, by domain.AuditActor, id domain.ID, span Span, shown int) (Recovered,
	error) {
	var queued Recovered
	r, err := span.Recovery(e.clock.Now())
	if err != nil {
		return queued, err
	}
	err = e.on(ctx, by, id, func(ctx context.Context, tx ports.Stores, one domain.WebhookEndpoint) (domain.AuditRecord, error) {
		queued, err = e.webhooks.RecoverWithin(ctx, tx, one, r)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if queued.Queued != shown {
			return domain.AuditRecord{}, &domain.Error{Kind: domain.KindConflict, Code: CodeCountChanged,
				Message: "Nothing was sent: of this period " + strconv.Itoa(queued.Queued) + " can be sent by now, and not " +
					strconv.Itoa(shown) + ".",
				Details: map[string]any{"count": queued.Queued}}
		}
		if queued.Queued == 0 {
			return domain.AuditRecord{}, nil
		}
		return record(domain.ActionEndpointRecover, one, map[string]string{
			"since": domain.FormatTime(r.Since), "until": domain.FormatTime(r.Until), "queued": strconv.Itoa(queued.Queued),
		}), nil
	})
	return queued, err
}

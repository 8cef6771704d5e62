package deliveries

import (
	"context"
	"slices"

	"waybill/domain"
	"waybill/ports"
)

// Move is a step that a person requests for a delivery as the person saw it.
type Move struct {
	DeliveryID domain.ID
	Sequence   int // of the last event that the person saw; 0: none was looked at
	To         domain.Status
	Reason     domain.ReasonCode
}

// Move advances a delivery for a person. Failed and cancelled need a reason; other steps take none.
// Where the delivery is beyond Sequence, nothing is moved and
// TRANSITION_INVALID names its status. A form that was sent twice succeeds: the only event since
// Sequence is the same step.
func (o *Operations) Move(ctx context.Context, by domain.AuditActor, m Move) (*domain.Delivery, error) {
	switch {
	case m.Reason != "" && !m.To.TakesReason():
		return nil, domain.Invalid(domain.FieldError{Field: "reason_code", Code: domain.FieldNotAllowed,
			Message: "only failed and cancelled take a reason"})
	case m.Reason == "" && m.To.TakesReason():
		return nil, domain.Invalid(domain.FieldError{Field: "reason_code", Code: domain.FieldRequired,
			Message: "choose why it is " + string(m.To)})
	}
	decide := func(ctx context.Context, tx ports.Stores, d *domain.Delivery) ([]domain.Event, error) {
		if now := d.Lifecycle().Sequence; m.Sequence != 0 && m.Sequence != now {
			made, err := tx.Deliveries.Events(ctx, d.Tenant, d.ID)
			if err != nil || now == m.Sequence+1 && slices.ContainsFunc(made, func(e domain.Event) bool {
				return e.Sequence == now && e.Status == m.To && e.Reason == m.Reason
			}) {
				return nil, err
			}
			return nil, movedMeanwhile(d)
		}
		e, err := d.Move(m.To, domain.ActorPlatform, m.Reason, o.ids.ID(domain.PrefixEvent), o.clock.Now())
		return []domain.Event{e}, err
	}
	return o.change(ctx, by, m.DeliveryID, m.To, m.Reason, decide)
}

func movedMeanwhile(d *domain.Delivery) *domain.Error {
	return &domain.Error{Kind: domain.KindConflict, Code: domain.CodeTransitionInvalid,
		Message: "The delivery is " + string(d.Status()) + " by now: it was moved after the page was opened. Look at it again, then decide.",
		Details: map[string]any{"current_status": string(d.Status())}}
}

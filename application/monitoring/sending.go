package monitoring

import (
	"context"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// pausesWithin limits how long a page waits for pauses.
const pausesWithin = 300 * time.Millisecond

// Pauses lists the environments in which no webhooks are sent, as of at most keepFor ago. It
// returns within 300 ms, with ErrTookTooLong where the result is not known by then.
func (m *Machinery) Pauses(ctx context.Context) ([]domain.SendingPause, error) {
	came := make(chan Part[[]domain.SendingPause], 1)
	go func() { came <- m.pauses.get(ctx) }() // ends with its read, within readFor
	select {
	case p := <-came:
		return p.Value, p.Err
	case <-time.After(pausesWithin):
		return nil, ports.ErrTookTooLong
	}
}

// PauseSending stops the sending of webhooks of an environment to all customers. Every process
// stops within 2 s. It returns SENDING_UNCHANGED where it is paused already, so that nobody
// mistakes another's pause for their own.
func (m *Machinery) PauseSending(ctx context.Context, by domain.AuditActor, e domain.Environment, reason string) error {
	reason = strings.TrimSpace(reason)
	if code, message := domain.PauseReasonRule.Judge(reason); code != "" {
		return domain.Invalid(domain.FieldError{Field: "reason", Code: code, Message: message})
	}
	p := domain.SendingPause{Environment: e, Since: domain.Millis(m.clock.Now()), By: by.Name, Reason: reason}
	defer m.pauses.forget()
	defer m.overview.forget()
	return m.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		paused, err := tx.Sending.Pause(ctx, p)
		if err == nil && !paused {
			err = unchanged("Sending of " + string(e) + " webhooks is already paused. The first pause and its reason stay.")
		}
		return domain.AuditRecord{Action: domain.ActionSendingPause, Target: domain.ID(e), Details: map[string]string{"reason": reason}}, err
	})
}

// ResumeSending resumes the sending of webhooks. It returns SENDING_UNCHANGED where they are not
// paused.
func (m *Machinery) ResumeSending(ctx context.Context, by domain.AuditActor, e domain.Environment) error {
	now := domain.Millis(m.clock.Now())
	defer m.pauses.forget()
	defer m.overview.forget()
	return m.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		ended, err := tx.Sending.Resume(ctx, e, now)
		if err == nil && ended == nil {
			err = unchanged("Sending of " + string(e) + " webhooks is not paused. Somebody has resumed it.")
		}
		if err != nil {
			return domain.AuditRecord{}, err
		}
		return domain.AuditRecord{Action: domain.ActionSendingResume, Target: domain.ID(e),
			Details: map[string]string{"paused_since": domain.FormatTime(ended.Since), "paused_by": ended.By}}, nil
	})
}

func unchanged(message string) *domain.Error {
	return &domain.Error{Kind: domain.KindConflict, Code: domain.CodeSendingUnchanged, Message: message}
}

package people

import (
	"context"
	"slices"

	"waybill/domain"
	"waybill/ports"
)

// keysAtOnce limits the keys, or endpoints, of one transaction.
const keysAtOnce = 100

// TellExpiring queues mails about each key that expires within domain.TellExpiry, once for each
// person. Any number of processes may call it, at any time.
func (s *MailSender) TellExpiring(ctx context.Context) error {
	now := s.clock.Now()
	return tellEach(ctx, s, func(after domain.ID) ([]domain.Credential, error) {
		return s.storage.Read().Tenancy.ExpiringKeys(ctx, now, now.Add(domain.TellExpiry), after, keysAtOnce)
	}, func(k domain.Credential) (domain.ID, domain.Notice, bool) {
		notice, told := domain.ExpiryNotice(k, now)
		return k.Key.ID, notice, told
	})
}

// TellFailing queues mails about each webhook endpoint that will be disabled because it fails: once
// for each person and each time of failing. It sends none while people have paused the sending,
// since no endpoint can show then that it has recovered. It may be called as often as TellExpiring.
func (s *MailSender) TellFailing(ctx context.Context) error {
	now := s.clock.Now()
	pauses, err := s.storage.Read().Sending.Pauses(ctx)
	if err != nil {
		return err
	}
	return tellEach(ctx, s, func(after domain.ID) ([]domain.WebhookEndpoint, error) {
		return s.storage.Read().Webhooks.Unhealthy(ctx, "", now.Add(-domain.WarnAfter), after, keysAtOnce)
	}, func(e domain.WebhookEndpoint) (domain.ID, domain.Notice, bool) {
		notice, told := domain.FailingNotice(e, now)
		paused := slices.ContainsFunc(pauses, func(p domain.SendingPause) bool { return p.Environment == e.Tenant.Environment })
		return e.ID, notice, told && !paused
	})
}

// tellEach reads page after page, each after an ID, and stores the notices of a page in one
// transaction. notice returns the ID of a record and its notice, if it has one.
func tellEach[T any](ctx context.Context, s *MailSender, page func(after domain.ID) ([]T, error),
	notice func(T) (id domain.ID, n domain.Notice, told bool)) error {
	for after := domain.ID(""); ; {
		records, err := page(after)
		if err != nil || len(records) == 0 {
			return err
		}
		err = s.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			for _, r := range records {
				id, n, told := notice(r)
				after = id
				if !told {
					continue
				}
				if err := tx.Mails.Tell(ctx, n); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

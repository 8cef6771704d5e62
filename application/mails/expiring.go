package mails

import (
	"context"

	"waybill/domain"
	"waybill/ports"
)

// keysAtOnce is how many keys, or endpoints, are told of in one transaction.
const keysAtOnce = 100

// TellExpiring tells of each key that expires within domain.TellExpiry, each person
// once. It may be called as often as one likes, by any number of processes.
func (s *Sender) TellExpiring(ctx context.Context) error {
	now, after := s.clock.Now(), domain.ID("")
	for {
		keys, err := s.storage.Read().Tenancy.ExpiringKeys(ctx, now, now.Add(domain.TellExpiry), after, keysAtOnce)
		if err != nil || len(keys) == 0 {
			return err
		}
		err = s.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			for _, k := range keys {
				notice, told := domain.ExpiryNotice(k, now)
				if !told {
					continue
				}
				if err := tx.Mails.Tell(ctx, notice); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		after = keys[len(keys)-1].Key.ID
	}
}

// TellFailing tells of each webhook endpoint that will be disabled because it fails, each
// person once for each time of failing. It may be called as TellExpiring.
func (s *Sender) TellFailing(ctx context.Context) error {
	now, after := s.clock.Now(), domain.ID("")
	for {
		failing, err := s.storage.Read().Webhooks.Unhealthy(ctx, "", now.Add(-domain.WarnAfter), after, keysAtOnce)
		if err != nil || len(failing) == 0 {
			return err
		}
		err = s.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			for _, e := range failing {
				notice, told := domain.FailingNotice(e, now)
				if !told {
					continue
				}
				if err := tx.Mails.Tell(ctx, notice); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		after = failing[len(failing)-1].ID
	}
}

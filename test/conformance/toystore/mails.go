package toystore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"waybill/domain"
	"waybill/ports"
)

type mails struct{ session }

func (s mails) Tell(_ context.Context, n domain.Notice) error {
	for _, person := range s.recipients(n) {
		m := domain.MailTo(n, person)
		if _, there := s.tx.mails.get(m.ID); !there {
			m.Facts = maps.Clone(m.Facts)
			s.tx.mails.put(m.ID, m)
		}
	}
	return nil
}

func (s mails) recipients(n domain.Notice) (told []domain.ID) {
	if n.Email != "" || n.PersonID != "" {
		return []domain.ID{n.PersonID}
	}
	for _, m := range memberships(s).list(n.BusinessID, func(a, b domain.Membership) int {
		return cmp.Compare(a.PersonID, b.PersonID)
	}) {
		if n.BusinessID != "" && m.Membership.AcceptedAt != nil && m.Person.State == domain.PersonActive &&
			slices.Contains(n.Kind.Roles(), m.Membership.Role) {
			told = append(told, m.Person.ID)
		}
	}
	return told
}

// Mails is what mails are to be sent.
func (s *Store) Mails() ports.MailOutbox { return mailOutbox{s} }

type mailOutbox struct{ store *Store }

func waits(m domain.Mail) bool { return m.State == domain.MailWaiting }

func (o mailOutbox) Lease(ctx context.Context, now, until time.Time, limit int) (leased []domain.Mail, err error) {
	err = o.store.transact(ctx, func(on session) error {
		leased = nil
		due := on.tx.mails.where(func(m domain.Mail) bool { return waits(m) && !m.DueAt.After(now) },
			func(a, b domain.Mail) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID)) })
		for _, m := range due[:min(len(due), limit)] {
			m.Attempts, m.DueAt = m.Attempts+1, until
			on.tx.mails.put(m.ID, m)
			leased = append(leased, m)
		}
		return nil
	})
	return leased, err
}

func (o mailOutbox) Settle(ctx context.Context, m domain.Mail) error {
	return o.store.transact(ctx, func(on session) error {
		stored, ok := on.tx.mails.get(m.ID)
		if !ok || !waits(stored) || stored.Attempts != m.Attempts {
			return domain.ErrNotFound
		}
		stored.State, stored.DueAt, stored.SettledAt, stored.LastError = m.State, m.DueAt, m.SettledAt, m.LastError
		if !waits(stored) {
			stored.Email = ""
		}
		on.tx.mails.put(m.ID, stored)
		return nil
	})
}

func (o mailOutbox) Waiting(context.Context) (n int, since time.Time, _ error) {
	for _, m := range o.store.committed.Load().mails.rows {
		if waits(m) {
			if n++; since.IsZero() || m.At.Before(since) {
				since = m.At
			}
		}
	}
	return n, since, nil
}

type deviceKey struct {
	person domain.ID
	digest [32]byte
}

type devices struct{ session }

func (s devices) Seen(_ context.Context, person domain.ID, digest [32]byte, at time.Time) (known, others bool, _ error) {
	key := deviceKey{person, digest}
	_, known = s.tx.devices.get(key)
	for k := range s.tx.devices.rows {
		others = others || k.person == person && k.digest != digest
	}
	s.tx.devices.put(key, at)
	return known, others, nil
}

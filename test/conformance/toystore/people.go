package toystore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"waybill/domain"
	"waybill/ports"
)

type persons struct{ session }

func (s persons) Get(_ context.Context, id domain.ID) (domain.Person, error) {
	return s.now().persons.take(id)
}

func (s persons) Lock(ctx context.Context, id domain.ID) (domain.Person, error) {
	return s.Get(ctx, id)
}

func (s persons) FindByEmail(_ context.Context, email domain.Email) (domain.Person, error) {
	return s.now().persons.first(func(p domain.Person) bool { return p.Email == email })
}

func (s persons) Add(ctx context.Context, p domain.Person) (domain.Person, bool, error) {
	if stored, err := s.FindByEmail(ctx, p.Email); err == nil {
		return stored, false, nil
	}
	s.tx.persons.put(p.ID, p)
	return p, true, nil
}

func (s persons) Update(_ context.Context, p domain.Person) error {
	return update(&s.tx.persons, p.ID, func(stored *domain.Person) {
		stored.Name, stored.State, stored.PasswordHash = p.Name, p.State, p.PasswordHash
	})
}

type membershipKey struct{ business, person domain.ID }

type memberships struct{ session }

func (s memberships) list(business domain.ID, order func(a, b domain.Membership) int) (members []domain.Member) {
	now := s.now()
	for _, m := range now.memberships.where(func(m domain.Membership) bool { return m.BusinessID == business }, order) {
		person, _ := now.persons.get(m.PersonID)
		members = append(members, domain.Member{Person: person, Membership: m})
	}
	return members
}

func (s memberships) Members(_ context.Context, business domain.ID) ([]domain.Member, error) {
	return s.list(business, by(func(m domain.Membership) domain.Position {
		return domain.Position{CreatedAt: m.CreatedAt, ID: m.PersonID}
	})), nil
}

func (s memberships) LockMembers(_ context.Context, business domain.ID) ([]domain.Member, error) {
	return s.list(business, func(a, b domain.Membership) int { return cmp.Compare(a.PersonID, b.PersonID) }), nil
}

func (s memberships) Member(_ context.Context, business, person domain.ID) (m domain.Member, err error) {
	if m.Membership, err = s.now().memberships.take(membershipKey{business, person}); err == nil {
		m.Person, err = s.now().persons.take(person)
	}
	return m, err
}

func (s memberships) OfPerson(_ context.Context, person domain.ID) ([]domain.Membership, error) {
	return s.now().memberships.where(func(m domain.Membership) bool { return m.PersonID == person },
		by(func(m domain.Membership) domain.Position {
			return domain.Position{CreatedAt: m.CreatedAt, ID: m.BusinessID}
		})), nil
}

func (s memberships) Insert(_ context.Context, m domain.Membership) error {
	if _, err := s.tx.persons.take(m.PersonID); err != nil {
		return err
	}
	if _, err := s.tx.businesses.take(m.BusinessID); err != nil && m.BusinessID != "" {
		return err
	}
	key := membershipKey{m.BusinessID, m.PersonID}
	if _, there := s.tx.memberships.get(key); there {
		return errors.New("toystore: the membership is there")
	}
	s.tx.memberships.put(key, m)
	return nil
}

func (s memberships) Update(_ context.Context, m domain.Membership) error {
	return update(&s.tx.memberships, membershipKey{m.BusinessID, m.PersonID}, func(stored *domain.Membership) {
		stored.Role, stored.AcceptedAt = m.Role, m.AcceptedAt
	})
}

func (s memberships) Remove(_ context.Context, business, person domain.ID) error {
	if _, err := s.tx.memberships.take(membershipKey{business, person}); err != nil {
		return err
	}
	s.tx.memberships.remove(membershipKey{business, person})
	return nil
}

type links struct{ session }

func (s links) FindByDigest(_ context.Context, digest [32]byte) (domain.Link, error) {
	return s.now().links.first(func(l domain.Link) bool { return l.Digest == digest })
}

func (s links) Insert(_ context.Context, l domain.Link) error {
	s.tx.links.put(l.ID, l)
	return nil
}

func (s links) Use(_ context.Context, id domain.ID, at time.Time) error {
	if l, ok := s.tx.links.get(id); !ok || l.UsedAt != nil {
		return domain.LinkUsed()
	}
	return update(&s.tx.links, id, func(l *domain.Link) { l.UsedAt = &at })
}

func (s links) UseAll(_ context.Context, which ports.LinksOf, at time.Time) error {
	for id, l := range s.tx.links.rows {
		if l.PersonID == which.PersonID && l.UsedAt == nil && at.Before(l.ExpiresAt) &&
			(which.BusinessID == nil || *which.BusinessID == l.BusinessID) {
			l.UsedAt, l.ExpiresAt = &at, at
			s.tx.links.put(id, l)
		}
	}
	return nil
}

type sessions struct{ session }

func (s sessions) FindByDigest(ctx context.Context, digest [32]byte) (p domain.Principal, err error) {
	x, err := s.now().sessions.first(func(x domain.Session) bool { return x.Digest == digest })
	if err != nil {
		return p, err
	}
	return s.Get(ctx, x.ID)
}

func (s sessions) Get(_ context.Context, id domain.ID) (p domain.Principal, err error) {
	now := s.now()
	if p.Session, err = now.sessions.take(id); err != nil {
		return p, err
	}
	p.Person, _ = now.persons.get(p.Session.PersonID)
	m, ok := now.memberships.get(membershipKey{p.Session.BusinessID, p.Session.PersonID})
	b, _ := now.businesses.get(p.Session.BusinessID)
	if !ok || m.AcceptedAt == nil || p.Person.State != domain.PersonActive || b.Disabled {
		return domain.Principal{}, domain.ErrNotFound
	}
	p.Role = m.Role
	return p, nil
}

func (s sessions) Those(ctx context.Context, ids []domain.ID) (all []domain.Principal, err error) {
	for _, id := range ids {
		if p, err := s.Get(ctx, id); err == nil {
			all = append(all, p)
		}
	}
	return all, nil
}

func (s sessions) OfPerson(_ context.Context, person domain.ID, at time.Time) ([]domain.Session, error) {
	live := s.now().sessions.where(func(x domain.Session) bool { return x.PersonID == person && x.Live(at) },
		by(func(x domain.Session) domain.Position { return domain.Position{CreatedAt: x.CreatedAt, ID: x.ID} }))
	slices.Reverse(live)
	return live, nil
}

func (s sessions) Insert(_ context.Context, x domain.Session) error {
	s.tx.sessions.put(x.ID, x)
	return nil
}

func (s sessions) Seen(_ context.Context, id domain.ID, at time.Time) error {
	_ = update(&s.tx.sessions, id, func(x *domain.Session) { x.LastSeenAt = *later(&x.LastSeenAt, at) }) // or it does not exist
	return nil
}

func (s sessions) SignedIn(_ context.Context, id domain.ID, method domain.SignInMethod, at time.Time) error {
	return update(&s.tx.sessions, id, func(x *domain.Session) { x.SignedInAt, x.Method = at, method })
}

func (s sessions) Show(_ context.Context, id, business domain.ID) error {
	return update(&s.tx.sessions, id, func(x *domain.Session) { x.BusinessID = business })
}

func (s sessions) End(_ context.Context, which ports.SessionsOf, at time.Time) (ended int, _ error) {
	for id, x := range s.tx.sessions.rows {
		if x.PersonID == which.PersonID && x.EndedAt == nil && (which.ID == "" || id == which.ID) && id != which.Except &&
			(which.BusinessID == nil || *which.BusinessID == x.BusinessID) {
			x.EndedAt = &at
			s.tx.sessions.put(id, x)
			ended++
		}
	}
	return ended, nil
}

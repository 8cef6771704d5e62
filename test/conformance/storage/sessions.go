package storage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func newSession(person, business domain.ID, with ...func(*domain.Session)) domain.Session {
	id := sample.ID(domain.PrefixSession)
	s := domain.Session{
		ID: id, PersonID: person, BusinessID: business, Digest: sha256.Sum256([]byte(id)), Method: domain.SignInByLink, Device: "Firefox",
		CreatedAt: sample.Now, SignedInAt: sample.Now.Add(time.Minute), LastSeenAt: sample.Now.Add(2 * time.Minute),
		ExpiresAt: sample.Now.Add(12 * time.Hour),
	}
	for _, change := range with {
		change(&s)
	}
	return s
}

func testSessions(t *testing.T, b ports.Database) {
	mine, other := newTenant(t, b).BusinessID, newTenant(t, b).BusinessID
	insert := func(t testing.TB, all ...domain.Session) {
		t.Helper()
		store(t, b, all, func(tx ports.Stores) func(context.Context, domain.Session) error { return tx.Sessions.Insert })
	}
	find := func(t testing.TB, s domain.Session) domain.Principal {
		t.Helper()
		return must(b.Read().Sessions.FindByDigest(t.Context(), s.Digest))(t)
	}
	// A person with an accepted membership in both businesses and on the staff.
	everywhere := func(t testing.TB) domain.Person {
		t.Helper()
		p := newPerson()
		addPersons(t, b, p)
		join(t, b, mine, p.ID, domain.RoleOwner)
		join(t, b, other, p.ID, domain.RoleViewer)
		join(t, b, "", p.ID, domain.RoleDispatcher)
		return p
	}

	t.Run("a session comes back with its person and the role at its site", func(t *testing.T) {
		p := everywhere(t)
		for business, role := range map[domain.ID]domain.Role{mine: domain.RoleOwner, other: domain.RoleViewer, "": domain.RoleDispatcher} {
			ended := sample.Now.Add(time.Hour)
			full, bare := newSession(p.ID, business, func(s *domain.Session) { s.EndedAt, s.OneBusiness = &ended, business != "" }), newSession(p.ID, business)
			if business != "" {
				wantFilled(t, full)
			}
			insert(t, full, bare)
			for _, s := range []domain.Session{full, bare} {
				wantEqual(t, "FindByDigest", find(t, s), domain.Principal{Session: s, Person: p, Role: role})
			}
			those := must(b.Read().Sessions.Those(t.Context(), []domain.ID{bare.ID, "ses_1", sample.ID(domain.PrefixSession), full.ID}))(t)
			slices.SortFunc(those, func(a, b domain.Principal) int { return cmp.Compare(a.Session.ID, b.Session.ID) })
			want := []domain.Principal{{Session: full, Person: p, Role: role}, {Session: bare, Person: p, Role: role}}
			slices.SortFunc(want, func(a, b domain.Principal) int { return cmp.Compare(a.Session.ID, b.Session.ID) })
			wantEqual(t, "Those", those, want)
		}
		wantEqual(t, "none of none", len(must(b.Read().Sessions.Those(t.Context(), nil))(t)), 0)
		_, err := b.Read().Sessions.FindByDigest(t.Context(), sha256.Sum256([]byte("nobody's")))
		wantError(t, "FindByDigest", err, domain.ErrNotFound)
	})

	t.Run("nothing is found of a person who is not active, or has no accepted membership there", func(t *testing.T) {
		for what, change := range map[string]func(ctx context.Context, tx ports.Stores, p domain.Person) error{
			"disabled": func(ctx context.Context, tx ports.Stores, p domain.Person) error {
				p.State = domain.PersonDisabled
				return tx.Persons.Update(ctx, p)
			},
			"removed": func(ctx context.Context, tx ports.Stores, p domain.Person) error {
				return tx.Memberships.Remove(ctx, mine, p.ID)
			},
			"not accepted": func(ctx context.Context, tx ports.Stores, p domain.Person) error {
				return tx.Memberships.Update(ctx, domain.Membership{PersonID: p.ID, BusinessID: mine, Role: domain.RoleOwner})
			},
		} {
			p := everywhere(t)
			s := newSession(p.ID, mine)
			insert(t, s)
			find(t, s)
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return change(ctx, tx, p) })
			wantError(t, what, errorOf(b.Read().Sessions.FindByDigest(t.Context(), s.Digest)), domain.ErrNotFound)
			wantEqual(t, what, len(must(b.Read().Sessions.Those(t.Context(), []domain.ID{s.ID}))(t)), 0)
		}
	})

	t.Run("one of one business alone is found without an accepted invitation, until the person is disabled or removed", func(t *testing.T) {
		p := newPerson(func(p *domain.Person) { p.State = domain.PersonInvited })
		addPersons(t, b, p)
		invited := join(t, b, mine, p.ID, domain.RoleViewer, func(m *domain.Membership) { m.AcceptedAt = nil })
		shown := domain.NewMember(p, invited).Person // under the name of the invitation
		alone := newSession(p.ID, mine, func(s *domain.Session) { s.OneBusiness = true })
		there, own := newSession(p.ID, other, func(s *domain.Session) { s.OneBusiness = true }), newSession(p.ID, mine)
		insert(t, alone, there, own)
		wantEqual(t, "FindByDigest", find(t, alone), domain.Principal{Session: alone, Person: shown, Role: domain.RoleViewer})
		for what, s := range map[string]domain.Session{"where the person does not belong": there, "of the person's own sign-in": own} {
			wantError(t, what, errorOf(b.Read().Sessions.FindByDigest(t.Context(), s.Digest)), domain.ErrNotFound)
		}
		p.State = domain.PersonDisabled
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Persons.Update(ctx, p) })
		wantError(t, "disabled", errorOf(b.Read().Sessions.FindByDigest(t.Context(), alone.Digest)), domain.ErrNotFound)
	})

	t.Run("uses, sign-ins and another business are kept", func(t *testing.T) {
		p := everywhere(t)
		s, untouched := newSession(p.ID, mine), newSession(p.ID, mine)
		insert(t, s, untouched)
		later := sample.Now.Add(time.Hour)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			for _, at := range []time.Time{later, sample.Now} {
				if err := tx.Sessions.Seen(ctx, s.ID, at); err != nil {
					return err
				}
			}
			if err := tx.Sessions.SignedIn(ctx, s.ID, domain.SignInByPassword, later); err != nil {
				return err
			}
			return tx.Sessions.Show(ctx, s.ID, other)
		})
		s.LastSeenAt, s.SignedInAt, s.Method, s.BusinessID = later, later, domain.SignInByPassword, other
		wantEqual(t, "changed", find(t, s), domain.Principal{Session: s, Person: p, Role: domain.RoleViewer})
		wantEqual(t, "the other one", find(t, untouched).Session, untouched)
	})

	t.Run("those that work are listed, newest first", func(t *testing.T) {
		p, another := everywhere(t), everywhere(t)
		at := sample.Now.Add(2 * time.Hour)
		working := func(s *domain.Session) { s.LastSeenAt = at.Add(-domain.SessionIdle + time.Millisecond) }
		first, second := newSession(p.ID, mine, working), newSession(p.ID, "", working, func(s *domain.Session) {
			s.CreatedAt = sample.Now.Add(time.Minute)
		})
		insert(t, first, second, newSession(another.ID, mine, working),
			newSession(p.ID, mine, func(s *domain.Session) { s.LastSeenAt = at.Add(-domain.SessionIdle) }),
			newSession(p.ID, mine, working, func(s *domain.Session) { s.ExpiresAt = at }),
			newSession(p.ID, mine, working, func(s *domain.Session) { s.EndedAt = &at }))
		wantEqual(t, "OfPerson", must(b.Read().Sessions.OfPerson(t.Context(), p.ID, at))(t), []domain.Session{second, first})
		wantEqual(t, "of nobody", len(must(b.Read().Sessions.OfPerson(t.Context(), "prs_1", at))(t)), 0)
	})

	t.Run("the sessions that are named end, once, and no other ones", func(t *testing.T) {
		console := domain.ID("")
		for what, c := range map[string]struct {
			which func(all []domain.Session) ports.SessionsOf
			ends  []int
		}{
			"all":                 {func([]domain.Session) ports.SessionsOf { return ports.SessionsOf{} }, []int{0, 1, 2, 3}},
			"one":                 {func(all []domain.Session) ports.SessionsOf { return ports.SessionsOf{ID: all[1].ID} }, []int{1}},
			"all but one":         {func(all []domain.Session) ports.SessionsOf { return ports.SessionsOf{Except: all[0].ID} }, []int{1, 2, 3}},
			"of one business":     {func([]domain.Session) ports.SessionsOf { return ports.SessionsOf{BusinessID: &mine} }, []int{0, 1}},
			"of the console":      {func([]domain.Session) ports.SessionsOf { return ports.SessionsOf{BusinessID: &console} }, []int{3}},
			"a session not there": {func([]domain.Session) ports.SessionsOf { return ports.SessionsOf{ID: "ses_1"} }, nil},
		} {
			p, another := everywhere(t), everywhere(t)
			all := []domain.Session{newSession(p.ID, mine), newSession(p.ID, mine), newSession(p.ID, other), newSession(p.ID, "")}
			foreign := newSession(another.ID, mine)
			insert(t, append(all, foreign)...)
			which := c.which(all)
			which.PersonID = p.ID
			for i, want := range []int{len(c.ends), 0} {
				inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
					n, err := tx.Sessions.End(ctx, which, sample.Now.Add(time.Duration(i)*time.Second))
					wantEqual(t, what+": ended", n, want)
					return err
				})
			}
			for i, s := range all {
				if slices.Contains(c.ends, i) {
					s.EndedAt = &sample.Now
				}
				wantEqual(t, what, find(t, s).Session, s)
			}
			wantEqual(t, what+": of another person", find(t, foreign).Session, foreign)
		}
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			n, err := tx.Sessions.End(ctx, ports.SessionsOf{PersonID: "prs_1"}, sample.Now)
			wantEqual(t, "of nobody", n, 0)
			return err
		})
	})
}

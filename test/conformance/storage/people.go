package storage

import (
	"context"
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testAuditOfBusiness(t *testing.T, b ports.Database) {
	mine, other := newTenant(t, b).BusinessID, newTenant(t, b).BusinessID
	person := domain.AuditActor{ID: sample.ID(domain.PrefixPerson), Name: "Ama", RequestID: "req_2", BusinessID: mine}
	staff := domain.AuditActor{ID: person.ID, Name: "Ama"}
	var ours []domain.AuditEntry
	for _, e := range []domain.AuditEntry{
		auditEntry(func(e *domain.AuditEntry) { e.BusinessID, e.Actor = mine, person }),
		auditEntry(func(e *domain.AuditEntry) { e.BusinessID = other }),
		auditEntry(func(e *domain.AuditEntry) { e.BusinessID, e.Actor = mine, staff }),
		auditEntry(func(e *domain.AuditEntry) { e.BusinessID = "" }),
		auditEntry(func(e *domain.AuditEntry) { e.BusinessID = mine }),
	} {
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Audit.Append(ctx, e) })
		if e.BusinessID == mine {
			ours = append([]domain.AuditEntry{e}, ours...)
		}
	}
	list := func(limit int, business domain.ID, f domain.AuditFilter) []domain.AuditEntry {
		return pages(t, limit, func(p domain.PageRequest) ([]domain.AuditEntry, error) {
			return b.Read().Audit.ListOfBusiness(t.Context(), business, f, p)
		}, func(e domain.AuditEntry) domain.Position { return domain.Position{CreatedAt: e.At, ID: e.ID} })
	}

	t.Run("a business has its own entries and no other ones", func(t *testing.T) {
		for _, limit := range []int{1, 2, 5} {
			wantEqual(t, "ListOfBusiness", list(limit, mine, domain.AuditFilter{}), ours)
		}
		wantEqual(t, "of the other one", len(list(5, other, domain.AuditFilter{})), 1)
		for _, business := range []domain.ID{"", "biz_1", sample.ID(domain.PrefixBusiness)} {
			wantEqual(t, "of no business", len(list(5, business, domain.AuditFilter{})), 0)
		}
	})

	t.Run("a person is found by the ID, on either side", func(t *testing.T) {
		byPerson := domain.AuditFilter{ActorID: person.ID}
		wantEqual(t, "of the person", list(5, mine, byPerson), ours[1:])
		wantEqual(t, "of the person, elsewhere", len(list(5, other, byPerson)), 0)
		found := must(b.Read().Audit.List(t.Context(), byPerson, domain.PageRequest{Limit: 5}))(t)
		wantEqual(t, "of all businesses", found, ours[1:])
	})
}

func newPerson(with ...func(*domain.Person)) domain.Person {
	id := sample.ID(domain.PrefixPerson)
	p := domain.Person{
		ID: id, Name: "Ama Mensah", Email: domain.Email(id.Hex() + "@example.com"), State: domain.PersonActive,
		PasswordHash: "$argon2id$v=19$...", CreatedAt: sample.Now,
	}
	for _, change := range with {
		change(&p)
	}
	return p
}

func addPersons(t testing.TB, b ports.Database, all ...domain.Person) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		for _, p := range all {
			if _, created, err := tx.Persons.Add(ctx, p); err != nil || !created {
				t.Fatalf("add %s: created %v, %v", p.ID, created, err)
			}
		}
		return nil
	})
}

func testPersons(t *testing.T, b ports.Database) {
	nobody := sample.ID(domain.PrefixPerson)

	t.Run("every field comes back, and what is changed of it", func(t *testing.T) {
		full, bare := newPerson(), newPerson(func(p *domain.Person) { p.PasswordHash, p.State = "", domain.PersonInvited })
		wantFilled(t, full)
		addPersons(t, b, full, bare)
		for _, want := range []domain.Person{full, bare} {
			wantEqual(t, "Get", must(b.Read().Persons.Get(t.Context(), want.ID))(t), want)
			wantEqual(t, "FindByEmail", must(b.Read().Persons.FindByEmail(t.Context(), want.Email))(t), want)
		}
		full.Name, full.State, full.PasswordHash = "Kofi", domain.PersonDisabled, ""
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			if _, err := tx.Persons.Lock(ctx, full.ID); err != nil {
				return err
			}
			return tx.Persons.Update(ctx, full)
		})
		wantEqual(t, "changed", must(b.Read().Persons.Get(t.Context(), full.ID))(t), full)
		wantEqual(t, "the other one", must(b.Read().Persons.Get(t.Context(), bare.ID))(t), bare)
	})

	t.Run("what does not exist is not found", func(t *testing.T) {
		for _, id := range []domain.ID{nobody, "prs_1", sample.ID(domain.PrefixBusiness)} {
			_, err := b.Read().Persons.Get(t.Context(), id)
			wantError(t, "Get", err, domain.ErrNotFound)
		}
		for _, email := range []domain.Email{"nobody@example.com", "a\x00b", ""} {
			_, err := b.Read().Persons.FindByEmail(t.Context(), email)
			wantError(t, "FindByEmail", err, domain.ErrNotFound)
		}
		wantError(t, "Update", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			return tx.Persons.Update(ctx, newPerson())
		}), domain.ErrNotFound)
	})

	t.Run("of many with one e-mail address one is created and all get it", func(t *testing.T) {
		email := newPerson().Email
		stored := make([]domain.Person, 8)
		made := make([]bool, len(stored))
		for i, err := range together(len(stored), func(i int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
				stored[i], made[i], err = tx.Persons.Add(ctx, newPerson(func(p *domain.Person) { p.Email = email }))
				return err
			})
		}) {
			if err != nil || stored[i].ID != stored[0].ID {
				t.Errorf("%s, %v; the first one got %s", stored[i].ID, err, stored[0].ID)
			}
		}
		n := 0
		for _, created := range made {
			if created {
				n++
			}
		}
		wantEqual(t, "created", n, 1)
	})
}

// member stores a membership of a person; the business may be empty.
func join(t testing.TB, b ports.Database, business, person domain.ID, role domain.Role,
	with ...func(*domain.Membership)) domain.Membership {
	t.Helper()
	accepted := sample.Now.Add(time.Minute)
	m := domain.Membership{PersonID: person, BusinessID: business, Role: role, CreatedAt: sample.Now, AcceptedAt: &accepted}
	for _, change := range with {
		change(&m)
	}
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Memberships.Insert(ctx, m) })
	return m
}

func testMemberships(t *testing.T, b ports.Database) {
	mine, other := newTenant(t, b).BusinessID, newTenant(t, b).BusinessID
	ama, kofi := newPerson(), newPerson()
	addPersons(t, b, ama, kofi)
	inMine := join(t, b, mine, ama.ID, domain.RoleOwner)
	invited := join(t, b, mine, kofi.ID, domain.RoleViewer, func(m *domain.Membership) {
		m.AcceptedAt, m.CreatedAt = nil, sample.Now.Add(time.Hour)
	})
	inOther := join(t, b, other, ama.ID, domain.RoleDeveloper, func(m *domain.Membership) { m.CreatedAt = sample.Now.Add(time.Hour) })
	onStaff := join(t, b, "", ama.ID, domain.RoleAdmin, func(m *domain.Membership) { m.CreatedAt = sample.Now.Add(2 * time.Hour) })
	wantFilled(t, inMine)

	t.Run("each business, and the staff, has its own members, oldest first", func(t *testing.T) {
		for business, want := range map[domain.ID][]domain.Member{
			mine:    {{Person: ama, Membership: inMine}, {Person: kofi, Membership: invited}},
			other:   {{Person: ama, Membership: inOther}},
			"":      {{Person: ama, Membership: onStaff}},
			"biz_1": nil, ama.ID: nil,
		} {
			wantEqual(t, "Members of "+string(business), must(b.Read().Memberships.Members(t.Context(), business))(t), want)
			for _, m := range want {
				wantEqual(t, "Member", must(b.Read().Memberships.Member(t.Context(), business, m.Person.ID))(t), m)
			}
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				locked, err := tx.Memberships.LockMembers(ctx, business)
				slices.SortFunc(locked, func(a, b domain.Member) int { return a.Membership.CreatedAt.Compare(b.Membership.CreatedAt) })
				wantEqual(t, "LockMembers of "+string(business), locked, want)
				return err
			})
		}
		for business, person := range map[domain.ID]domain.ID{other: kofi.ID, "": kofi.ID, mine: "prs_1", "biz_1": ama.ID} {
			_, err := b.Read().Memberships.Member(t.Context(), business, person)
			wantError(t, "Member", err, domain.ErrNotFound)
		}
	})

	t.Run("a person has all memberships, oldest first", func(t *testing.T) {
		wantEqual(t, "OfPerson", must(b.Read().Memberships.OfPerson(t.Context(), ama.ID))(t), []domain.Membership{inMine, inOther, onStaff})
		wantEqual(t, "of nobody", len(must(b.Read().Memberships.OfPerson(t.Context(), "prs_1"))(t)), 0)
	})

	t.Run("a change and a removal touch one membership", func(t *testing.T) {
		for _, business := range []domain.ID{mine, ""} {
			person := newPerson()
			addPersons(t, b, person)
			role := domain.RoleViewer
			m := join(t, b, business, person.ID, role)
			elsewhere := join(t, b, other, person.ID, role)
			m.Role, m.AcceptedAt = domain.Roles(m.Site())[0], nil
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Memberships.Update(ctx, m) })
			wantEqual(t, "changed", must(b.Read().Memberships.Member(t.Context(), business, person.ID))(t).Membership, m)
			wantEqual(t, "elsewhere", must(b.Read().Memberships.Member(t.Context(), other, person.ID))(t).Membership, elsewhere)

			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				return tx.Memberships.Remove(ctx, business, person.ID)
			})
			wantEqual(t, "left", must(b.Read().Memberships.OfPerson(t.Context(), person.ID))(t), []domain.Membership{elsewhere})
			for what, fn := range map[string]func(context.Context, ports.Stores) error{
				"Remove": func(ctx context.Context, tx ports.Stores) error {
					return tx.Memberships.Remove(ctx, business, person.ID)
				},
				"Update": func(ctx context.Context, tx ports.Stores) error { return tx.Memberships.Update(ctx, m) },
			} {
				wantError(t, what, b.InTx(t.Context(), fn), domain.ErrNotFound)
			}
		}
	})

	t.Run("there is no membership of what does not exist, and none twice", func(t *testing.T) {
		insert := func(m domain.Membership) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return tx.Memberships.Insert(ctx, m) })
		}
		nowhere, nobody := inMine, inMine
		nowhere.BusinessID, nobody.PersonID = sample.ID(domain.PrefixBusiness), sample.ID(domain.PrefixPerson)
		wantError(t, "no such business", insert(nowhere), domain.ErrNotFound)
		wantError(t, "no such person", insert(nobody), domain.ErrNotFound)
		for _, m := range []domain.Membership{inMine, onStaff} {
			if insert(m) == nil {
				t.Errorf("a second membership in %q was stored", m.BusinessID)
			}
		}
	})

	t.Run("of two who lock the members the second one sees what the first one did", func(t *testing.T) {
		business := newTenant(t, b).BusinessID
		var owners []domain.ID
		for range 2 {
			p := newPerson()
			addPersons(t, b, p)
			join(t, b, business, p.ID, domain.RoleOwner)
			owners = append(owners, p.ID)
		}
		wantOneWinner(t, together(2, func(i int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				members, err := tx.Memberships.LockMembers(ctx, business)
				if err != nil {
					return err
				}
				if domain.LosesLastOwner(members, owners[i], "") {
					return domain.LastOwner(domain.Portal)
				}
				return tx.Memberships.Remove(ctx, business, owners[i])
			})
		}), domain.LastOwner(domain.Portal))
	})
}

func newLink(person, business domain.ID) domain.Link {
	id := sample.ID(domain.PrefixLink)
	used := sample.Now.Add(time.Second)
	return domain.Link{
		ID: id, PersonID: person, BusinessID: business, Purpose: domain.LinkInvitation, Digest: sha256.Sum256([]byte(id)),
		CreatedAt: sample.Now, ExpiresAt: sample.Now.Add(time.Hour), UsedAt: &used,
	}
}

func testLinks(t *testing.T, b ports.Database) {
	business := newTenant(t, b).BusinessID
	ama, kofi := newPerson(), newPerson()
	addPersons(t, b, ama, kofi)
	insert := func(t testing.TB, links ...domain.Link) {
		t.Helper()
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			for _, l := range links {
				if err := tx.Links.Insert(ctx, l); err != nil {
					return err
				}
			}
			return nil
		})
	}
	unused := func(person domain.ID) domain.Link {
		l := newLink(person, "")
		l.Purpose, l.UsedAt = domain.LinkSignIn, nil
		return l
	}
	find := func(t testing.TB, l domain.Link) domain.Link {
		t.Helper()
		return must(b.Read().Links.FindByDigest(t.Context(), l.Digest))(t)
	}

	t.Run("every field comes back", func(t *testing.T) {
		full, bare := newLink(ama.ID, business), unused(ama.ID)
		wantFilled(t, full)
		insert(t, full, bare)
		for _, want := range []domain.Link{full, bare} {
			wantEqual(t, "FindByDigest", find(t, want), want)
		}
		_, err := b.Read().Links.FindByDigest(t.Context(), sha256.Sum256([]byte("nobody's")))
		wantError(t, "FindByDigest", err, domain.ErrNotFound)
	})

	t.Run("a link is used once, however many try", func(t *testing.T) {
		l := unused(ama.ID)
		insert(t, l)
		wantOneWinner(t, together(8, func(int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return tx.Links.Use(ctx, l.ID, sample.Now) })
		}), domain.LinkUsed())
		wantEqual(t, "used", *find(t, l).UsedAt, sample.Now)
	})

	t.Run("the links that are named become useless, and no other ones", func(t *testing.T) {
		console := domain.ID("")
		for what, c := range map[string]struct {
			of   *domain.ID
			used []bool
		}{
			"all": {nil, []bool{true, true}}, "to a business": {&business, []bool{true, false}}, "to the console": {&console, []bool{false, true}},
		} {
			first, second, others, used := unused(ama.ID), unused(ama.ID), unused(kofi.ID), newLink(ama.ID, business)
			expired := unused(ama.ID)
			first.BusinessID = business
			later := sample.Now.Add(time.Minute)
			expired.ExpiresAt = later
			insert(t, first, second, others, used, expired)
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				return tx.Links.UseAll(ctx, ports.LinksOf{PersonID: ama.ID, BusinessID: c.of}, later)
			})
			for i, l := range []domain.Link{first, second} {
				if c.used[i] {
					l.UsedAt, l.ExpiresAt = &later, later
				}
				wantEqual(t, what, find(t, l), l)
			}
			wantEqual(t, what+": of another person", find(t, others), others)
			wantEqual(t, what+": used before", find(t, used), used)
			wantEqual(t, what+": expired before", find(t, expired), expired)
		}
	})
}

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
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			for _, s := range all {
				if err := tx.Sessions.Insert(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
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
			full, bare := newSession(p.ID, business, func(s *domain.Session) { s.EndedAt = &ended }), newSession(p.ID, business)
			if business != "" {
				wantFilled(t, full)
			}
			insert(t, full, bare)
			for _, s := range []domain.Session{full, bare} {
				wantEqual(t, "FindByDigest", find(t, s), domain.Principal{Session: s, Person: p, Role: role})
			}
		}
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
			_, err := b.Read().Sessions.FindByDigest(t.Context(), s.Digest)
			wantError(t, what, err, domain.ErrNotFound)
		}
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

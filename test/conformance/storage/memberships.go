package storage

import (
	"context"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// member stores a membership of a person; the business may be empty.
func join(t testing.TB, b ports.Database, business, person domain.ID, role domain.Role,
	with ...func(*domain.Membership)) domain.Membership {
	t.Helper()
	accepted, out := sample.Now.Add(time.Minute), sample.Now.Add(2*time.Minute)
	m := domain.Membership{PersonID: person, BusinessID: business, Role: role, Name: "As typed", CreatedAt: sample.Now, AcceptedAt: &accepted,
		SignedOutAt: &out}
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
		m.AcceptedAt, m.SignedOutAt, m.CreatedAt, m.Name = nil, nil, sample.Now.Add(time.Hour), "Kofi of mine"
	})
	asInvited := kofi
	asInvited.Name = invited.Name
	inOther := join(t, b, other, ama.ID, domain.RoleDeveloper, func(m *domain.Membership) { m.CreatedAt = sample.Now.Add(time.Hour) })
	onStaff := join(t, b, "", ama.ID, domain.RoleAdmin, func(m *domain.Membership) { m.CreatedAt = sample.Now.Add(2 * time.Hour) })
	wantFilled(t, inMine)

	t.Run("each business, and the staff, has its own members, oldest first", func(t *testing.T) {
		for business, want := range map[domain.ID][]domain.Member{
			mine:    {{Person: ama, Membership: inMine}, {Person: asInvited, Membership: invited}},
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
			wantError(t, "Member", errorOf(b.Read().Memberships.Member(t.Context(), business, person)), domain.ErrNotFound)
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
			m.Role, m.AcceptedAt, m.SignedOutAt = domain.Roles(m.Site())[0], nil, nil
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

	for name, lose := range map[string]func(ctx context.Context, tx ports.Stores, m domain.Member) error{
		"removed": func(ctx context.Context, tx ports.Stores, m domain.Member) error {
			return tx.Memberships.Remove(ctx, m.Membership.BusinessID, m.Person.ID)
		},
		"disabled": func(ctx context.Context, tx ports.Stores, m domain.Member) error {
			m.Person.State = domain.PersonDisabled
			return tx.Persons.Update(ctx, m.Person)
		},
	} {
		t.Run("of two who lock the members the second one sees whom the first one "+name, func(t *testing.T) {
			business := newTenant(t, b).BusinessID
			var owners []domain.Member
			for range 2 {
				p := newPerson()
				addPersons(t, b, p)
				join(t, b, business, p.ID, domain.RoleOwner)
				owners = append(owners, must(b.Read().Memberships.Member(t.Context(), business, p.ID))(t))
			}
			wantOneWinner(t, together(2, func(i int) error {
				return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					members, err := tx.Memberships.LockMembers(ctx, business)
					if err != nil {
						return err
					}
					time.Sleep(30 * time.Millisecond) // the other one begins to wait meanwhile
					if domain.LosesLastOwner(members, owners[i].Person.ID, "") {
						return domain.LastOwner(domain.Portal)
					}
					return lose(ctx, tx, owners[i])
				})
			}), domain.LastOwner(domain.Portal))
		})
	}
}

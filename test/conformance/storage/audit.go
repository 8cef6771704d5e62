package storage

import (
	"context"
	"errors"
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

func auditEntry(with ...func(*domain.AuditEntry)) domain.AuditEntry {
	e := domain.AuditEntry{
		ID: sample.ID(domain.PrefixAuditEntry), At: sample.Now,
		Actor: domain.AuditActor{ID: sample.ID(domain.PrefixOperatorToken), Name: "Dispatch", RequestID: "req_1"},
		AuditRecord: domain.AuditRecord{
			Action: domain.ActionKeyCreate, Target: sample.ID(domain.PrefixAPIKey), BusinessID: sample.ID(domain.PrefixBusiness),
			Details: map[string]string{"environment": "live", "note": `"quoted" <&> Ɔ`},
		},
	}
	for _, change := range with {
		change(&e)
	}
	return e
}

func testAudit(t *testing.T, b ports.Database) {
	list := func(t testing.TB, limit int, f domain.AuditFilter) []domain.ID {
		t.Helper()
		found := pages(t, limit, func(p domain.PageRequest) ([]domain.AuditEntry, error) {
			return b.Read().Audit.List(t.Context(), f, p)
		}, func(e domain.AuditEntry) domain.Position { return domain.Position{CreatedAt: e.At, ID: e.ID} })
		out := make([]domain.ID, len(found))
		for i, e := range found {
			out[i] = e.ID
		}
		return out
	}
	full := auditEntry()
	wantFilled(t, full, "AuditEntry.Actor.BusinessID", // of persons, see testAuditOfBusiness
		"AuditEntry.Actor.OneBusiness", "AuditEntry.Actor.Session", "AuditEntry.Actor.Role") // not stored
	bare := auditEntry(func(e *domain.AuditEntry) {
		e.Actor = domain.AuditActor{Name: "command:ama"}
		e.BusinessID, e.Details, e.Action, e.At = "", nil, domain.ActionOperatorRevoke, full.At.Add(time.Hour)
	})
	same := auditEntry(func(e *domain.AuditEntry) { e.Actor, e.Target, e.At = full.Actor, full.Target, bare.At.Add(time.Hour) })
	for _, e := range []domain.AuditEntry{full, bare, same} {
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Audit.Append(ctx, e) })
	}

	t.Run("every field comes back, newest first", func(t *testing.T) {
		got := must(b.Read().Audit.List(t.Context(), domain.AuditFilter{}, domain.PageRequest{Limit: 10}))(t)
		wantEqual(t, "List", got, []domain.AuditEntry{same, bare, full})
	})

	t.Run("filters narrow and pages are complete", func(t *testing.T) {
		for _, c := range []struct {
			what   string
			filter domain.AuditFilter
			want   []domain.ID
		}{
			{"none", domain.AuditFilter{}, []domain.ID{same.ID, bare.ID, full.ID}},
			{"operator", domain.AuditFilter{ActorID: full.Actor.ID}, []domain.ID{same.ID, full.ID}},
			{"target", domain.AuditFilter{Target: bare.Target}, []domain.ID{bare.ID}},
			{"action", domain.AuditFilter{Action: domain.ActionOperatorRevoke}, []domain.ID{bare.ID}},
			{"all of them", domain.AuditFilter{ActorID: full.Actor.ID, Target: full.Target, Action: domain.ActionKeyCreate},
				[]domain.ID{same.ID, full.ID}},
			{"since", domain.AuditFilter{Since: &bare.At}, []domain.ID{same.ID, bare.ID}},
			{"until", domain.AuditFilter{Until: &bare.At}, []domain.ID{full.ID}},
			{"nobody's", domain.AuditFilter{ActorID: "opr_1"}, []domain.ID{}},
			{"a target that cannot be", domain.AuditFilter{Target: "a\x00b"}, []domain.ID{}},
		} {
			for _, limit := range []int{1, 2, 5} {
				wantEqual(t, c.what, list(t, limit, c.filter), c.want)
			}
		}
	})

	t.Run("an entry of a transaction that fails is not there", func(t *testing.T) {
		lost := auditEntry()
		err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			return errors.Join(tx.Audit.Append(ctx, lost), errors.New("refused"))
		})
		if err == nil || slices.Contains(list(t, 10, domain.AuditFilter{}), lost.ID) {
			t.Errorf("error %v; the entry stayed", err)
		}
	})
}

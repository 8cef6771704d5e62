package audit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

var by = domain.AuditActor{ID: domain.MakeID(domain.PrefixOperatorToken, [16]byte{1}), Name: "Dispatch", RequestID: "req_1"}

// kept returns the whole log, newest first.
func kept(t *testing.T, l *audit.Log) []domain.AuditEntry {
	t.Helper()
	entries, err := l.Entries(t.Context(), domain.AuditFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestAChangeIsKeptWithItsActor(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	l := audit.New(s.Store, s.Clock, s.IDs)
	business := domain.Business{ID: s.IDs.ID(domain.PrefixBusiness), Name: "Shop", CreatedAt: s.Clock.Now()}
	record := domain.AuditRecord{
		Action: domain.ActionBusinessCreate, Target: business.ID, BusinessID: business.ID, Details: map[string]string{"a": "b"},
	}
	err := l.Change(t.Context(), by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		return record, tx.Tenancy.InsertBusiness(ctx, business)
	})
	if err != nil {
		t.Fatal(err)
	}
	entries := kept(t, l)
	if len(entries) != 1 || !cmp.Equal(entries[0].AuditRecord, record) || entries[0].Actor != by || entries[0].At.Before(stage.Noon) {
		t.Errorf("%+v", entries)
	}
}

func TestWhatIsRefusedOrChangesNothingIsNotKept(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	l := audit.New(s.Store, s.Clock, s.IDs)
	refused := errors.New("refused")
	for _, want := range []error{nil, refused} {
		err := l.Change(t.Context(), by, func(context.Context, ports.Stores) (domain.AuditRecord, error) {
			if want == nil {
				return domain.AuditRecord{}, nil
			}
			return domain.AuditRecord{Action: domain.ActionKeyCreate, Target: "key_1"}, want
		})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if entries := kept(t, l); len(entries) != 0 {
		t.Errorf("%+v", entries)
	}
}

func TestNothingChangesWhereTheLogCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	business := domain.Business{ID: s.IDs.ID(domain.PrefixBusiness), Name: "Shop", CreatedAt: s.Clock.Now()}
	taken := s.IDs.ID(domain.PrefixAuditEntry)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Audit.Append(ctx, domain.AuditEntry{ID: taken, At: s.Clock.Now(), AuditRecord: domain.AuditRecord{Action: "x", Target: "y"}})
	})
	l := audit.New(s.Store, s.Clock, again{s.IDs, taken})
	err := l.Change(t.Context(), by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		return domain.AuditRecord{Action: domain.ActionBusinessCreate, Target: business.ID}, tx.Tenancy.InsertBusiness(ctx, business)
	})
	if err == nil {
		t.Error("an ID was kept twice")
	}
	if _, err := s.Store.Read().Tenancy.Business(t.Context(), business.ID); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("the business is there without its entry: %v", err)
	}
}

// again draws an ID that exists already.
type again struct {
	*stage.IDs
	id domain.ID
}

func (a again) ID(domain.Prefix) domain.ID { return a.id }

func TestAPersonChangesNothingOfAnotherBusiness(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	l := audit.New(s.Store, s.Clock, s.IDs)
	mine, other := s.NewTenant(t), s.NewTenant(t)
	owner := domain.AuditActor{ID: s.IDs.ID(domain.PrefixPerson), Name: "Ama", BusinessID: mine.BusinessID}
	disable := func(tenant domain.Tenant) error {
		return l.Change(t.Context(), owner, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
			return domain.AuditRecord{Action: domain.ActionApplicationDisable, Target: tenant.ApplicationID, BusinessID: tenant.BusinessID},
				tx.Tenancy.SetApplicationDisabled(ctx, tenant.ApplicationID, true)
		})
	}
	if err := disable(other); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a foreign application: %v", err)
	}
	if err := disable(mine); err != nil {
		t.Error(err)
	}
	for tenant, want := range map[domain.Tenant]bool{mine: true, other: false} {
		app, err := s.Store.Read().Tenancy.Application(t.Context(), tenant.ApplicationID)
		if err != nil || app.Disabled != want {
			t.Errorf("disabled is %v, %v, want %v", app.Disabled, err, want)
		}
		entries, err := l.EntriesOfBusiness(t.Context(), tenant.BusinessID, domain.AuditFilter{}, domain.PageRequest{Limit: 10})
		if err != nil || (len(entries) == 1) != want || want && entries[0].Actor != owner {
			t.Errorf("entries %+v, %v", entries, err)
		}
	}
}

package deliveries_test

import (
	"errors"
	"testing"

	"waybill/application/audit"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/test/sample"
	"waybill/test/stage"
)

func TestAnotherBusinessAndAnUnknownOneHaveNothing(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	h := deliveries.NewHandling(s.Store, s.Clock, s.IDs, stage.Renderer{})
	mine, other := s.NewTenant(t), s.NewTenant(t)
	w := sample.BookingWrite(mine)
	if err := s.Store.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	id := w.Delivery.ID
	if _, err := h.Story(t.Context(), mine.BusinessID, id); err != nil {
		t.Fatalf("its own: %v", err)
	}
	for name, business := range map[string]domain.ID{"another": other.BusinessID, "nobody": "", "unknown": s.IDs.ID(domain.PrefixBusiness)} {
		by := domain.AuditActor{ID: s.IDs.ID(domain.PrefixPerson), Name: "Ama", BusinessID: business}
		within := mine
		within.BusinessID = business
		for act, do := range map[string]func() error{
			"Get":   func() error { _, err := h.Get(t.Context(), business, id); return err },
			"Story": func() error { _, err := h.Story(t.Context(), business, id); return err },
			"List": func() error {
				_, err := h.List(t.Context(), within, domain.DeliveryFilter{}, domain.PageRequest{Limit: 1})
				return err
			},
			"Cancel":   func() error { return h.Cancel(t.Context(), by, id) },
			"Move":     func() error { return h.Move(t.Context(), by, id, domain.Booked, domain.Assigned) },
			"Simulate": func() error { return h.Simulate(t.Context(), by, id, sample.Plan()) },
		} {
			if err := do(); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s, %s: %v", name, act, err)
			}
		}
		if found, err := h.Search(t.Context(), business, string(id), 10); business != "" && (err != nil || len(found) != 0) {
			t.Errorf("%s finds %d: %v", name, len(found), err)
		} else if business == "" && !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("nobody searches: %v", err)
		}
	}
	if d, err := h.Get(t.Context(), mine.BusinessID, id); err != nil || d.Lifecycle() != w.Delivery.Lifecycle() {
		t.Errorf("it was changed: %+v, %v", d, err)
	}
	if entries, err := audit.New(s.Store, s.Clock, s.IDs).Entries(t.Context(), domain.AuditFilter{},
		domain.PageRequest{Limit: 9}); err != nil || len(entries) > 0 {
		t.Errorf("the audit log has %+v, %v", entries, err)
	}
}

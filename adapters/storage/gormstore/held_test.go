package gormstore_test

import (
	"errors"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// Another session has locked the whole table, as a migration does.
func TestWhatIsHeldForTooLongIsToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		options gormstore.Options
		busy    bool
	}{
		"longer than one waits for a lock": {gormstore.Options{LockTimeout: 50 * time.Millisecond, StatementTimeout: 10 * time.Second},
			true},
		"longer than a statement takes at most": {gormstore.Options{LockTimeout: 20 * time.Second, StatementTimeout: 2 * time.Second}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newDatabase(t)
			s := openWith(t, url, c.options)
			holder := connect(t, url)
			do(t, holder, "BEGIN")
			do(t, holder, "LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE")
			_, err := s.Read().Platform.Deliveries(t.Context(), domain.DeliverySearch{}, domain.PageRequest{Limit: 1})
			var told *domain.Error
			if c.busy && (!errors.As(err, &told) || told.Kind != domain.KindUnavailable || told.RetryAfter <= 0) {
				t.Errorf("got %v, want that it is busy", err)
			}
			if !c.busy && (!errors.Is(err, ports.ErrTookTooLong) || errors.As(err, &told)) {
				t.Errorf("got %v, want that it took too long", err)
			}
			do(t, holder, "ROLLBACK")
			if _, err := s.Read().Platform.Deliveries(t.Context(), domain.DeliverySearch{}, domain.PageRequest{Limit: 1}); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// A list by created_at lacks a delivery until it is committed: never for longer than
// the budget, whatever Postgres would wait for.
func TestLongADeliveryIsCommittedWithinItsBudgetOrNotAtAll(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s := openWith(t, url, gormstore.Options{LockTimeout: 30 * time.Second, StatementTimeout: 30 * time.Second})
	tenant := newTenant(t, s)
	holder := connect(t, url)
	do(t, holder, "BEGIN")
	do(t, holder, "LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE")
	began := time.Now()
	err := s.Book(t.Context(), sample.BookingWrite(tenant))
	took := time.Since(began)
	if err == nil || took > 25*time.Second { // Postgres waits for 30
		t.Errorf("%v after %v, want a failure after %v", err, took, ports.BookingBudget)
	}
	do(t, holder, "ROLLBACK")
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if n := count(t, s, "deliveries"); n != 0 {
			t.Fatalf("it was committed %v after it was made", time.Since(began))
		}
	}
}

package gormstore_test

import (
	"errors"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
)

// Somebody else has the table to himself, such as a migration.
func TestWhatIsHeldForTooLongIsToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		options gormstore.Options
		busy    bool
	}{
		"longer than one waits for a lock":      {gormstore.Options{LockTimeout: 50 * time.Millisecond, StatementTimeout: 10 * time.Second}, true},
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

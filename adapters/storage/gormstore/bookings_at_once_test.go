package gormstore_test

import (
	"errors"
	"strings"
	"testing"

	"waybill/adapters/batch"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// Bookings of one batch, of which the last cannot be stored as it is.
func TestABatchThatCommitsWithItsStatementsLeavesOutWhatConflicts(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tenant := newTenant(t, s)
	known := sample.BookingWrite(tenant)
	if err := s.Book(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	var statements []string
	if err := s.WatchWrites(func(statement string, _ []any) { statements = append(statements, statement) }); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil    func(w *ports.BookingWrite)
		want     error
		inserted int // deliveries, by so many statements
	}{
		"nothing":       {func(*ports.BookingWrite) {}, nil, 1},
		"the key":       {func(w *ports.BookingWrite) { w.Key.Key = known.Key.Key }, batch.ErrAlone, 3},
		"the recipient": {func(w *ports.BookingWrite) { w.Recipient.PhoneNumber = known.Recipient.PhoneNumber }, batch.ErrAlone, 3},
		"the external ID": {func(w *ports.BookingWrite) {
			w.Delivery = sample.BookingWrite(tenant, func(b *domain.Booking) { b.ExternalID = known.Delivery.ExternalID }).Delivery
		}, batch.ErrAlone, 3},
	} {
		writes := []ports.BookingWrite{sample.BookingWrite(tenant), sample.BookingWrite(tenant), sample.BookingWrite(tenant)}
		c.spoil(&writes[2])
		statements = nil
		outcomes, err := s.BookTogether(t.Context(), writes...)
		if err != nil {
			t.Fatal(err)
		}
		if outcomes[0] != nil || outcomes[1] != nil || !errors.Is(outcomes[2], c.want) {
			t.Errorf("%s: outcomes %v, want that the third is %v and the others are stored", name, outcomes, c.want)
		}
		inserted := 0
		for _, statement := range statements {
			if strings.HasPrefix(statement, "INSERT INTO deliveries") {
				inserted++
			}
		}
		if inserted != c.inserted {
			t.Errorf("%s: %d statements inserted deliveries, want %d", name, inserted, c.inserted)
		}
	}
}

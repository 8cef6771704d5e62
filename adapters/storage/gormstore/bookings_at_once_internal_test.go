package gormstore

import (
	"testing"

	"waybill/domain"
	"waybill/ports"
)

func TestABatchCommitsWithItsStatementsWhereNoResultIsReadBefore(t *testing.T) {
	t.Parallel()
	plain := &entry{BookingWrite: ports.BookingWrite{Delivery: &domain.Delivery{}}}
	simulated := domain.RestoreDelivery(domain.Booking{}, domain.Lifecycle{Simulation: &domain.Simulation{Status: domain.SimulationRunning}})
	for what, c := range map[string]struct {
		w    ports.BookingWrite
		want bool
	}{
		"to a known address":                    {ports.BookingWrite{}, true},
		"to a new recipient":                    {ports.BookingWrite{NewRecipient: true, NewAddress: true}, true},
		"that names a recipient":                {ports.BookingWrite{FillName: true}, true},
		"to a known recipient at a new address": {ports.BookingWrite{NewAddress: true}, false}, // there may be too many
		"in a bulk":                             {ports.BookingWrite{Bulk: &ports.BulkItemMark{}}, false},
		"that plays itself":                     {ports.BookingWrite{Delivery: simulated}, false}, // as above
	} {
		if c.w.Delivery == nil {
			c.w.Delivery = &domain.Delivery{}
		}
		b := &pgBatch{entries: []*entry{plain, {BookingWrite: c.w}}, first: true}
		if got := (&Store{atOnce: true}).mayCommitAtOnce(b); got != c.want {
			t.Errorf("with a booking %s: %t, want %t", what, got, c.want)
		}
	}
	for what, c := range map[string]struct {
		atOnce, first bool
		broke         int64
		want          bool
	}{
		"where COMMIT is sent alone":          {false, true, 0, false},
		"that has failed once":                {true, false, 0, false},
		"just after a connection broke":       {true, true, sinceStart(), false},
		"a while after a connection broke":    {true, true, sinceStart() - int64(afterBreak) - 1, true},
		"on a store that knows nothing of it": {true, true, 0, true},
	} {
		s := &Store{atOnce: c.atOnce}
		s.broke.Store(c.broke)
		if got := s.mayCommitAtOnce(&pgBatch{entries: []*entry{plain}, first: c.first}); got != c.want {
			t.Errorf("a batch %s: %t, want %t", what, got, c.want)
		}
	}
}

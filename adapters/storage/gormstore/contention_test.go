package gormstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// A row that is held is waited for longer than anything in these tests takes.
var heldForLong = gormstore.Options{LockTimeout: holdPatience, StatementTimeout: 2 * holdPatience,
	IdleInTransactionTimeout: 4 * holdPatience}

// refusedAsBusy reports whether a change was refused since its row is held.
func refusedAsBusy(err error) bool {
	var told *domain.Error
	return errors.As(err, &told) && told.Code == domain.CodeServiceUnavailable && told.RetryAfter > 0
}

// crowd is more than there are connections, and all of it waits for one row.
const crowd = 40

// TestAWaiterForARowThatIsHeldKeepsNoConnectionFromOthers has another transaction
// hold a delivery, which many want to change.
func TestAWaiterForARowThatIsHeldKeepsNoConnectionFromOthers(t *testing.T) {
	bothWays(t, func(t *testing.T, direct, url string, o gormstore.Options) {
		o.LockTimeout, o.StatementTimeout, o.IdleInTransactionTimeout = heldForLong.LockTimeout, heldForLong.StatementTimeout,
			heldForLong.IdleInTransactionTimeout
		o.PoolSize = 4
		s := openWith(t, url, o)
		tenant, another := newTenant(t, s), newTenant(t, s)
		wanted := sample.BookingWrite(tenant)
		if err := s.Book(t.Context(), wanted); err != nil {
			t.Fatal(err)
		}
		holder := connect(t, direct)
		do(t, holder, "BEGIN")
		do(t, holder, "SELECT 1 FROM deliveries FOR UPDATE")
		var waiting sync.WaitGroup
		errs := make(chan error, crowd)
		for range crowd {
			waiting.Go(func() {
				errs <- s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					_, err := tx.Deliveries.Lock(ctx, tenant, wanted.Delivery.ID)
					return err
				})
			})
		}
		await(t, func() bool { return s.Queued() == crowd })
		for range 20 {
			served(t, s, another, true)
		}
		if len(errs) > 0 {
			t.Errorf("%d gave up meanwhile, the first with %v", len(errs), <-errs)
		}
		do(t, holder, "ROLLBACK")
		waiting.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Errorf("with the row free again: %v", err)
			}
		}
	})
}

// TestABookingThatIsHeldIsNotBatchedWithOthers has another transaction hold what the
// deliveries of one business point at.
func TestABookingThatIsHeldIsNotBatchedWithOthers(t *testing.T) {
	for name, hold := range map[string]string{
		"its application": "SELECT 1 FROM applications WHERE id = '$application' FOR UPDATE",
		"a recipient":     "SELECT 1 FROM recipients WHERE id = '$recipient' FOR UPDATE",
		"an address":      "SELECT 1 FROM recipient_addresses WHERE recipient_id = '$recipient' FOR UPDATE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newDatabase(t)
			s := openWith(t, url, heldForLong)
			tenant := newTenant(t, s)
			others := make([]domain.Tenant, 7)
			for i := range others {
				others[i] = newTenant(t, s)
			}
			known := sample.BookingWrite(tenant)
			if err := s.Book(t.Context(), known); err != nil {
				t.Fatal(err)
			}
			holder := connect(t, url)
			do(t, holder, "BEGIN")
			do(t, holder, ids(hold, "$application", tenant.ApplicationID, "$recipient", known.Recipient.ID))

			writes := []ports.BookingWrite{sample.BookingTo(tenant, known.Recipient, known.Address)}
			for _, n := range others {
				writes = append(writes, sample.BookingWrite(n))
			}
			ended := make(chan []error, 1)
			go func() { ended <- batched(t, s, others[0], writes, func() {}) }()
			await(t, func() bool { return s.Queued() == 1 })
			for _, n := range others {
				await(t, func() bool { return bookedBy(t, s, n) })
			}
			again := make(chan error, 1)
			before := s.Batched()
			go func() { again <- s.Book(t.Context(), sample.BookingTo(tenant, known.Recipient, known.Address)) }()
			await(t, func() bool { return s.Queued() == 2 })
			if s.Batched() != before {
				t.Error("the next one was batched again, although its row counts as held")
			}
			select {
			case <-ended:
				t.Error("what is held was not waited for")
			default:
			}
			do(t, holder, "ROLLBACK")
			for i, err := range append(<-ended, <-again) {
				if err != nil {
					t.Errorf("booking %d: %v", i, err)
				}
			}
		})
	}
}

// TestLongWhatABusinessBooksBesideItsHeldRowIsStored has one recipient of a business held.
func TestLongWhatABusinessBooksBesideItsHeldRowIsStored(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	o := heldForLong
	// It takes this long until a crowd is refused, which is as much as there are connections.
	o.LockTimeout, o.PoolSize = 4*time.Second, 4
	s := openWith(t, url, o)
	tenant := newTenant(t, s)
	known, other := sample.BookingWrite(tenant), sample.BookingWrite(tenant)
	for _, w := range []ports.BookingWrite{known, other} {
		if err := s.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	holder := connect(t, url)
	do(t, holder, "BEGIN")
	do(t, holder, ids("SELECT 1 FROM recipients WHERE id = '$recipient' FOR UPDATE", "$recipient", known.Recipient.ID))
	refused := make(chan error, o.PoolSize)
	for range o.PoolSize {
		go func() { refused <- s.Book(t.Context(), sample.BookingTo(tenant, known.Recipient, known.Address)) }()
	}
	await(t, func() bool { return s.Queued() == o.PoolSize })
	for range 3 {
		if err := s.Book(t.Context(), sample.BookingTo(tenant, other.Recipient, other.Address)); err != nil {
			t.Errorf("a booking to another recipient: %v", err)
		}
	}
	if len(refused) > 0 {
		t.Error("bookings to another recipient waited until one to the recipient that is held was refused")
	}
	for range o.PoolSize {
		// The time of a booking as a whole may be over first, on a slow machine.
		if err := <-refused; !refusedAsBusy(err) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a booking whose recipient is held: %v", err)
		}
	}
	do(t, holder, "ROLLBACK")
	if err := s.Book(t.Context(), sample.BookingTo(tenant, known.Recipient, known.Address)); err != nil {
		t.Errorf("with the recipient free again: %v", err)
	}
}

// ids puts IDs as the database has them into a statement.
func ids(statement string, pairs ...any) string {
	for i := 0; i < len(pairs); i += 2 {
		statement = strings.ReplaceAll(statement, pairs[i].(string), pairs[i+1].(domain.ID).Hex())
	}
	return statement
}

// bookedBy reports whether the database has a delivery of a tenant.
func bookedBy(t *testing.T, s *gormstore.Store, tenant domain.Tenant) bool {
	t.Helper()
	found, err := s.Read().Deliveries.List(t.Context(), tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return len(found) > 0
}

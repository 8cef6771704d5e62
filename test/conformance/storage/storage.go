// Package storage is the exam of ports.Database, a file for each noun.
package storage

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// OnNodes marks a storage that keeps businesses apart, on nodes that do not ask each
// other while one of them books: there a reference is unique in its business, and among all by its
// 60 random bits.
type OnNodes struct{ ports.Database }

// besides is a tenant whose references may not be those of another one: any other, or one of the
// same business where the storage is distributed.
func besides(t *testing.T, b ports.Database, tenant domain.Tenant) domain.Tenant {
	if _, distributed := b.(OnNodes); distributed {
		return live(tenant)
	}
	return newTenant(t, b)
}

// Examine examines an adapter of ports.Database. open returns an empty one, and
// closes it when its t ends.
func Examine(t *testing.T, open func(t *testing.T) ports.Database) {
	groups := []struct {
		name string
		run  func(t *testing.T, b ports.Database)
	}{
		{"tenancy", testTenancy},
		{"pepper", testPepper},
		{"check of the secret key", testKeyCheck},
		{"uses of keys", testKeyUses},
		{"recipients", testRecipients},
		{"addresses", testAddresses},
		{"pickup locations", testPickupLocations},
		{"deliveries", testDeliveries},
		{"delivery lists", testDeliveryLists},
		{"tracking", testTracking},
		{"idempotency", testIdempotency},
		{"bookings", testBookings},
		{"refused bookings", testRefusedBookings},
		{"bookings at once", testBookingsAtOnce},
		{"bulks", testBulks},
		{"leases of bulks", testBulkLeases},
		{"items of bulks", testBulkItems},
		{"bookings of bulks", testBulkBookings},
		{"races of bulks", testBulkRaces},
		{"simulations", testSimulations},
		{"due steps", testDueSteps},
		{"counts of simulations", testSimulationCounts},
		{"bookings with a simulation", testSimulatedBookings},
		{"races of simulations", testSimulationRaces},
		{"webhook endpoints", testWebhookEndpoints},
		{"fan-out", testWebhookFanout},
		{"webhook deliveries", testWebhookDeliveries},
		{"recovery of webhooks", testWebhookRecovery},
		{"feed", testFeed},
		{"pauses of sending", testSending},
		{"endpoints by their standing", testMachineryEndpoints},
		{"work", testMachineryWork},
		{"processes", testProcesses},
		{"state of the database", testDatabaseState},
		{"waiting webhooks", testWaitingWebhooks},
		{"leases of endpoints", testEndpointLeases},
		{"due webhooks", testDueWebhooks},
		{"outcomes of webhooks", testWebhookOutcomes},
		{"announcements", testAnnouncements},
		{"operators", testOperators},
		{"audit log", testAudit},
		{"audit log of a business", testAuditOfBusiness},
		{"persons", testPersons},
		{"memberships", testMemberships},
		{"links", testLinks},
		{"sessions", testSessions},
		{"views of customers", testViews},
		{"passkeys", testPasskeys},
		{"ceremonies", testCeremonies},
		{"connected identities", testIdentities},
		{"devices", testDevices},
		{"mails", testMails}, {"budgets of mails", testMailBudgets},
		{"mails about webhooks", testMailsOfWebhooks},
		{"cleaning of mails and devices", testCleaningOfMails},
		{"keys that expire", testExpiringKeys},
		{"summaries of webhooks", testWebhookSummaries},
		{"request log", testRequestLog},
		{"usage", testUsage},
		{"rotation of the request log", testRequestRotation},
		{"changes of businesses", testBusinessChanges},
		{"customers", testCustomers},
		{"many pickup locations", testManyPickupLocations},
		{"searches of the platform", testPlatform},
		{"counts of work", testWork},
		{"named deliveries", testNamedDeliveries},
		{"runs of moves", testMoveRuns},
		{"cleaning of runs of moves", testCleaningOfMoveRuns},
		{"feed of all", testFeedOfAll},
		{"owners", testOwners},
		{"readiness", testReadiness},
		{"reports", testReports},
		{"reports of history", testReportHistory},
		{"transactions", testTransactions},
		{"cleaning", testCleaning},
		{"upkeep", testUpkeep},
		{"state", testState},
		{"clock", testStoredClock},
		{"isolation", testIsolation},
		{"races of bookings", testBookingRaces},
		{"races of changes", testChangeRaces},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			g.run(t, open(t))
		})
	}
}

// inTx runs fn in a transaction that has to succeed.
func inTx(t testing.TB, b ports.Database, fn func(ctx context.Context, tx ports.Stores) error) {
	t.Helper()
	if err := b.InTx(t.Context(), fn); err != nil {
		t.Fatalf("transaction: %v", err)
	}
}

// store stores all of a kind in one transaction.
func store[T any](t testing.TB, b ports.Database, all []T, by func(ports.Stores) func(context.Context, T) error) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		for _, one := range all {
			if err := by(tx)(ctx, one); err != nil {
				return err
			}
		}
		return nil
	})
}

// newTenant stores a business with an application.
func newTenant(t testing.TB, b ports.Database) domain.Tenant {
	t.Helper()
	business := sample.Business()
	application := sample.Application(business.ID)
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
			return err
		}
		return tx.Tenancy.InsertApplication(ctx, application)
	})
	return domain.Tenant{BusinessID: business.ID, ApplicationID: application.ID, Environment: domain.Sandbox}
}

// newSibling stores another application of the tenant's business.
func newSibling(t testing.TB, b ports.Database, of domain.Tenant) domain.Tenant {
	t.Helper()
	application := sample.Application(of.BusinessID)
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		return tx.Tenancy.InsertApplication(ctx, application)
	})
	of.ApplicationID = application.ID
	return of
}

// live is the same tenant in the other environment.
func live(t domain.Tenant) domain.Tenant {
	t.Environment = domain.Live
	return t
}

// newRecipient stores a recipient with one address.
func newRecipient(t testing.TB, b ports.Database, tenant domain.Tenant) (domain.Recipient, domain.Address) {
	t.Helper()
	recipient := sample.Recipient()
	address := sample.Address(recipient.ID)
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		if _, _, err := tx.Recipients.Add(ctx, tenant, recipient); err != nil {
			return err
		}
		_, _, err := tx.Recipients.AddAddress(ctx, tenant, address)
		return err
	})
	return recipient, address
}

// book stores a booking that has to succeed.
func book(t testing.TB, b ports.Database, w ports.BookingWrite) *domain.Delivery {
	t.Helper()
	if err := bookInTime(t, b, w); err != nil {
		t.Fatalf("book: %v", err)
	}
	return w.Delivery
}

// bookInTime books again while the storage answers that the booking has waited for too long,
// as on a busy machine.
func bookInTime(t testing.TB, b ports.Database, w ports.BookingWrite) (err error) {
	t.Helper()
	eventually(t, "a booking does not wait for too long", func() bool {
		err = b.Book(t.Context(), w)
		return !errors.Is(err, ports.ErrBookingLate)
	})
	return err
}

// must unwraps a result that has to be there.
func must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// nth is an element of what was read; the test ends where there are fewer.
func nth[T any](t testing.TB, all []T, i int) T {
	t.Helper()
	if len(all) <= i {
		t.Fatalf("%d elements, want at least %d: %+v", len(all), i+1, all)
	}
	return all[i]
}

func wantError(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}

// wantEqual takes an empty list for none: no port tells them apart.
func wantEqual[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

func wantDelivery(t testing.TB, what string, got, want *domain.Delivery) {
	t.Helper()
	wantEqual(t, what, got.Booking, want.Booking)
	wantEqual(t, what+": lifecycle", got.Lifecycle(), want.Lifecycle())
}

// wantFilled fails where a sample leaves a field zero: a round trip would not
// notice when an adapter forgets it.
func wantFilled(t testing.TB, value any, except ...string) {
	t.Helper()
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		for _, e := range except {
			if path == e {
				return
			}
		}
		if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() {
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
			return
		}
		if v.IsZero() {
			t.Errorf("the sample leaves %s zero; fill it, so that a forgotten column shows", path)
		}
	}
	walk(reflect.TypeOf(value).Name(), reflect.ValueOf(value))
}

// together runs n functions that start at the same moment, and returns their errors.
func together(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			errs[i] = fn(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return errs
}

// wantOneWinner fails unless exactly one error is nil and all others are want.
func wantOneWinner(t testing.TB, errs []error, want error) {
	t.Helper()
	wantWinners(t, errs, 1, want)
}

func wantWinners(t testing.TB, errs []error, winners int, want error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, want):
			t.Errorf("a loser was told %v, want %v", err, want)
		}
	}
	if won != winners {
		t.Errorf("%d of %d succeeded, want %d", won, len(errs), winners)
	}
}

// pages walks a whole list with the given limit and checks the promise about
// Limit+1 on the way.
func pages[T any](t testing.TB, limit int, list func(domain.PageRequest) ([]T, error), position func(T) domain.Position) []T {
	t.Helper()
	var found []T
	request := domain.PageRequest{Limit: limit}
	for range 1000 {
		records, err := list(request)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) <= limit {
			return append(found, records...)
		}
		if len(records) > limit+1 {
			t.Fatalf("a page of %d has %d records, want at most one more", limit, len(records))
		}
		found = append(found, records[:limit]...)
		last := position(records[limit-1])
		request.After = &last
	}
	t.Fatal("the list has no end")
	return nil
}

// eventually polls until done, and fails after a while.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

package deliveries_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/golang/mock/gomock"

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

// meddler acts just before a booking, as another request would.
type meddler struct {
	ports.Bookings
	before []func() // one per call of Book
	calls  int
}

func (m *meddler) Book(ctx context.Context, w ports.BookingWrite) error {
	if m.calls++; m.calls <= len(m.before) {
		m.before[m.calls-1]()
	}
	return m.Bookings.Book(ctx, w)
}

func TestARecipientThatAppearsMeanwhileIsUsed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var ama domain.Recipient
	var home domain.Address
	m := &meddler{Bookings: s.Store, before: []func(){
		func() { ama = s.newRecipient(t, s.tenant, "Ama Mensah", "+233201234567") },
		func() { home = s.newAddress(t, s.tenant, ama, "4 castle road") },
	}}
	s.bookings = m
	s.build()
	d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil))
	if m.calls != 3 || d.Recipient.ID != ama.ID || d.Recipient.Name != "Ama" || d.Dropoff.ID != home.ID {
		t.Errorf("after %d tries: recipient %+v, dropoff %+v", m.calls, d.Recipient, d.Dropoff)
	}
	if len(s.recipients(t, s.tenant)) != 1 || len(s.addresses(t, s.tenant, ama.ID)) != 1 || len(s.all(t, s.tenant)) != 1 {
		t.Error("something is there twice")
	}
}

func TestTheLastFreeAddressThatIsTakenByTheSameAddressIsUsed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.newRecipient(t, s.tenant, "Ama", "+233201234567")
	for range domain.MaxAddressesPerRecipient - 1 {
		s.newAddress(t, s.tenant, ama, "Street "+string(s.IDs.ID("")))
	}
	var home domain.Address
	s.bookings = &meddler{Bookings: s.Store, before: []func(){func() { home = s.newAddress(t, s.tenant, ama, "4 Castle Road") }}}
	s.build()
	if d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil)); d.Dropoff.ID != home.ID {
		t.Errorf("dropoff %+v", d.Dropoff)
	}
}

func TestAReferenceThatClashesIsDrawnAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil))
	m := &meddler{Bookings: s.Store}
	s.bookings = m
	s.buildWith(&clashing{IDs: s.IDs, clash: first.Reference, times: 3})
	d := s.mustCreate(t, stage.Key(s.tenant, "order-0002", 2), order(nil))
	if m.calls != 4 || d.Reference == first.Reference {
		t.Errorf("reference %s after %d tries", d.Reference, m.calls)
	}
}

type clashing struct {
	*stage.IDs
	clash domain.Reference
	times int
}

func (c *clashing) Reference() domain.Reference {
	if c.times--; c.times >= 0 {
		return c.clash
	}
	return c.IDs.Reference()
}

func TestABookingThatNeverSucceedsIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, reason := range []error{ports.ErrReferenceTaken, ports.ErrDirectoryChanged} {
		t.Run(reason.Error(), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			bookings := mocks.NewMockBookings(gomock.NewController(t))
			bookings.EXPECT().Book(gomock.Any(), gomock.Any()).Return(reason).Times(5)
			s.bookings = bookings
			s.build()
			if _, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), order(nil)); !errors.Is(err, reason) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnExternalIDThatIsTakenMeanwhileIsAConflict(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	named := order(func(o *deliveries.Order) { o.ExternalID = "order-7" })
	other := newOrderOfAnother(t, s, "another key", named)
	s.bookings = &meddler{Bookings: s.Store, before: []func(){other.send}}
	s.build()
	_, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), named)
	e := wantCode(t, err, "EXTERNAL_ID_CONFLICT")
	all := s.all(t, s.tenant)
	if len(all) != 1 || e.Details["external_id"] != "order-7" || e.Details["delivery_id"] != string(all[0].ID) {
		t.Errorf("%d deliveries, details %v", len(all), e.Details)
	}
	// The key is free for a corrected order.
	s.mustCreate(t, stage.Key(s.tenant, "order-0001", 2), order(nil))
}

// another sends one order through its own use cases, as another process would.
type another struct{ send func() }

func newOrderOfAnother(t *testing.T, s *scene, k string, o deliveries.Order) another {
	t.Helper()
	twin := *s
	twin.storage, twin.bookings, twin.price = s.Store, s.Store, newPrice
	twin.build()
	return another{send: func() {
		if _, err := twin.create(context.Background(), stage.Key(s.tenant, k, 1), o); err != nil {
			t.Error(err)
		}
	}}
}

func TestAnOwnFirstTryNeverShowsAsAConflict(t *testing.T) {
	t.Parallel()
	named := order(func(o *deliveries.Order) { o.ExternalID = "order-7" })
	t.Run("when it commits while the second is prepared", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		first := newOrderOfAnother(t, s, "order-0001", named)
		s.serves = func(domain.Coordinates) bool { // the last step before the external_id is looked up
			if len(s.all(t, s.tenant)) == 0 {
				first.send()
			}
			return true
		}
		s.build()
		got, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), named)
		if err != nil || !got.Replayed || len(s.all(t, s.tenant)) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("when it commits just before the second books", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		first := newOrderOfAnother(t, s, "order-0001", named)
		s.bookings = &meddler{Bookings: s.Store, before: []func(){first.send}}
		s.build()
		got, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), named)
		if err != nil || !got.Replayed || len(s.all(t, s.tenant)) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("and a stranger's is one of the key", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		first := newOrderOfAnother(t, s, "order-0001", named)
		s.bookings = &meddler{Bookings: s.Store, before: []func(){first.send}}
		s.build()
		_, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 2), named)
		wantCode(t, err, "IDEMPOTENCY_CONFLICT")
	})
}

func TestOfManyEqualRequestsAtOnceOneCreates(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const clients = 12
	results, errs := make([]idempotency.Result, clients), make([]error, clients)
	var all sync.WaitGroup
	for i := range clients {
		twin := *s // a process of its own: only the key record decides
		twin.build()
		all.Go(func() {
			results[i], errs[i] = twin.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), order(func(o *deliveries.Order) {
				o.ExternalID = "order-7"
			}))
		})
	}
	all.Wait()
	created := 0
	for i := range clients {
		if errs[i] != nil {
			t.Fatalf("client %d: %v", i, errs[i])
		}
		if !results[i].Replayed {
			created++
		}
		if !stage.SameAnswer(results[i], results[0]) {
			t.Errorf("client %d got\n%s\nclient 0\n%s", i, results[i].Answer.Body, results[0].Answer.Body)
		}
	}
	if created != 1 || len(s.all(t, s.tenant)) != 1 || len(s.recipients(t, s.tenant)) != 1 {
		t.Errorf("%d created, %d stored", created, len(s.all(t, s.tenant)))
	}
}

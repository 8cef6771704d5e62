package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

// problem is an entry of BULK_VALIDATION_FAILED without its message.
type problem struct {
	index int
	code  string
	field string
}

// problemsOf lists the entries of a refusal. Every entry must have a message.
func problemsOf(t *testing.T, err error) []problem {
	t.Helper()
	e := wantCode(t, err, "BULK_VALIDATION_FAILED")
	var got []problem
	for _, entry := range e.Details["errors"].([]map[string]any) {
		field, _ := entry["field"].(string)
		got = append(got, problem{entry["index"].(int), entry["code"].(string), field})
		if entry["message"].(string) == "" {
			t.Errorf("%v has no message", entry)
		}
	}
	return got
}

// untouched fails unless nothing at all was created or remembered.
func (s *scene) untouched(t *testing.T) {
	t.Helper()
	if r, there := s.record(t); there {
		t.Errorf("the key is used: %+v", r)
	}
	people, err := s.Store.Read().Recipients.List(context.Background(), s.tenant, domain.RecipientFilter{}, domain.PageRequest{Limit: 10})
	if n := len(s.stored(t)); err != nil || n != 0 || len(people) != 0 {
		t.Errorf("%d deliveries, %d recipients, %v", n, len(people), err)
	}
}

func TestAsLongAsAnyItemIsWrongNothingIsCreatedAndEveryProblemIsTold(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.price = func(context.Context, domain.Trip) (domain.Quote, error) {
		t.Error("a price was asked")
		return domain.Quote{}, nil
	}
	outside := domain.Coordinates{Latitude: 5.001, Longitude: -0.1} // item 1's
	s.serves = func(c domain.Coordinates) bool { return c != outside }
	off := s.newLocation(t, func(p *domain.PickupLocation) { p.Active = false })
	half := s.newLocation(t, func(p *domain.PickupLocation) { p.Contact = "" })

	items := orders(12)
	set := func(i int, change func(o *deliveries.Order)) { change(&items[i].Order) }
	set(0, func(o *deliveries.Order) { o.ExternalID = "same" })
	// 1 is outside the service area.
	set(2, func(o *deliveries.Order) { o.Pickup, o.PickupLocationID = nil, new(string(off.ID)) })
	set(3, func(o *deliveries.Order) {
		o.Pickup, o.PickupLocationID, o.Payment.Type = nil, new(string(half.ID)), domain.CashOnDelivery
	})
	set(4, func(o *deliveries.Order) { o.RecipientID, o.Pickup, o.ExternalID = new("rcp_1"), nil, "same" })
	items[5] = bulk.Item{Problems: []domain.FieldError{{Code: domain.FieldInvalidType, Message: "must be an object"}}}
	set(6, func(o *deliveries.Order) {
		o.Recipient, o.RecipientID, o.RecipientAddressID = nil, new("rcp_1"), new("adr_1")
	})
	items[7].Problems = []domain.FieldError{
		{Field: "vehicle_type", Code: domain.FieldRequired, Message: "is required"},
		{Field: "payment.goods_value", Code: domain.FieldInvalidType, Message: "must be a number"},
	}
	set(7, func(o *deliveries.Order) { // rules about the amount are skipped, those about the place are not
		o.Payment.Type, o.Pickup, o.PickupLocationID = domain.CashOnDelivery, nil, new("pkp_1")
	})
	set(9, func(o *deliveries.Order) { o.ExternalID, o.Payment.Type = "same", domain.CashOnDelivery })
	// 8, 10 and 11 are valid.

	_, err := s.start("a").send(t.Context(), s.ask, items)
	want := []problem{
		{1, "VALIDATION_ERROR", "recipient.address"},
		{2, "PICKUP_LOCATION_INACTIVE", ""},
		{3, "COD_GOODS_VALUE_REQUIRED", ""}, {3, "PICKUP_LOCATION_INCOMPLETE", ""},
		{4, "RECIPIENT_SHAPE_CONFLICT", ""}, {4, "PICKUP_SHAPE_CONFLICT", ""}, {4, "DUPLICATE_EXTERNAL_ID", "external_id"},
		{5, "VALIDATION_ERROR", ""},
		{6, "NOT_FOUND", ""},
		{7, "VALIDATION_ERROR", "vehicle_type"}, {7, "VALIDATION_ERROR", "payment.goods_value"}, {7, "PICKUP_LOCATION_NOT_FOUND", ""},
		{9, "COD_GOODS_VALUE_REQUIRED", ""}, {9, "DUPLICATE_EXTERNAL_ID", "external_id"},
	}
	if got := problemsOf(t, err); !slices.Equal(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	if e := wantCode(t, err, "BULK_VALIDATION_FAILED"); e.Message != "14 problems in 8 of 12 items; nothing was created." {
		t.Errorf("message %q", e.Message)
	}
	s.untouched(t)
}

func TestACorrectedBulkMayUseTheKey(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a, items := s.start("a"), orders(3, named)
	items[2].Order.ExternalID = "order-0"
	_, err := a.send(t.Context(), s.ask, items)
	problemsOf(t, err)
	got, err := a.send(t.Context(), stage.Key(s.tenant, s.ask.Key, 2), orders(3, named))
	s.wantOutcome(t, got, err, 3, 0)
}

func TestAFailureOfOursIsNoProblemOfAnItem(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	broken, ctrl := errors.New("the disk is on fire"), gomock.NewController(t)
	storage, people := mocks.NewMockStorage(ctrl), mocks.NewMockRecipientReader(ctrl)
	readers := s.Store.Read()
	readers.Recipients = people
	storage.EXPECT().Read().Return(readers).AnyTimes()
	people.EXPECT().FindByPhone(gomock.Any(), s.tenant, gomock.Any()).Return(domain.Recipient{}, broken).AnyTimes()
	s.storage = storage // no transaction is expected
	items := orders(3)
	items[0].Order.Payment.Type = domain.CashOnDelivery // a problem, too
	if _, err := s.start("a").send(t.Context(), s.ask, items); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	s.untouched(t)
}

func TestABulkIsNotToldToBeWrongWhereItsOwnFirstTryWasRight(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	place := s.newLocation(t, nil)
	items := orders(2, func(_ int, o *deliveries.Order) { o.Pickup, o.PickupLocationID = nil, new(string(place.ID)) })
	first, second := s.start("first"), s.start("second")
	var answered bool
	// The first create succeeds while the form of the second is read, and then the place is closed.
	got, err := second.Create(t.Context(), s.ask, atOnce, func() ([]bulk.Item, error) {
		got, err := first.send(t.Context(), s.ask, items)
		s.wantOutcome(t, got, err, 2, 0)
		s.close(t, place)
		answered = true
		return items, nil
	}, second.rendering())
	s.wantOutcome(t, got, err, 2, 0)
	if !answered || !got.Replayed {
		t.Errorf("replayed %t", got.Replayed)
	}
}

func TestItemsAreCheckedEightAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		var now, most atomic.Int32
		s.serves = func(c domain.Coordinates) bool {
			if c == depot.Coordinates {
				return true
			}
			atTheMost(&most, now.Add(1))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return false
		}
		start := time.Now()
		_, err := s.start("a").send(t.Context(), s.ask, orders(20))
		if got := problemsOf(t, err); len(got) != 20 || most.Load() != 8 || time.Since(start) != 3*time.Second {
			t.Errorf("%d problems, %d at a time, in %s", len(got), most.Load(), time.Since(start))
		}
	})
}

func TestAPanicWhileItemsAreCheckedIsAnError(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.normalizer = panicking{at: "7 Castle Road"}
	items := orders(10, func(i int, o *deliveries.Order) { o.Recipient.Address = fmt.Sprint(i, " Castle Road") })
	_, err := s.start("a").send(t.Context(), s.ask, items)
	if e := wantCode(t, err, "INTERNAL_SERVER_ERROR"); e.Kind != domain.KindInternal {
		t.Errorf("kind %d", e.Kind)
	}
	s.untouched(t)
	s.normalizer = stage.FoldCase{}
	got, err := s.start("b").send(t.Context(), s.ask, items)
	s.wantOutcome(t, got, err, 10, 0)
}

// panicking is a normalizer that panics on one address.
type panicking struct {
	stage.FoldCase
	at string
}

func (p panicking) MatchKey(address string) string {
	if address == p.at {
		panic("cannot bear " + address)
	}
	return p.FoldCase.MatchKey(address)
}

func atTheMost(most *atomic.Int32, n int32) {
	for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
	}
}

func (s *scene) newLocation(t *testing.T, change func(*domain.PickupLocation)) domain.PickupLocation {
	t.Helper()
	now := s.Clock.Now()
	p := domain.PickupLocation{
		ID: s.IDs.ID(domain.PrefixPickupLocation), Name: "Osu", Contact: "+233302000002", Address: "12 Oxford Street",
		Coordinates: &domain.Coordinates{Latitude: 5.6, Longitude: -0.18}, Active: true, CreatedAt: now, UpdatedAt: now,
	}
	if change != nil {
		change(&p)
	}
	s.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.PickupLocations.Insert(ctx, s.tenant, p) })
	return p
}

// close disables a pickup location.
func (s *scene) close(t *testing.T, p domain.PickupLocation) {
	t.Helper()
	p.Active = false
	s.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.PickupLocations.Update(ctx, s.tenant, p) })
}

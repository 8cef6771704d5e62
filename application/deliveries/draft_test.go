package deliveries_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/golang/mock/gomock"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
)

// mustDraft drafts and prices a valid order.
func (s *scene) mustDraft(t *testing.T, o *deliveries.Order) *deliveries.Draft {
	t.Helper()
	draft, problems, err := s.Draft(t.Context(), s.tenant, o)
	if err != nil || len(problems) > 0 {
		t.Fatalf("problems %v, error %v", problems, err)
	}
	if err := s.Price(t.Context(), draft); err != nil {
		t.Fatal(err)
	}
	return draft
}

// marked makes a booking of a draft the first item of a bulk.
func marked(w *ports.BookingWrite) {
	w.Bulk = &ports.BulkItemMark{Item: domain.BulkItem{Result: []byte(w.Delivery.ID)}}
}

func TestADraftWritesNothingAndAsksNoPrice(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	storage := mocks.NewMockStorage(gomock.NewController(t)) // InTx is not expected
	storage.EXPECT().Read().Return(s.Store.Read()).AnyTimes()
	s.storage = storage
	s.price = func(context.Context, domain.Trip) (domain.Quote, error) {
		t.Error("a price was asked")
		return domain.Quote{}, nil
	}
	s.build()
	for _, o := range []deliveries.Order{order(nil), order(func(o *deliveries.Order) { o.Pickup = nil })} {
		if _, _, err := s.Draft(t.Context(), s.tenant, &o); err != nil {
			t.Error(err)
		}
	}
	if n := len(s.recipients(t, s.tenant)); n != 0 {
		t.Errorf("%d recipients", n)
	}
}

func TestAFailureOfOursEndsADraft(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is on fire")
	for name, failure := range map[string]error{
		"the storage":                    broken,
		"an internal error":              domain.Internal(broken),
		"a service that does not answer": domain.QuoteUnavailable(broken),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ctrl := newScene(t), gomock.NewController(t)
			storage, people := mocks.NewMockStorage(ctrl), mocks.NewMockRecipientReader(ctrl)
			readers := ports.Readers{Recipients: people} // looking up a pickup location would panic
			storage.EXPECT().Read().Return(readers).AnyTimes()
			people.EXPECT().FindByPhone(gomock.Any(), s.tenant, gomock.Any()).Return(domain.Recipient{}, failure)
			s.storage = storage
			s.serves = func(domain.Coordinates) bool { t.Error("the places were judged"); return true }
			s.build()
			o := order(func(o *deliveries.Order) {
				o.Pickup, o.PickupLocationID = nil, new(string(s.IDs.ID(domain.PrefixPickupLocation)))
			})
			if _, _, err := s.Draft(t.Context(), s.tenant, &o); !errors.Is(err, failure) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAPlaceIsJudgedThoughTheOtherIsNotKnown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.serves = func(domain.Coordinates) bool { return false }
	s.build()
	for name, c := range map[string]struct {
		change  func(*deliveries.Order)
		unsound []domain.FieldError
		codes   []string
		outside []string
	}{
		"no pickup": {
			change: func(o *deliveries.Order) { o.Pickup = nil },
			codes:  []string{"PICKUP_SHAPE_CONFLICT", "VALIDATION_ERROR"}, outside: []string{"recipient.address"},
		},
		"a pickup that cannot be found": {
			change: func(o *deliveries.Order) { o.Pickup, o.PickupLocationID = nil, new("pkp_1") },
			codes:  []string{"PICKUP_LOCATION_NOT_FOUND", "VALIDATION_ERROR"}, outside: []string{"recipient.address"},
		},
		"no recipient": {
			change: func(o *deliveries.Order) { o.Recipient = nil },
			codes:  []string{"RECIPIENT_SHAPE_CONFLICT", "VALIDATION_ERROR"}, outside: []string{"pickup"},
		},
		"a recipient with an unsound field": {
			unsound: []domain.FieldError{{Field: "recipient.address.latitude"}},
			codes:   []string{"VALIDATION_ERROR"}, outside: []string{"pickup"},
		},
		"a pickup with an unsound field": {
			unsound: []domain.FieldError{{Field: "pickup"}},
			codes:   []string{"VALIDATION_ERROR"}, outside: []string{"recipient.address"},
		},
		"neither": {
			change: func(o *deliveries.Order) { o.Recipient, o.Pickup = nil, nil },
			codes:  []string{"RECIPIENT_SHAPE_CONFLICT", "PICKUP_SHAPE_CONFLICT"},
		},
		// A field that only starts with the same letters has no dependent rules.
		"an unsound field with a like name": {
			unsound: []domain.FieldError{{Field: "pickup_window"}, {Field: "vehicle_type"}},
			codes:   []string{"VALIDATION_ERROR"}, outside: []string{"pickup", "recipient.address"},
		},
	} {
		o := order(c.change)
		_, problems, err := s.Draft(t.Context(), s.tenant, &o, c.unsound...)
		var codes, outside []string
		for _, p := range problems {
			codes = append(codes, p.Code)
			for _, f := range p.Fields {
				outside = append(outside, f.Field)
			}
		}
		if err != nil || !slices.Equal(codes, c.codes) || !slices.Equal(outside, c.outside) {
			t.Errorf("%s: told %v, outside %v, error %v; want %v, %v", name, codes, outside, err, c.codes, c.outside)
		}
	}
}

func TestEveryBookingOfADraftIsADeliveryOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var writes []ports.BookingWrite
	bookings := mocks.NewMockBookings(gomock.NewController(t))
	ends := []error{ports.ErrReferenceTaken, ports.ErrReferenceTaken, nil, nil}
	bookings.EXPECT().Book(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, w ports.BookingWrite) error {
		writes = append(writes, w)
		return ends[len(writes)-1]
	}).Times(len(ends))
	s.bookings = bookings
	s.build()
	draft := s.mustDraft(t, new(order(nil)))
	for range 2 {
		if err := s.Book(t.Context(), draft, marked); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for i, w := range writes {
		for _, own := range []string{string(w.Delivery.ID), string(w.Delivery.Reference), string(w.Event.ID)} {
			if seen[own] {
				t.Errorf("try %d has %s of an earlier one", i, own)
			}
			seen[own] = true
		}
		// The callback got the delivery that is stored with it.
		if string(w.Bulk.Item.Result) != string(w.Delivery.ID) || w.Event.DeliveryID != w.Delivery.ID || w.Key.Key != "" {
			t.Errorf("try %d: %+v", i, w)
		}
		if w.Recipient.ID != writes[0].Recipient.ID || w.Delivery.Recipient.ID != w.Recipient.ID {
			t.Errorf("try %d is to another recipient", i)
		}
	}
}

func TestWhatBookingCannotMendIsToldAtOnce(t *testing.T) {
	t.Parallel()
	for _, told := range []error{
		ports.ErrKeyTaken, ports.ErrKeyBusy, ports.ErrLeaseLost, ports.ErrItemDone, ports.ErrOutcomeUnknown,
		domain.ErrNotFound, errors.New("the disk is on fire"),
	} {
		t.Run(told.Error(), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			bookings := mocks.NewMockBookings(gomock.NewController(t))
			bookings.EXPECT().Book(gomock.Any(), gomock.Any()).Return(fmt.Errorf("book: %w", told))
			s.bookings = bookings
			s.build()
			remembered := 0
			err := s.Book(t.Context(), s.mustDraft(t, new(order(nil))), func(*ports.BookingWrite) { remembered++ })
			if !errors.Is(err, told) || remembered != 1 {
				t.Errorf("%v after %d tries", err, remembered)
			}
		})
	}
}

func TestAnExternalIDThatIsTakenByNoDeliveryIsAnInternalError(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	bookings := mocks.NewMockBookings(gomock.NewController(t))
	bookings.EXPECT().Book(gomock.Any(), gomock.Any()).Return(ports.ErrExternalIDTaken)
	s.bookings = bookings
	s.build()
	err := s.Book(t.Context(), s.mustDraft(t, new(order(func(o *deliveries.Order) { o.ExternalID = "order-7" }))), marked)
	if e := wantCode(t, err, "INTERNAL_SERVER_ERROR"); !errors.Is(e, ports.ErrExternalIDTaken) {
		t.Errorf("got %v", e)
	}
}

func TestADirectoryThatCannotBeReadAgainEndsABooking(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is on fire")
	s, ctrl := newScene(t), gomock.NewController(t)
	storage, people, bookings := mocks.NewMockStorage(ctrl), mocks.NewMockRecipientReader(ctrl), mocks.NewMockBookings(ctrl)
	storage.EXPECT().Read().Return(ports.Readers{Recipients: people}).AnyTimes()
	gomock.InOrder(
		people.EXPECT().FindByPhone(gomock.Any(), s.tenant, gomock.Any()).Return(domain.Recipient{}, domain.ErrNotFound),
		bookings.EXPECT().Book(gomock.Any(), gomock.Any()).Return(ports.ErrDirectoryChanged),
		people.EXPECT().FindByPhone(gomock.Any(), s.tenant, gomock.Any()).Return(domain.Recipient{}, broken),
	)
	s.storage, s.bookings = storage, bookings
	s.build()
	if err := s.Book(t.Context(), s.mustDraft(t, new(order(nil))), marked); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestAPriceIsNotAskedForALostCause(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
		t.Error("a price was asked")
		return newPrice(ctx, trip)
	}
	named := order(func(o *deliveries.Order) { o.ExternalID = "order-7" })
	newOrderOfAnother(t, s, "another key", named).send()
	s.build()
	draft, _, err := s.Draft(t.Context(), s.tenant, &named)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.Price(t.Context(), draft), "EXTERNAL_ID_CONFLICT")
}

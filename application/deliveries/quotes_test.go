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

var (
	tenant      = domain.Tenant{BusinessID: "biz_1", ApplicationID: "app_1", Environment: domain.Live}
	quotesAccra = domain.Coordinates{Latitude: 5.6, Longitude: -0.18}
	quotesTema  = domain.Coordinates{Latitude: 5.67, Longitude: -0.01}
	lagos       = domain.Coordinates{Latitude: 6.5, Longitude: 3.4}
	priced      = domain.Quote{Currency: "GHS", Fee: &domain.Money{Minor: 2450, Currency: "GHS"}}
	location    = domain.MakeID(domain.PrefixPickupLocation, [16]byte{1})

	errBroken = errors.New("the disk is on fire")
)

type quotesScene struct {
	*deliveries.Quotes
	places  *mocks.MockPickupLocationReader
	pricing *mocks.MockPricing
}

// quotesNewScene serves everything but Lagos. Nothing is priced unless expected.
func quotesNewScene(t *testing.T) *quotesScene {
	ctrl := gomock.NewController(t)
	storage, area := mocks.NewMockStorage(ctrl), mocks.NewMockServiceArea(ctrl)
	s := &quotesScene{places: mocks.NewMockPickupLocationReader(ctrl), pricing: mocks.NewMockPricing(ctrl)}
	storage.EXPECT().Read().Return(ports.Readers{PickupLocations: s.places}).AnyTimes()
	area.EXPECT().Contains(gomock.Any()).DoAndReturn(func(c domain.Coordinates) bool { return c != lagos }).AnyTimes()
	s.Quotes = deliveries.NewQuotes(storage, s.pricing, area)
	return s
}

func quotesWantCode(t *testing.T, err error, code string, fields ...string) {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	var named []string
	for _, f := range e.Fields {
		named = append(named, f.Field)
	}
	if !slices.Equal(named, fields) {
		t.Errorf("fields %v, want %v", named, fields)
	}
}

func TestAQuoteIsTheAnswerOfThePricing(t *testing.T) {
	t.Parallel()
	s := quotesNewScene(t)
	trip := domain.Trip{BusinessID: tenant.BusinessID, Environment: domain.Live, VehicleType: domain.Van, Pickup: quotesAccra, Dropoff: quotesTema}
	s.pricing.EXPECT().Price(gomock.Any(), trip).Return(priced, nil)
	got, err := s.Quote(t.Context(), tenant, deliveries.QuoteQuestion{Pickup: &quotesAccra, Dropoff: quotesTema, VehicleType: domain.Van})
	if err != nil || got != priced {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAQuoteFromASavedLocationUsesItsCoordinates(t *testing.T) {
	t.Parallel()
	s := quotesNewScene(t)
	s.places.EXPECT().Get(gomock.Any(), tenant, location).
		Return(domain.PickupLocation{ID: location, Contact: "+233302000001", Coordinates: &quotesAccra, Active: true}, nil)
	trip := domain.Trip{BusinessID: tenant.BusinessID, Environment: domain.Live, VehicleType: domain.Bike, Pickup: quotesAccra, Dropoff: quotesTema}
	s.pricing.EXPECT().Price(gomock.Any(), trip).Return(priced, nil)
	if got, err := s.Quote(t.Context(), tenant, deliveries.QuoteQuestion{PickupLocationID: new(string(location)), Dropoff: quotesTema,
		VehicleType: domain.Bike}); err != nil || got != priced {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAQuestionNamesItsPickupInOneWay(t *testing.T) {
	t.Parallel()
	for _, q := range []deliveries.QuoteQuestion{{Dropoff: lagos}, {Pickup: &lagos, PickupLocationID: new("pkp_1"), Dropoff: lagos}} {
		_, err := quotesNewScene(t).Quote(t.Context(), tenant, q)
		quotesWantCode(t, err, "PICKUP_SHAPE_CONFLICT")
	}
}

func TestASavedLocationThatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	found := func(p domain.PickupLocation, err error) func(*quotesScene) {
		return func(s *quotesScene) { s.places.EXPECT().Get(gomock.Any(), tenant, location).Return(p, err) }
	}
	untouched := func(*quotesScene) {} // the storage is not called
	for name, c := range map[string]struct {
		sent   string
		expect func(*quotesScene)
		code   string
	}{
		"nothing":         {"", untouched, "PICKUP_LOCATION_NOT_FOUND"},
		"malformed":       {"osu", untouched, "PICKUP_LOCATION_NOT_FOUND"},
		"of another kind": {string(domain.MakeID(domain.PrefixAddress, [16]byte{1})), untouched, "PICKUP_LOCATION_NOT_FOUND"},
		"unknown": {string(location), found(domain.PickupLocation{}, fmt.Errorf("reading: %w", domain.ErrNotFound)),
			"PICKUP_LOCATION_NOT_FOUND"},
		"switched off": {string(location), found(domain.PickupLocation{Contact: "+233302000001", Coordinates: &quotesAccra}, nil),
			"PICKUP_LOCATION_INACTIVE"},
		"incomplete": {string(location), found(domain.PickupLocation{Active: true, Coordinates: &quotesAccra}, nil), "PICKUP_LOCATION_INCOMPLETE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := quotesNewScene(t)
			c.expect(s)
			_, err := s.Quote(t.Context(), tenant, deliveries.QuoteQuestion{PickupLocationID: &c.sent, Dropoff: lagos})
			quotesWantCode(t, err, c.code)
		})
	}
}

func TestAStorageThatFailsIsNotBlamedOnTheCaller(t *testing.T) {
	t.Parallel()
	s := quotesNewScene(t)
	s.places.EXPECT().Get(gomock.Any(), tenant, location).Return(domain.PickupLocation{}, errBroken)
	if _, err := s.Quote(t.Context(), tenant, deliveries.QuoteQuestion{PickupLocationID: new(string(location)), Dropoff: quotesTema}); !errors.Is(err,
		errBroken) {
		t.Errorf("got %v", err)
	}
}

func TestEveryEndOutsideTheAreaIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pickup, dropoff domain.Coordinates
		saved           bool
		fields          []string
	}{
		"the pickup":       {lagos, quotesAccra, false, []string{"pickup"}},
		"the dropoff":      {quotesAccra, lagos, false, []string{"dropoff"}},
		"both":             {lagos, lagos, false, []string{"pickup", "dropoff"}},
		"a saved location": {lagos, quotesAccra, true, []string{"pickup_location_id"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := quotesNewScene(t)
			q := deliveries.QuoteQuestion{Pickup: &c.pickup, Dropoff: c.dropoff}
			if c.saved {
				q.Pickup, q.PickupLocationID = nil, new(string(location))
				s.places.EXPECT().Get(gomock.Any(), tenant, location).
					Return(domain.PickupLocation{Contact: "+233302000001", Coordinates: &c.pickup, Active: true}, nil)
			}
			_, err := s.Quote(t.Context(), tenant, q)
			quotesWantCode(t, err, "VALIDATION_ERROR", c.fields...)
		})
	}
}

func TestWhatThePricingSaysIsToldInTheWordsOfTheRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		code   string
		fields []string
	}{
		"the pickup is outside":  {&ports.OutsideServiceAreaError{End: "pickup"}, "VALIDATION_ERROR", []string{"pickup"}},
		"the dropoff is outside": {&ports.OutsideServiceAreaError{End: "dropoff"}, "VALIDATION_ERROR", []string{"dropoff"}},
		"wrapped": {fmt.Errorf("pricing: %w", &ports.OutsideServiceAreaError{End: "pickup"}), "VALIDATION_ERROR",
			[]string{"pickup"}},
		"no price": {domain.QuoteUnavailable(errBroken), "QUOTE_UNAVAILABLE", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := quotesNewScene(t)
			// A price returned with an error is ignored.
			s.pricing.EXPECT().Price(gomock.Any(), gomock.Any()).DoAndReturn(
				func(context.Context, domain.Trip) (domain.Quote, error) { return domain.Quote{}, c.err })
			got, err := s.Quote(t.Context(), tenant, deliveries.QuoteQuestion{Pickup: &quotesAccra, Dropoff: quotesTema})
			quotesWantCode(t, err, c.code, c.fields...)
			if got.Fee != nil {
				t.Errorf("a fee was made up: %+v", got)
			}
		})
	}
}

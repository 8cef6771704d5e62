package deliveries_test

import (
	"context"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

func TestACreatedDeliveryIsWhatWasOrdered(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	goods := &domain.Money{Minor: 12000, Currency: "GHS"}
	d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(func(o *deliveries.Order) {
		o.ExternalID, o.Payment = "order-7", domain.Payment{Type: domain.CashOnDelivery, GoodsValue: goods}
	}))
	if d.ExternalID != "order-7" || d.Status() != domain.Booked || d.VehicleType != domain.Bike || d.Instructions != "Call first" ||
		d.Payment.Type != domain.CashOnDelivery || *d.Payment.GoodsValue != *goods || d.Pickup != depot || d.Tenant != s.tenant {
		t.Errorf("delivery %+v", d.Booking)
	}
	if *d.Quote.Fee != (domain.Money{Minor: 2450, Currency: "GHS"}) || d.Quote.Distance.Source != domain.DistanceRoad {
		t.Errorf("quote %+v", d.Quote)
	}
	events := s.events(t, s.tenant, d.ID)
	if len(events) != 1 || events[0].Type != "delivery.created" || events[0].Sequence != 1 || !events[0].OccurredAt.Equal(d.CreatedAt) {
		t.Errorf("events %+v", events)
	}
	people := s.recipients(t, s.tenant)
	if len(people) != 1 || people[0].ID != d.Recipient.ID || people[0].Name != "Ama" || people[0].PhoneNumber != "+233201234567" {
		t.Fatalf("recipients %+v", people)
	}
	places := s.addresses(t, s.tenant, people[0].ID)
	if len(places) != 1 || places[0].ID != d.Dropoff.ID || places[0].Text != "4 Castle Road" || places[0].Coordinates != tema ||
		places[0].Label != "Work" || places[0].Municipality != "Accra" || places[0].DeliveryNotes != "Blue gate" {
		t.Errorf("addresses %+v", places)
	}
	if d.Dropoff != (domain.Dropoff{
		ID: places[0].ID, Address: "4 Castle Road", Coordinates: tema, Label: "Work", Municipality: "Accra", DeliveryNotes: "Blue gate",
	}) {
		t.Errorf("dropoff %+v", d.Dropoff)
	}
}

func TestTheTripThatIsPriced(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var asked domain.Trip
	s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
		asked = trip
		return newPrice(ctx, trip)
	}
	s.build()
	location := s.newLocation(t, s.tenant, func(p *domain.PickupLocation) {
		p.Coordinates = &domain.Coordinates{Latitude: 5.1, Longitude: -0.3}
	})
	s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(func(o *deliveries.Order) {
		o.Pickup, o.PickupLocationID, o.VehicleType = nil, new(string(location.ID)), domain.Van
	}))
	want := domain.Trip{BusinessID: s.tenant.BusinessID, Environment: domain.Sandbox, VehicleType: domain.Van,
		Pickup: domain.Coordinates{Latitude: 5.1, Longitude: -0.3}, Dropoff: tema}
	if asked != want {
		t.Errorf("asked for %+v, want %+v", asked, want)
	}
}

func TestADeliveryWithoutAFeeIsBookedAllTheSame(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.price = func(context.Context, domain.Trip) (domain.Quote, error) {
		return domain.Quote{Currency: "GHS", RequiresCustomQuote: true, Distance: domain.Distance{Kilometres: 400, Source: domain.DistanceRoad}},
			nil
	}
	s.build()
	if d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil)); d.Quote.Fee != nil || !d.Quote.RequiresCustomQuote {
		t.Errorf("quote %+v", d.Quote)
	}
}

func TestTheNameOfAnExistingRecipient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stored, sent, kept, shown string }{
		"stays when another is sent": {stored: "Ama Mensah", sent: "Ama", kept: "Ama Mensah", shown: "Ama"},
		"is filled in when empty":    {stored: "", sent: "Ama", kept: "Ama", shown: "Ama"},
		"is used when none is sent":  {stored: "Ama Mensah", sent: "", kept: "Ama Mensah", shown: "Ama Mensah"},
		"may be missing altogether":  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			ama := s.newRecipient(t, s.tenant, c.stored, "+233201234567")
			d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(func(o *deliveries.Order) { o.Recipient.Name = c.sent }))
			people := s.recipients(t, s.tenant)
			if len(people) != 1 || people[0].ID != ama.ID || people[0].Name != c.kept {
				t.Errorf("directory %+v, want name %q", people, c.kept)
			}
			if d.Recipient.ID != ama.ID || d.Recipient.Name != c.shown {
				t.Errorf("delivery shows %+v, want name %q", d.Recipient, c.shown)
			}
			if filled := c.stored != c.kept; filled == people[0].UpdatedAt.Equal(ama.UpdatedAt) {
				t.Errorf("filled in %t, updated from %s to %s", filled, ama.UpdatedAt, people[0].UpdatedAt)
			}
		})
	}
}

func TestAnAddressThatIsKnownIsReusedWithTheCoordinatesSent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var priced domain.Coordinates
	s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
		priced = trip.Dropoff
		return newPrice(ctx, trip)
	}
	s.build()
	ama := s.newRecipient(t, s.tenant, "Ama", "+233201234567")
	home := s.newAddress(t, s.tenant, ama, "4 Castle Road")
	sent := domain.Coordinates{Latitude: 5.61, Longitude: -0.2}
	d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(func(o *deliveries.Order) {
		o.Recipient.Address, o.Recipient.Coordinates = " 4  CASTLE road", sent
	}))
	if d.Dropoff.ID != home.ID || d.Dropoff.Coordinates != sent || priced != sent || d.Dropoff.Label != "Work" {
		t.Errorf("dropoff %+v, priced %+v", d.Dropoff, priced)
	}
	if places := s.addresses(t, s.tenant, ama.ID); len(places) != 1 || places[0] != home {
		t.Errorf("addresses %+v, want %+v untouched", places, home)
	}
}

func TestASavedDestinationIsUsedAsItIs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.newRecipient(t, s.tenant, "Ama", "+233201234567")
	home := s.newAddress(t, s.tenant, ama, "Home Street")
	d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), savedOrder(string(ama.ID), string(home.ID)))
	wantParty := domain.Party{ID: ama.ID, Name: "Ama", PhoneNumber: "+233201234567"}
	wantDropoff := domain.Dropoff{
		ID: home.ID, Address: "Home Street", Coordinates: tema, Label: "Home", Municipality: "Tema", DeliveryNotes: "Ring twice",
	}
	if d.Recipient != wantParty || d.Dropoff != wantDropoff {
		t.Errorf("recipient %+v, dropoff %+v", d.Recipient, d.Dropoff)
	}
	if people, places := s.recipients(t, s.tenant), s.addresses(t, s.tenant, ama.ID); len(people) != 1 || people[0] != ama ||
		len(places) != 1 || places[0] != home {
		t.Errorf("directory %+v %+v", people, places)
	}
}

func savedOrder(recipient, address string) deliveries.Order {
	return order(func(o *deliveries.Order) {
		o.Recipient, o.RecipientID, o.RecipientAddressID = nil, &recipient, &address
	})
}

func TestASavedDestinationThatIsNotTheirsIsNotFoundInOneVoice(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.price = func(context.Context, domain.Trip) (domain.Quote, error) {
		t.Error("a price was asked for a destination that is not theirs")
		return domain.Quote{}, nil
	}
	s.build()
	another, live := s.NewTenant(t), s.tenant
	live.Environment = domain.Live
	ama := s.newRecipient(t, s.tenant, "Ama", "+233201234567")
	kofi := s.newRecipient(t, s.tenant, "Kofi", "+233209999999")
	foreign := s.newRecipient(t, another, "Ama", "+233201234567")
	real := s.newRecipient(t, live, "Ama", "+233201234567")
	home := string(s.newAddress(t, s.tenant, ama, "Home Street").ID)
	kofis := string(s.newAddress(t, s.tenant, kofi, "Home Street").ID)
	foreigns := string(s.newAddress(t, another, foreign, "Home Street").ID)
	reals := string(s.newAddress(t, live, real, "Home Street").ID)
	for name, ids := range map[string][2]string{
		"malformed recipient":            {"ama", home},
		"malformed address":              {string(ama.ID), "home"},
		"an ID of another kind":          {home, home},
		"another kind of address":        {string(ama.ID), string(ama.ID)},
		"unknown recipient":              {string(s.IDs.ID(domain.PrefixRecipient)), home},
		"unknown address":                {string(ama.ID), string(s.IDs.ID(domain.PrefixAddress))},
		"another business's recipient":   {string(foreign.ID), home},
		"another business's address":     {string(ama.ID), foreigns},
		"all of another business":        {string(foreign.ID), foreigns},
		"another environment":            {string(real.ID), reals},
		"the address of another person":  {string(ama.ID), kofis},
		"the recipient of another place": {string(kofi.ID), home},
		"upper case":                     {strings.ToUpper(string(ama.ID)), home},
		"nothing":                        {"", ""},
	} {
		_, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), savedOrder(ids[0], ids[1]))
		if e := wantCode(t, err, "NOT_FOUND"); e.Message != domain.ErrNotFound.Message || e.Details != nil || e.Fields != nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestNothingIsOpenInTheStorageWhileAPriceIsAsked(t *testing.T) {
	t.Parallel()
	ctrl := gomock.NewController(t)
	storage, bookings := mocks.NewMockStorage(ctrl), mocks.NewMockBookings(ctrl)
	people, orders := mocks.NewMockRecipientReader(ctrl), mocks.NewMockDeliveryReader(ctrl)
	keys, pricing := mocks.NewMockIdempotencyReader(ctrl), mocks.NewMockPricing(ctrl)
	s := newScene(t)
	s.storage, s.bookings, s.price = storage, bookings, pricing.Price
	s.build()

	storage.EXPECT().Read().Return(ports.Readers{Idempotency: keys, Recipients: people, Deliveries: orders}).AnyTimes()
	keys.EXPECT().Find(gomock.Any(), s.tenant, "order-0001").Return(domain.KeyRecord{}, domain.ErrNotFound)
	people.EXPECT().FindByPhone(gomock.Any(), s.tenant, gomock.Any()).Return(domain.Recipient{}, domain.ErrNotFound)
	orders.EXPECT().FindByExternalID(gomock.Any(), s.tenant, "order-7").Return(nil, domain.ErrNotFound)
	priced := false
	// InTx is not expected at all, and Book only after the price.
	gomock.InOrder(
		pricing.EXPECT().Price(gomock.Any(), gomock.Any()).DoAndReturn(func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
			priced = true
			return newPrice(ctx, trip)
		}),
		bookings.EXPECT().Book(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, w ports.BookingWrite) error {
			if !priced {
				t.Error("booked before the price was known")
			}
			if w.Key.Key != "order-0001" || w.Retention != stage.Retention || len(w.Key.Answer.Body) == 0 || w.Key.Answer.Status != 201 ||
				!w.NewRecipient || !w.NewAddress || w.FillName || w.Address.RecipientID != w.Recipient.ID || w.Event.DeliveryID != w.Delivery.ID {
				t.Errorf("write %+v", w)
			}
			return nil
		}),
	)
	if _, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), order(func(o *deliveries.Order) {
		o.ExternalID = "order-7"
	})); err != nil {
		t.Fatal(err)
	}
}

func TestTheSecondOfTwoEqualRequestsIsReplayed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ask := stage.Key(s.tenant, "order-0001", 1)
	first, err := s.create(t.Context(), ask, order(nil))
	if err != nil || first.Replayed {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := s.Create(t.Context(), ask, func() (deliveries.Order, error) {
		t.Error("the form was read for a replay")
		return order(nil), nil
	}, render)
	if err != nil || !second.Replayed || !stage.SameAnswer(first, second) || len(s.all(t, s.tenant)) != 1 {
		t.Errorf("%+v, %v", second, err)
	}
	_, err = s.create(t.Context(), stage.Key(s.tenant, "order-0001", 2), order(nil))
	wantCode(t, err, "IDEMPOTENCY_CONFLICT")
}

func TestAKeyBelongsToItsApplicationAndEnvironment(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	sister, live := s.NewApplication(t, s.tenant), s.tenant
	live.Environment = domain.Live
	for _, tenant := range []domain.Tenant{s.tenant, sister, live} {
		if got, err := s.create(t.Context(), stage.Key(tenant, "order-0001", 1), order(nil)); err != nil || got.Replayed {
			t.Errorf("%+v: %+v, %v", tenant, got, err)
		}
	}
	// Deliveries belong to the application, the directory belongs to the business.
	if a, b := s.all(t, s.tenant), s.all(t, sister); len(a) != 1 || len(b) != 1 || a[0].Recipient.ID != b[0].Recipient.ID {
		t.Errorf("%d and %d deliveries", len(a), len(b))
	}
}

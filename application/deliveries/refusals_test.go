package deliveries_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/test/stage"
)

// broken is one defect of an order or of the world. Applied in reverse order, any two of them stay
// broken side by side.
type broken struct {
	name  string
	code  string
	apply func(*testing.T, *scene, *deliveries.Order)
}

var refusals = []broken{
	{name: "mixed recipient", code: "RECIPIENT_SHAPE_CONFLICT", apply: func(_ *testing.T, _ *scene, o *deliveries.Order) {
		o.Recipient = order(nil).Recipient
		if o.RecipientID == nil {
			o.RecipientID = new("rcp_1")
		}
	}},
	{name: "two pickups", code: "PICKUP_SHAPE_CONFLICT", apply: func(_ *testing.T, _ *scene, o *deliveries.Order) {
		o.Pickup = new(depot)
		if o.PickupLocationID == nil {
			o.PickupLocationID = new("pkp_1")
		}
	}},
	{name: "cod for nothing", code: "COD_GOODS_VALUE_REQUIRED", apply: func(_ *testing.T, _ *scene, o *deliveries.Order) {
		o.Payment = domain.Payment{Type: domain.CashOnDelivery}
	}},
	{name: "unknown recipient", code: "NOT_FOUND", apply: func(t *testing.T, s *scene, o *deliveries.Order) {
		o.Recipient = nil
		o.RecipientID = new(string(s.IDs.ID(domain.PrefixRecipient)))
		o.RecipientAddressID = new(string(s.IDs.ID(domain.PrefixAddress)))
	}},
	{name: "unknown pickup location", code: "PICKUP_LOCATION_NOT_FOUND", apply: func(t *testing.T, s *scene, o *deliveries.Order) {
		o.Pickup, o.PickupLocationID = nil, new(string(s.IDs.ID(domain.PrefixPickupLocation)))
	}},
	{name: "pickup location that is off", code: "PICKUP_LOCATION_INACTIVE", apply: func(t *testing.T, s *scene, o *deliveries.Order) {
		off := s.newLocation(t, s.tenant, func(p *domain.PickupLocation) { p.Active, p.Contact = false, "" })
		o.Pickup, o.PickupLocationID = nil, new(string(off.ID))
	}},
	{name: "incomplete pickup location", code: "PICKUP_LOCATION_INCOMPLETE", apply: func(t *testing.T, s *scene, o *deliveries.Order) {
		half := s.newLocation(t, s.tenant, func(p *domain.PickupLocation) { p.Coordinates = nil })
		o.Pickup, o.PickupLocationID = nil, new(string(half.ID))
	}},
	{name: "outside the service area", code: "VALIDATION_ERROR", apply: func(_ *testing.T, s *scene, _ *deliveries.Order) {
		s.serves = func(domain.Coordinates) bool { return false }
	}},
	{name: "external_id that is taken", code: "EXTERNAL_ID_CONFLICT", apply: func(t *testing.T, s *scene, o *deliveries.Order) {
		price, serves := s.price, s.serves
		s.price, s.serves = newPrice, everywhere
		s.build()
		s.mustCreate(t, stage.Key(s.tenant, "an earlier order", 9), order(func(o *deliveries.Order) { o.ExternalID = "order-7" }))
		s.price, s.serves = price, serves
		o.ExternalID = "order-7"
	}},
	{name: "no price", code: "QUOTE_UNAVAILABLE", apply: func(_ *testing.T, s *scene, _ *deliveries.Order) {
		s.price = func(context.Context, domain.Trip) (domain.Quote, error) {
			return domain.Quote{}, domain.QuoteUnavailable(errors.New("connection refused"))
		}
	}},
}

// exclusive lists refusals of one rule, which differ only in what is wrong with the same ID.
var exclusive = map[string]bool{
	"PICKUP_LOCATION_NOT_FOUND": true, "PICKUP_LOCATION_INACTIVE": true, "PICKUP_LOCATION_INCOMPLETE": true,
}

func TestOfTwoThingsThatAreWrongTheFirstIsTold(t *testing.T) {
	t.Parallel()
	for i, first := range refusals {
		for _, second := range refusals[i:] {
			if first.name != second.name && exclusive[first.code] && exclusive[second.code] {
				continue
			}
			t.Run(first.name+" and "+second.name, func(t *testing.T) {
				t.Parallel()
				s, o := newScene(t), order(nil)
				second.apply(t, s, &o)
				if first.name != second.name {
					first.apply(t, s, &o)
				}
				price := s.price
				s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
					if first.code != "QUOTE_UNAVAILABLE" {
						t.Error("a price was asked for an order that is lost anyway")
					}
					return price(ctx, trip)
				}
				s.build()
				before := len(s.all(t, s.tenant))
				result, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), o)
				wantCode(t, err, first.code)
				if result.Answer.Status != 0 || len(s.all(t, s.tenant)) != before {
					t.Errorf("a refusal left %+v", result)
				}
			})
		}
	}
}

func TestWhatTheFormSaysComesFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	_, err := s.Create(t.Context(), stage.Key(s.tenant, "order-0001", 1), func() (deliveries.Order, error) {
		return deliveries.Order{}, domain.Invalid(domain.FieldError{Field: "vehicle_type"}) // and no recipient at all
	}, render)
	wantCode(t, err, "VALIDATION_ERROR")
}

func TestARefusalIsNotRemembered(t *testing.T) {
	t.Parallel()
	for _, wrong := range refusals {
		t.Run(wrong.name, func(t *testing.T) {
			t.Parallel()
			s, o := newScene(t), order(nil)
			wrong.apply(t, s, &o)
			s.build()
			_, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), o)
			wantCode(t, err, wrong.code)
			s.price, s.serves = newPrice, everywhere
			s.build()
			// The same key with a corrected body has another fingerprint.
			d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 2), order(nil))
			if d.Status() != domain.Booked {
				t.Errorf("status %s", d.Status())
			}
		})
	}
}

// codes lists the codes of all problems of a draft, in their order.
func (s *scene) codes(t *testing.T, o *deliveries.Order, unsound ...domain.FieldError) []string {
	t.Helper()
	_, problems, err := s.Draft(t.Context(), s.tenant, o, unsound...)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(problems))
	for _, p := range problems {
		got = append(got, p.Code)
	}
	return got
}

// All problems of an order are reported at once, where the caller asks for that.
func TestADraftTellsEveryProblem(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.serves = func(c domain.Coordinates) bool { return c != tema }
	s.build()
	closed := s.newLocation(t, s.tenant, func(p *domain.PickupLocation) { p.Active = false })
	ama := s.newRecipient(t, s.tenant, "Ama", "+233201234567")
	home := s.newAddress(t, s.tenant, ama, "Home Street") // in Tema
	broken := order(func(o *deliveries.Order) {
		o.Recipient, o.RecipientID, o.RecipientAddressID = nil, new(string(ama.ID)), new(string(home.ID))
		o.Pickup, o.PickupLocationID = nil, new(string(closed.ID))
		o.Payment = domain.Payment{Type: domain.CashOnDelivery}
	})
	mixed := order(func(o *deliveries.Order) { o.RecipientID, o.Pickup = new("x"), nil })
	field := func(name string) domain.FieldError { return domain.FieldError{Field: name} }
	for name, c := range map[string]struct {
		order   deliveries.Order
		unsound []domain.FieldError
		want    []string
	}{
		"nothing":         {order: order(func(o *deliveries.Order) { o.Recipient.Coordinates = accra })},
		"state and place": {order: broken, want: []string{"COD_GOODS_VALUE_REQUIRED", "PICKUP_LOCATION_INACTIVE", "VALIDATION_ERROR"}},
		"shapes":          {order: mixed, want: []string{"RECIPIENT_SHAPE_CONFLICT", "PICKUP_SHAPE_CONFLICT"}},
		"what hangs on unsound fields is not judged": {
			order: broken, unsound: []domain.FieldError{field("payment.goods_value"), field("pickup_location_id"), field("recipient_id")},
		},
		"shapes are, whatever the fields are": {
			order: mixed, unsound: []domain.FieldError{field("recipient.address.latitude"), field("recipient_id")},
			want: []string{"RECIPIENT_SHAPE_CONFLICT", "PICKUP_SHAPE_CONFLICT"},
		},
	} {
		if got := s.codes(t, &c.order, c.unsound...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestTheShapeOfARecipient(t *testing.T) {
	t.Parallel()
	s, inline, id := newScene(t), order(nil).Recipient, new("x")
	for name, c := range map[string]struct {
		inline      *deliveries.InlineRecipient
		id, address *string
		good        bool
	}{
		"inline": {inline: inline, good: true}, "both IDs": {id: id, address: id, good: true},
		"nothing": {}, "one ID": {id: id}, "the other ID": {address: id}, "all": {inline: inline, id: id, address: id},
		"inline and one ID": {inline: inline, id: id}, "inline and the other": {inline: inline, address: id},
	} {
		o := order(func(o *deliveries.Order) {
			o.Recipient, o.RecipientID, o.RecipientAddressID = c.inline, c.id, c.address
		})
		if got := s.codes(t, &o); c.good == slices.Contains(got, "RECIPIENT_SHAPE_CONFLICT") {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestAPlaceOutsideIsNamedByTheFieldItCameFrom(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.serves = func(domain.Coordinates) bool { return false }
	s.build()
	location := s.newLocation(t, s.tenant, nil)
	ama := s.newRecipient(t, s.tenant, "Ama", "+233201234567")
	home := s.newAddress(t, s.tenant, ama, "Home Street")
	for _, c := range []struct {
		change func(*deliveries.Order)
		fields []string
	}{
		{nil, []string{"pickup", "recipient.address"}},
		{func(o *deliveries.Order) { o.Pickup, o.PickupLocationID = nil, new(string(location.ID)) },
			[]string{"pickup_location_id", "recipient.address"}},
		{func(o *deliveries.Order) {
			o.Recipient, o.RecipientID, o.RecipientAddressID = nil, new(string(ama.ID)), new(string(home.ID))
		}, []string{"pickup", "recipient_address_id"}},
	} {
		_, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), order(c.change))
		e := wantCode(t, err, "VALIDATION_ERROR")
		if len(e.Fields) != 2 || e.Fields[0].Field != c.fields[0] || e.Fields[1].Field != c.fields[1] {
			t.Errorf("fields %+v, want %v", e.Fields, c.fields)
		}
	}
}

func TestAnAddressTooManyIsRefusedOnTheFieldThatWasSent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.newRecipient(t, s.tenant, "Ama", "+233201234567")
	for range domain.MaxAddressesPerRecipient {
		s.newAddress(t, s.tenant, ama, "Street "+string(s.IDs.ID("")))
	}
	_, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), order(nil))
	if e := wantCode(t, err, "VALIDATION_ERROR"); len(e.Fields) != 1 || e.Fields[0].Field != "recipient.address" {
		t.Errorf("fields %+v", e.Fields)
	}
	if n := len(s.all(t, s.tenant)); n != 0 {
		t.Errorf("%d deliveries", n)
	}
}

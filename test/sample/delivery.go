package sample

import (
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Booking is cash on delivery with an external_id. It has both a fee and the
// mark of a custom quote, so that no field is zero: a case for storage only.
func Booking(with ...func(*domain.Booking)) domain.Booking {
	id := ID(domain.PrefixDelivery)
	recipient := Recipient()
	return build(domain.Booking{
		ID:         id,
		Tenant:     Tenant(),
		Reference:  Reference(),
		ExternalID: "order-" + id.Hex(),
		Recipient:  domain.Party{ID: recipient.ID, Name: "A. Owusu", PhoneNumber: recipient.PhoneNumber},
		Pickup: domain.Pickup{
			Name:        "Makola kitchen",
			Contact:     "+233201112223",
			Address:     "Stall 14, Makola Market",
			Coordinates: domain.Coordinates{Latitude: 5.5463, Longitude: -0.2062},
		},
		Dropoff: domain.Dropoff{
			ID:            ID(domain.PrefixAddress),
			Address:       "12 Oxford Street, Osu",
			Coordinates:   domain.Coordinates{Latitude: 5.55710000000001, Longitude: -0.1818},
			Label:         "Home",
			Municipality:  "Accra",
			DeliveryNotes: "Ring twice",
		},
		Payment:     domain.Payment{Type: domain.CashOnDelivery, GoodsValue: &domain.Money{Minor: 12_550, Currency: "GHS"}},
		VehicleType: domain.Bike,
		Quote: domain.Quote{
			Currency:            "GHS",
			Distance:            domain.Distance{Kilometres: 4.27, Source: domain.DistanceRoad},
			Fee:                 &domain.Money{Minor: 2_450, Currency: "GHS"},
			RequiresCustomQuote: true,
		},
		Instructions: "Keep upright",
		CreatedAt:    Now.Add(9 * time.Second),
	}, with)
}

// Delivery is a booked one; Event 1 comes with BookingWrite.
func Delivery(with ...func(*domain.Booking)) *domain.Delivery {
	d, _ := domain.Book(Booking(with...), ID(domain.PrefixEvent))
	return d
}

// BookingWrite books a delivery to a new recipient at a new address.
func BookingWrite(t domain.Tenant, with ...func(*domain.Booking)) ports.BookingWrite {
	recipient := Recipient()
	address := Address(recipient.ID)
	w := BookingTo(t, recipient, address, with...)
	w.NewRecipient, w.NewAddress = true, true
	return w
}

// BookingTo books a delivery to a recipient and an address that are there.
func BookingTo(t domain.Tenant, r domain.Recipient, a domain.Address, with ...func(*domain.Booking)) ports.BookingWrite {
	booking := Booking(func(b *domain.Booking) {
		b.Tenant = t
		b.Recipient.ID, b.Recipient.PhoneNumber = r.ID, r.PhoneNumber
		b.Dropoff.ID = a.ID
	})
	booking = build(booking, with)
	delivery, event := domain.Book(booking, ID(domain.PrefixEvent))
	return ports.BookingWrite{
		Key: KeyRecord(), Retention: time.Hour,
		Recipient: r, Address: a, Delivery: delivery, Event: Published(event),
	}
}

// Plan is the longest scenario there is.
func Plan(with ...func(*domain.Plan)) domain.Plan {
	return build(domain.Plan{Scenario: domain.ScenarioFailedThenRetried, StepSeconds: 20}, with)
}

// SimulatedWrite books to a new recipient what a plan moves from the start.
func SimulatedWrite(t domain.Tenant, with ...func(*domain.Plan)) ports.BookingWrite {
	w := BookingWrite(t)
	Simulate(w, with...)
	return w
}

// Simulate starts the simulation of a delivery that is about to be booked.
func Simulate(w ports.BookingWrite, with ...func(*domain.Plan)) {
	if err := w.Delivery.StartSimulation(Plan(with...), w.Delivery.CreatedAt); err != nil {
		panic(err)
	}
}

// Published is an event with some JSON to publish.
func Published(e domain.Event) ports.EventWrite {
	return ports.EventWrite{Event: e, Payload: []byte(`{"id":"` + string(e.ID) + `"}`)}
}

// AllPublished is Published for each.
func AllPublished(events []domain.Event) []ports.EventWrite {
	writes := make([]ports.EventWrite, len(events))
	for i, e := range events {
		writes[i] = Published(e)
	}
	return writes
}

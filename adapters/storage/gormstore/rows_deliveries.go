package gormstore

import (
	"errors"

	"waybill/domain"
)

type deliveryRow struct {
	ID                  rowID `gorm:"primaryKey"`
	ApplicationID       rowID
	BusinessID          rowID
	Environment         string
	Reference           string
	ExternalID          *string
	RecipientID         rowID
	RecipientName       string
	RecipientPhone      string
	PickupName          string
	PickupContact       string
	PickupAddress       string
	PickupLatitude      float64
	PickupLongitude     float64
	DropoffID           rowID
	DropoffAddress      string
	DropoffLatitude     float64
	DropoffLongitude    float64
	DropoffLabel        string
	DropoffMunicipality string
	DropoffNotes        string
	PaymentType         string
	GoodsValueMinor     *int64
	VehicleType         string
	Currency            string
	DeliveryFeeMinor    *int64
	RequiresCustomQuote bool
	DistanceKM          float64 `gorm:"column:distance_km"`
	DistanceSource      string
	Instructions        string
	Status              string
	LastSequence        int
	PickedUpAt          *instant
	CreatedAt           instant
	UpdatedAt           instant

	// Null where no simulation was ever started. The last two are also null where none runs.
	SimulationScenario    *string
	SimulationStatus      *string
	SimulationStep        *int
	SimulationStepSeconds *int
	SimulationNextAt      *instant
	SimulationEndsAt      *instant
}

func (deliveryRow) TableName() string { return "deliveries" }

// errCurrencies refuses amounts that one currency column would silently change.
var errCurrencies = errors.New("all amounts of a delivery must be in the currency of its quote")

func newDeliveryRow(d *domain.Delivery) (deliveryRow, error) {
	life := d.Lifecycle()
	row := deliveryRow{
		ID:                  rowIDOf(d.ID),
		ApplicationID:       rowIDOf(d.Tenant.ApplicationID),
		BusinessID:          rowIDOf(d.Tenant.BusinessID),
		Environment:         string(d.Tenant.Environment),
		Reference:           string(d.Reference),
		RecipientID:         rowIDOf(d.Recipient.ID),
		RecipientName:       d.Recipient.Name,
		RecipientPhone:      string(d.Recipient.PhoneNumber),
		PickupName:          d.Pickup.Name,
		PickupContact:       string(d.Pickup.Contact),
		PickupAddress:       d.Pickup.Address,
		PickupLatitude:      d.Pickup.Coordinates.Latitude,
		PickupLongitude:     d.Pickup.Coordinates.Longitude,
		DropoffID:           rowIDOf(d.Dropoff.ID),
		DropoffAddress:      d.Dropoff.Address,
		DropoffLatitude:     d.Dropoff.Coordinates.Latitude,
		DropoffLongitude:    d.Dropoff.Coordinates.Longitude,
		DropoffLabel:        d.Dropoff.Label,
		DropoffMunicipality: d.Dropoff.Municipality,
		DropoffNotes:        d.Dropoff.DeliveryNotes,
		PaymentType:         string(d.Payment.Type),
		VehicleType:         string(d.VehicleType),
		Currency:            d.Quote.Currency,
		RequiresCustomQuote: d.Quote.RequiresCustomQuote,
		DistanceKM:          d.Quote.Distance.Kilometres,
		DistanceSource:      string(d.Quote.Distance.Source),
		Instructions:        d.Instructions,
		Status:              string(life.Status),
		LastSequence:        life.Sequence,
		PickedUpAt:          optionalInstant(life.PickedUpAt),
		CreatedAt:           instantOf(d.CreatedAt),
		UpdatedAt:           instantOf(life.UpdatedAt),
	}
	if d.ExternalID != "" {
		row.ExternalID = &d.ExternalID
	}
	row.setSimulation(life.Simulation)
	var err error
	if row.GoodsValueMinor, err = minorUnits(d.Payment.GoodsValue, row.Currency); err != nil {
		return deliveryRow{}, err
	}
	if row.DeliveryFeeMinor, err = minorUnits(d.Quote.Fee, row.Currency); err != nil {
		return deliveryRow{}, err
	}
	return row, nil
}

func (r *deliveryRow) setSimulation(s *domain.Simulation) {
	if s == nil {
		return
	}
	r.SimulationScenario, r.SimulationStatus = new(string(s.Scenario)), new(string(s.Status))
	r.SimulationStep, r.SimulationStepSeconds = &s.Step, &s.StepSeconds
	r.SimulationNextAt, r.SimulationEndsAt = optionalInstant(s.NextStepAt), optionalInstant(s.EndsAt())
}

func (r *deliveryRow) simulation() *domain.Simulation {
	if r.SimulationScenario == nil {
		return nil
	}
	return &domain.Simulation{
		Scenario: domain.Scenario(*r.SimulationScenario), Status: domain.SimulationStatus(*r.SimulationStatus),
		Step: *r.SimulationStep, StepSeconds: *r.SimulationStepSeconds, NextStepAt: optionalTime(r.SimulationNextAt),
	}
}

func minorUnits(m *domain.Money, currency string) (*int64, error) {
	switch {
	case m == nil:
		return nil, nil
	case m.Currency != currency:
		return nil, errCurrencies
	}
	return &m.Minor, nil
}

func money(minor *int64, currency string) *domain.Money {
	if minor == nil {
		return nil
	}
	return &domain.Money{Minor: *minor, Currency: currency}
}

func (r *deliveryRow) tenant() domain.Tenant {
	return domain.Tenant{
		BusinessID:    r.BusinessID.as(domain.PrefixBusiness),
		ApplicationID: r.ApplicationID.as(domain.PrefixApplication),
		Environment:   domain.Environment(r.Environment),
	}
}

func (r *deliveryRow) domain() *domain.Delivery {
	booking := domain.Booking{
		ID:        r.ID.as(domain.PrefixDelivery),
		Tenant:    r.tenant(),
		Reference: domain.Reference(r.Reference),
		Recipient: domain.Party{
			ID:          r.RecipientID.as(domain.PrefixRecipient),
			Name:        r.RecipientName,
			PhoneNumber: domain.PhoneNumber(r.RecipientPhone),
		},
		Pickup: domain.Pickup{
			Name:        r.PickupName,
			Contact:     domain.PhoneNumber(r.PickupContact),
			Address:     r.PickupAddress,
			Coordinates: domain.Coordinates{Latitude: r.PickupLatitude, Longitude: r.PickupLongitude},
		},
		Dropoff: domain.Dropoff{
			ID:            r.DropoffID.as(domain.PrefixAddress),
			Address:       r.DropoffAddress,
			Coordinates:   domain.Coordinates{Latitude: r.DropoffLatitude, Longitude: r.DropoffLongitude},
			Label:         r.DropoffLabel,
			Municipality:  r.DropoffMunicipality,
			DeliveryNotes: r.DropoffNotes,
		},
		Payment:     domain.Payment{Type: domain.PaymentType(r.PaymentType), GoodsValue: money(r.GoodsValueMinor, r.Currency)},
		VehicleType: domain.VehicleType(r.VehicleType),
		Quote: domain.Quote{
			Currency:            r.Currency,
			Distance:            domain.Distance{Kilometres: r.DistanceKM, Source: domain.DistanceSource(r.DistanceSource)},
			Fee:                 money(r.DeliveryFeeMinor, r.Currency),
			RequiresCustomQuote: r.RequiresCustomQuote,
		},
		Instructions: r.Instructions,
		CreatedAt:    r.CreatedAt.time,
	}
	if r.ExternalID != nil {
		booking.ExternalID = *r.ExternalID
	}
	return domain.RestoreDelivery(booking, domain.Lifecycle{
		Status:     domain.Status(r.Status),
		Sequence:   r.LastSequence,
		PickedUpAt: optionalTime(r.PickedUpAt),
		UpdatedAt:  r.UpdatedAt.time,
		Simulation: r.simulation(),
	})
}

type eventRow struct {
	ID             rowID `gorm:"primaryKey"`
	BusinessID     rowID
	DeliveryID     rowID
	Sequence       int
	Type           string
	Status         string
	PreviousStatus string
	ReasonCode     string
	OccurredAt     instant
}

func (eventRow) TableName() string { return "delivery_events" }

func newEventRow(t domain.Tenant, e domain.Event) eventRow {
	return eventRow{
		ID: rowIDOf(e.ID), BusinessID: rowIDOf(t.BusinessID), DeliveryID: rowIDOf(e.DeliveryID), Sequence: e.Sequence,
		Type: string(e.Type), Status: string(e.Status), PreviousStatus: string(e.Previous),
		ReasonCode: string(e.Reason), OccurredAt: instantOf(e.OccurredAt),
	}
}

func (r *eventRow) domain() domain.Event {
	return domain.Event{
		ID: r.ID.as(domain.PrefixEvent), DeliveryID: r.DeliveryID.as(domain.PrefixDelivery), Sequence: r.Sequence,
		Type: domain.EventType(r.Type), Status: domain.Status(r.Status), Previous: domain.Status(r.PreviousStatus),
		Reason: domain.ReasonCode(r.ReasonCode), OccurredAt: r.OccurredAt.time,
	}
}

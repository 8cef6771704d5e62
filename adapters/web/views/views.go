// Package views defines the JSON that clients see: one struct per resource, and the only place
// that converts a domain record into it. Optional fields are absent when they have no value.
// Fields that may be null are pointers without omitempty.
package views

import (
	"time"

	"waybill/domain"
)

// Amount is a JSON number with at most two decimals, made without a float.
type Amount string

// MarshalJSON writes the number unchanged.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a), nil }

func amount(m *domain.Money) *Amount {
	if m == nil {
		return nil
	}
	a := Amount(m.Decimal())
	return &a
}

// Time formats a time, or returns nil for null.
func Time(t *time.Time) *string {
	if t == nil {
		return nil
	}
	s := domain.FormatTime(*t)
	return &s
}

// Quote is the response of POST /quotes.
type Quote struct {
	Environment         string  `json:"environment"`
	Simulated           bool    `json:"simulated"`
	VehicleType         string  `json:"vehicle_type"`
	Currency            string  `json:"currency"`
	DistanceKM          float64 `json:"distance_km"`
	DistanceSource      string  `json:"distance_source"`
	Fee                 *Amount `json:"fee,omitempty"`
	RequiresCustomQuote bool    `json:"requires_custom_quote"`
}

// NewQuote converts a quote given in an environment for a vehicle.
func NewQuote(e domain.Environment, v domain.VehicleType, q domain.Quote) Quote {
	return Quote{
		Environment: string(e), Simulated: e == domain.Sandbox, VehicleType: string(v), Currency: q.Currency,
		DistanceKM: q.Distance.Kilometres, DistanceSource: string(q.Distance.Source),
		Fee: amount(q.Fee), RequiresCustomQuote: q.RequiresCustomQuote,
	}
}

// Recipient is a person in the directory.
type Recipient struct {
	ID          string `json:"id"`
	PhoneNumber string `json:"phone_number"`
	Name        string `json:"name,omitempty"`
	CreatedAt   string `json:"created_at"`
	UpdatedAt   string `json:"updated_at"`
}

// NewRecipient converts a recipient.
func NewRecipient(r domain.Recipient) Recipient {
	return Recipient{
		ID: string(r.ID), PhoneNumber: string(r.PhoneNumber), Name: r.Name,
		CreatedAt: domain.FormatTime(r.CreatedAt), UpdatedAt: domain.FormatTime(r.UpdatedAt),
	}
}

// Address is one address of a recipient.
type Address struct {
	ID            string  `json:"id"`
	RecipientID   string  `json:"recipient_id"`
	Label         string  `json:"label,omitempty"`
	Address       string  `json:"address"`
	Latitude      float64 `json:"latitude"`
	Longitude     float64 `json:"longitude"`
	Municipality  string  `json:"municipality,omitempty"`
	DeliveryNotes string  `json:"delivery_notes,omitempty"`
	CreatedAt     string  `json:"created_at"`
}

// NewAddress converts an address.
func NewAddress(a domain.Address) Address {
	return Address{
		ID: string(a.ID), RecipientID: string(a.RecipientID), Label: a.Label, Address: a.Text,
		Latitude: a.Coordinates.Latitude, Longitude: a.Coordinates.Longitude,
		Municipality: a.Municipality, DeliveryNotes: a.DeliveryNotes, CreatedAt: domain.FormatTime(a.CreatedAt),
	}
}

// PickupLocation is a saved place for pickups.
type PickupLocation struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Contact   *string  `json:"contact"`
	Address   string   `json:"address"`
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Active    bool     `json:"active"`
	Complete  bool     `json:"complete"`
	CreatedAt string   `json:"created_at"`
	UpdatedAt string   `json:"updated_at"`
}

// NewPickupLocation converts a pickup location.
func NewPickupLocation(p domain.PickupLocation) PickupLocation {
	v := PickupLocation{
		ID: string(p.ID), Name: p.Name, Address: p.Address, Active: p.Active, Complete: p.Complete(),
		CreatedAt: domain.FormatTime(p.CreatedAt), UpdatedAt: domain.FormatTime(p.UpdatedAt),
	}
	if p.Contact != "" {
		contact := string(p.Contact)
		v.Contact = &contact
	}
	if p.Coordinates != nil {
		at := *p.Coordinates
		v.Latitude, v.Longitude = &at.Latitude, &at.Longitude
	}
	return v
}

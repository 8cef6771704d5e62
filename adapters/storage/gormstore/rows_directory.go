package gormstore

import (
	"crypto/sha256"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"waybill/domain"
)

// fold brings text into the form that is searched. The program does it: SQLite's lower() knows
// ASCII only, and the engines would find different rows.
func fold(s string) string { return cases.Fold().String(norm.NFC.String(s)) }

// searchText joins the texts that a search looks into. The line break between them keeps a search
// from matching across them.
func searchText(parts ...string) string { return fold(strings.Join(parts, "\n")) }

type recipientRow struct {
	ID           rowID `gorm:"primaryKey"`
	BusinessID   rowID
	Environment  string
	PhoneNumber  string
	Name         string
	SearchText   string
	AddressCount int
	CreatedAt    instant
	UpdatedAt    instant
}

func (recipientRow) TableName() string { return "recipients" }

func newRecipientRow(t domain.Tenant, r domain.Recipient) recipientRow {
	return recipientRow{
		ID: rowIDOf(r.ID), BusinessID: rowIDOf(t.BusinessID), Environment: string(t.Environment),
		PhoneNumber: string(r.PhoneNumber), Name: r.Name, SearchText: recipientSearchText(r.Name, r.PhoneNumber),
		CreatedAt: instantOf(r.CreatedAt), UpdatedAt: instantOf(r.UpdatedAt),
	}
}

func recipientSearchText(name string, phone domain.PhoneNumber) string {
	return searchText(name, string(phone))
}

func (r *recipientRow) domain() domain.Recipient {
	return domain.Recipient{
		ID: r.ID.as(domain.PrefixRecipient), PhoneNumber: domain.PhoneNumber(r.PhoneNumber), Name: r.Name,
		CreatedAt: r.CreatedAt.time, UpdatedAt: r.UpdatedAt.time,
	}
}

func (r *recipientRow) searched() (string, domain.Position) {
	return r.SearchText, domain.Position{CreatedAt: r.CreatedAt.time, ID: r.ID.as(domain.PrefixRecipient)}
}

type addressRow struct {
	ID            rowID `gorm:"primaryKey"`
	RecipientID   rowID
	BusinessID    rowID
	Environment   string
	Label         string
	Address       string
	MatchKey      string
	MatchHash     []byte
	Latitude      float64
	Longitude     float64
	Municipality  string
	DeliveryNotes string
	CreatedAt     instant
}

func (addressRow) TableName() string { return "recipient_addresses" }

func newAddressRow(t domain.Tenant, a domain.Address) addressRow {
	return addressRow{
		ID: rowIDOf(a.ID), RecipientID: rowIDOf(a.RecipientID),
		BusinessID: rowIDOf(t.BusinessID), Environment: string(t.Environment),
		Label: a.Label, Address: a.Text, MatchKey: a.MatchKey, MatchHash: matchHash(a.MatchKey),
		Latitude: a.Coordinates.Latitude, Longitude: a.Coordinates.Longitude,
		Municipality: a.Municipality, DeliveryNotes: a.DeliveryNotes, CreatedAt: instantOf(a.CreatedAt),
	}
}

func matchHash(matchKey string) []byte {
	sum := sha256.Sum256([]byte(matchKey))
	return sum[:]
}

func (r *addressRow) domain() domain.Address {
	return domain.Address{
		ID: r.ID.as(domain.PrefixAddress), RecipientID: r.RecipientID.as(domain.PrefixRecipient),
		Label: r.Label, Text: r.Address, MatchKey: r.MatchKey,
		Coordinates:  domain.Coordinates{Latitude: r.Latitude, Longitude: r.Longitude},
		Municipality: r.Municipality, DeliveryNotes: r.DeliveryNotes, CreatedAt: r.CreatedAt.time,
	}
}

type pickupLocationRow struct {
	ID          rowID `gorm:"primaryKey"`
	BusinessID  rowID
	Environment string
	Name        string
	Contact     string
	Address     string
	SearchText  string
	Latitude    *float64
	Longitude   *float64
	Active      bool
	CreatedAt   instant
	UpdatedAt   instant
}

func (pickupLocationRow) TableName() string { return "pickup_locations" }

func newPickupLocationRow(t domain.Tenant, p domain.PickupLocation) pickupLocationRow {
	row := pickupLocationRow{
		ID: rowIDOf(p.ID), BusinessID: rowIDOf(t.BusinessID), Environment: string(t.Environment),
		Name: p.Name, Contact: string(p.Contact), Address: p.Address, SearchText: searchText(p.Name, p.Address),
		Active: p.Active, CreatedAt: instantOf(p.CreatedAt), UpdatedAt: instantOf(p.UpdatedAt),
	}
	if p.Coordinates != nil {
		row.Latitude, row.Longitude = &p.Coordinates.Latitude, &p.Coordinates.Longitude
	}
	return row
}

func (r *pickupLocationRow) domain() domain.PickupLocation {
	p := domain.PickupLocation{
		ID: r.ID.as(domain.PrefixPickupLocation), Name: r.Name, Contact: domain.PhoneNumber(r.Contact),
		Address: r.Address, Active: r.Active, CreatedAt: r.CreatedAt.time, UpdatedAt: r.UpdatedAt.time,
	}
	if r.Latitude != nil && r.Longitude != nil {
		p.Coordinates = &domain.Coordinates{Latitude: *r.Latitude, Longitude: *r.Longitude}
	}
	return p
}

func (r *pickupLocationRow) searched() (string, domain.Position) {
	return r.SearchText, domain.Position{CreatedAt: r.CreatedAt.time, ID: r.ID.as(domain.PrefixPickupLocation)}
}

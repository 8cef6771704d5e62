package domain

import "time"

// Position is a place in a list ordered by time and ID.
type Position struct {
	CreatedAt time.Time
	ID        ID
}

// PageRequest asks for the records behind a position; the zero After starts
// at the beginning.
type PageRequest struct {
	Limit int
	After *Position
}

// DeliveryFilter narrows a list of deliveries; zero fields do not.
type DeliveryFilter struct {
	Status        Status
	ExternalID    string
	CreatedAfter  *time.Time // inclusive
	CreatedBefore *time.Time // exclusive
	NewestFirst   bool
}

// RecipientFilter narrows a list of recipients.
type RecipientFilter struct {
	Search string // within name or phone number, any case
	// SearchPhone is what Search is as a part of a phone number in its normalized
	// form; records that contain it are found too. Empty: it is none.
	SearchPhone string
	PhoneNumber PhoneNumber
}

// PickupLocationFilter narrows a list of pickup locations.
type PickupLocationFilter struct {
	Search string // within name or address, any case
	Active *bool
}

// Owned is whose a record is, and what it belongs to.
type Owned struct {
	Tenant     Tenant // its ApplicationID is empty where the record is all applications'
	DeliveryID ID     // that it is about; empty: none
	EndpointID ID     // of a webhook; empty: none
	SentID     ID     // of the webhook delivery that it is or belongs to; empty: none
}

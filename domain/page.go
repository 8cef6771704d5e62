package domain

import "time"

// Position is a place in a list ordered by time and ID.
type Position struct {
	CreatedAt time.Time
	ID        ID
}

// PageRequest asks for the records after a position. The zero After starts at the beginning.
type PageRequest struct {
	Limit int
	After *Position
}

// DeliveryFilter narrows a list of deliveries; zero fields do not narrow.
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
	// SearchPhone is Search as a part of a normalized phone number. Records that contain it match
	// too. It is empty where Search is no such part.
	SearchPhone string
	PhoneNumber PhoneNumber
}

// PickupLocationFilter narrows a list of pickup locations.
type PickupLocationFilter struct {
	Search string // within name or address, any case
	Active *bool
}

// Owned is the owner of a record, and what the record belongs to.
type Owned struct {
	Tenant     Tenant // its ApplicationID is empty where all applications share the record
	DeliveryID ID     // the delivery it is about; empty: none
	EndpointID ID     // the endpoint of a webhook; empty: none
	SentID     ID     // the webhook delivery that it is or belongs to; empty: none
}

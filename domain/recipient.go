package domain

import "time"

// Recipient is a person who receives deliveries. A business has one per phone number in each
// environment.
type Recipient struct {
	ID          ID
	PhoneNumber PhoneNumber
	Name        string // empty: unknown
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Address is a place of one recipient. MatchKey is the normalized text that identifies it.
type Address struct {
	ID            ID
	RecipientID   ID
	Label         string
	Text          string
	MatchKey      string
	Coordinates   Coordinates
	Municipality  string
	DeliveryNotes string
	CreatedAt     time.Time
}

// TooManyAddresses returns the 422 for an address beyond the maximum of a recipient.
func TooManyAddresses(field string) *Error {
	return Invalid(FieldError{Field: field, Code: FieldOutOfRange,
		Message: "the recipient already has 200 addresses, the most there may be; use one of them"})
}

package domain

import (
	"strings"
	"time"
)

// CustomerState narrows a list of customers.
type CustomerState string

// The states of customers.
const (
	CustomerActive   CustomerState = "active"
	CustomerDisabled CustomerState = "disabled"
)

// CustomerSearch narrows the customers; zero fields do not narrow. A text is the ID of a business,
// an application, a key or a person, or a part of the name of a business or an application, or of
// the email address of a person.
type CustomerSearch struct {
	Text  string
	State CustomerState
}

// MaxCustomerSearch is the maximum length of a search text, in characters.
const MaxCustomerSearch = 254

// ParseCustomerSearch reads what a person typed. It cuts off a text that is too long. An unknown
// state does not narrow.
func ParseCustomerSearch(text, state string) CustomerSearch {
	s := CustomerSearch{Text: strings.TrimSpace(text)}
	if cut := []rune(s.Text); len(cut) > MaxCustomerSearch {
		s.Text = string(cut[:MaxCustomerSearch])
	}
	if c := CustomerState(state); c == CustomerActive || c == CustomerDisabled {
		s.State = c
	}
	return s
}

// Customer is a business with its counts, as a list of customers shows it.
type Customer struct {
	Business
	Applications int
	Keys         int        // active ones of both environments
	People       int        // who have accepted
	Owners       int        // also those who have not accepted their invitation yet
	LastUsedAt   *time.Time // the latest use of a key; nil: none was used
}

// Footprint counts what a business or an application has: what stops, and what continues, when it
// is disabled. Counts end at MaxFootprint.
type Footprint struct {
	LiveKeys, SandboxKeys int // active
	Endpoints             int // of webhooks that are enabled, in both environments
	People                int // who have accepted; of an application none
	OpenDeliveries        int // of live, in one of OpenStatuses
}

// MaxFootprint limits each count of a Footprint, which then means "10,000 or more".
const MaxFootprint = 10_000

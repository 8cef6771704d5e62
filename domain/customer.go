package domain

import (
	"strings"
	"time"
)

// CustomerState narrows a list of customers.
type CustomerState string

// The states there are.
const (
	CustomerActive   CustomerState = "active"
	CustomerDisabled CustomerState = "disabled"
)

// CustomerSearch narrows the customers; zero fields do not. A text is the ID of a
// business, an application, a key or a person, or a part of the name of a business or an
// application, or of the e-mail address of a person.
type CustomerSearch struct {
	Text  string
	State CustomerState
}

// MaxCustomerSearch is the longest text that is looked for, in characters.
const MaxCustomerSearch = 254

// ParseCustomerSearch reads what a person typed. What is too long to be found is cut off;
// a state that there is not does not narrow.
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

// Customer is a business with how much it has, as a list of customers shows it.
type Customer struct {
	Business
	Applications int
	Keys         int        // that work, of both environments
	People       int        // who have accepted
	LastUsedAt   *time.Time // the latest use of a key; nil: none was used
}

// Footprint is what stands behind a business or an application: what stops, and what goes
// on, when it is disabled. Counts end at MaxFootprint.
type Footprint struct {
	LiveKeys, SandboxKeys int // that work
	Endpoints             int // of webhooks that are enabled, in both environments
	People                int // who have accepted; of an application none
	OpenDeliveries        int // of live, in one of OpenStatuses
}

// MaxFootprint bounds each count of a Footprint: it says "10,000 or more".
const MaxFootprint = 10_000

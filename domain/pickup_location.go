package domain

import (
	"fmt"
	"strings"
	"time"
)

// MaxPickupLocations limits the pickup locations that a business adds in an environment, including
// those that are switched off.
const MaxPickupLocations = 1000

// CodePickupLocationLimit is the code of PickupLocationLimit.
const CodePickupLocationLimit = "PICKUP_LOCATION_LIMIT"

// PickupLocationLimit returns the 409 for one pickup location too many.
func PickupLocationLimit() *Error {
	return &Error{
		Kind: KindConflict, Code: CodePickupLocationLimit,
		Message: fmt.Sprintf("A business may have %d pickup locations in each environment, and none can be deleted. "+
			"Change one that is no longer used.", MaxPickupLocations),
		Details: map[string]any{"limit": MaxPickupLocations},
	}
}

// Pickup is the place where a delivery is collected.
type Pickup struct {
	Name        string
	Contact     PhoneNumber
	Address     string
	Coordinates Coordinates
}

// PickupLocation is a saved Pickup. One that was entered elsewhere may lack contact or coordinates;
// it cannot be used until it is completed.
type PickupLocation struct {
	ID          ID
	Name        string
	Contact     PhoneNumber // empty: missing
	Address     string
	Coordinates *Coordinates // nil: missing
	Active      bool
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Missing names the missing fields that riders need.
func (p *PickupLocation) Missing() []string {
	var missing []string
	if p.Contact == "" {
		missing = append(missing, "contact")
	}
	if p.Coordinates == nil {
		missing = append(missing, "latitude", "longitude")
	}
	return missing
}

// Complete reports whether nothing is missing.
func (p *PickupLocation) Complete() bool { return len(p.Missing()) == 0 }

// Pickup returns the place to collect from, or the reason why it cannot be used now.
func (p *PickupLocation) Pickup() (Pickup, error) {
	if !p.Active {
		return Pickup{}, &Error{Kind: KindInvalid, Code: CodePickupLocationInactive,
			Message: "Pickup location " + string(p.ID) + " is switched off."}
	}
	if missing := p.Missing(); len(missing) > 0 {
		return Pickup{}, &Error{Kind: KindInvalid, Code: CodePickupLocationIncomplete,
			Message: "Pickup location " + string(p.ID) + " has no " + strings.Join(missing, ", ") + ".",
			Details: map[string]any{"missing": missing}}
	}
	return Pickup{Name: p.Name, Contact: p.Contact, Address: p.Address, Coordinates: *p.Coordinates}, nil
}

// PickupLocationNotFound returns the 422 for an ID in a body that names no location of the
// business, whatever the reason.
func PickupLocationNotFound() *Error {
	return &Error{Kind: KindInvalid, Code: CodePickupLocationNotFound,
		Message: "pickup_location_id names no pickup location of this business in this environment."}
}

// PickupLocationChange holds the fields to change; a nil field stays unchanged.
type PickupLocationChange struct {
	Name      *string
	Contact   *PhoneNumber
	Address   *string
	Latitude  *float64
	Longitude *float64
	Active    *bool
}

// Apply changes the location and reports whether anything differs now. It refuses one coordinate
// alone while the other is missing.
func (p *PickupLocation) Apply(c PickupLocationChange, at time.Time) (changed bool, err error) {
	next := *p
	if c.Name != nil {
		next.Name = *c.Name
	}
	if c.Contact != nil {
		next.Contact = *c.Contact
	}
	if c.Address != nil {
		next.Address = *c.Address
	}
	if c.Active != nil {
		next.Active = *c.Active
	}
	if c.Latitude != nil || c.Longitude != nil {
		if p.Coordinates == nil && (c.Latitude == nil || c.Longitude == nil) {
			lacking := "latitude"
			if c.Longitude == nil {
				lacking = "longitude"
			}
			return false, Invalid(FieldError{Field: lacking, Code: FieldRequired,
				Message: "the location has no coordinates yet; send latitude and longitude together"})
		}
		var at Coordinates
		if p.Coordinates != nil {
			at = *p.Coordinates
		}
		if c.Latitude != nil {
			at.Latitude = *c.Latitude
		}
		if c.Longitude != nil {
			at.Longitude = *c.Longitude
		}
		next.Coordinates = &at
	}
	if next.same(p) {
		return false, nil
	}
	next.UpdatedAt = at
	*p = next
	return true, nil
}

func (p *PickupLocation) same(q *PickupLocation) bool { return len(p.Differing(q)) == 0 }

// Differing names the fields in which two locations differ.
func (p *PickupLocation) Differing(q *PickupLocation) (fields []string) {
	at := func(l *PickupLocation) (at Coordinates) {
		if l.Coordinates != nil {
			at = *l.Coordinates
		}
		return at
	}
	one, other := at(p), at(q)
	gained := (p.Coordinates == nil) != (q.Coordinates == nil)
	for _, f := range []struct {
		name    string
		differs bool
	}{
		{"name", p.Name != q.Name}, {"contact", p.Contact != q.Contact}, {"address", p.Address != q.Address},
		{"latitude", gained || one.Latitude != other.Latitude}, {"longitude", gained || one.Longitude != other.Longitude},
		{"active", p.Active != q.Active},
	} {
		if f.differs {
			fields = append(fields, f.name)
		}
	}
	return fields
}

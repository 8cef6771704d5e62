package domain

// PickupLocationRow is a location of a table that an operator imports. An empty or nil field keeps
// the stored value.
type PickupLocationRow struct {
	Line        int // in the table, from 1
	Name        string
	Address     string
	Contact     PhoneNumber
	Coordinates *Coordinates
	Active      *bool
}

// Identity returns the name and address that identify the location of a row.
func (r *PickupLocationRow) Identity() string { return PickupIdentity(r.Name, r.Address) }

// PickupIdentity returns the same text for two locations that an import treats as one.
func PickupIdentity(name, address string) string { return name + "\x00" + address }

// Change returns the change that the row makes. Fields that the row leaves empty stay unchanged.
func (r *PickupLocationRow) Change() PickupLocationChange {
	c := PickupLocationChange{Active: r.Active}
	if r.Contact != "" {
		c.Contact = &r.Contact
	}
	if r.Coordinates != nil {
		c.Latitude, c.Longitude = &r.Coordinates.Latitude, &r.Coordinates.Longitude
	}
	return c
}

package domain

// PickupLocationRow is a location of a table that an operator imports. An empty
// or nil field leaves the stored value.
type PickupLocationRow struct {
	Line        int // in the table, from 1
	Name        string
	Address     string
	Contact     PhoneNumber
	Coordinates *Coordinates
	Active      *bool
}

// Identity is the name and address by which the location of a row is found again.
func (r *PickupLocationRow) Identity() string { return PickupIdentity(r.Name, r.Address) }

// PickupIdentity is the same for two locations that an import takes for one.
func PickupIdentity(name, address string) string { return name + "\x00" + address }

// Change leaves alone what the row says nothing about.
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

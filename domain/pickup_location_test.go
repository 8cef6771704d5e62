package domain_test

import (
	"slices"
	"testing"
	"time"

	"waybill/domain"
)

func osu(change func(*domain.PickupLocation)) domain.PickupLocation {
	p := domain.PickupLocation{
		ID: "pkp_1", Name: "Osu", Contact: "+233302000001", Address: "12 Oxford Street",
		Coordinates: &domain.Coordinates{Latitude: 5.5, Longitude: -0.1}, Active: true, CreatedAt: noon, UpdatedAt: noon,
	}
	if change != nil {
		change(&p)
	}
	return p
}

func withoutContact(p *domain.PickupLocation)     { p.Contact = "" }
func withoutCoordinates(p *domain.PickupLocation) { p.Coordinates = nil }
func switchedOff(p *domain.PickupLocation)        { p.Active = false }

func TestAPickupLocationTellsWhatItLacks(t *testing.T) {
	t.Parallel()
	both := func(p *domain.PickupLocation) { withoutContact(p); withoutCoordinates(p) }
	for name, c := range map[string]struct {
		change  func(*domain.PickupLocation)
		missing []string
	}{
		"nothing":     {nil, nil},
		"a contact":   {withoutContact, []string{"contact"}},
		"coordinates": {withoutCoordinates, []string{"latitude", "longitude"}},
		"both":        {both, []string{"contact", "latitude", "longitude"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := osu(c.change)
			if got := p.Missing(); !slices.Equal(got, c.missing) || p.Complete() != (c.missing == nil) {
				t.Errorf("missing %v, complete %t", got, p.Complete())
			}
			_, err := p.Pickup()
			if c.missing == nil {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			e := asError(t, err, domain.KindInvalid, "PICKUP_LOCATION_INCOMPLETE")
			if !slices.Equal(e.Details["missing"].([]string), c.missing) {
				t.Errorf("details %v", e.Details)
			}
		})
	}
}

func TestAPickupIsACopyOfItsLocation(t *testing.T) {
	t.Parallel()
	p := osu(nil)
	got, err := p.Pickup()
	want := domain.Pickup{
		Name: "Osu", Contact: "+233302000001", Address: "12 Oxford Street",
		Coordinates: domain.Coordinates{Latitude: 5.5, Longitude: -0.1},
	}
	if err != nil || got != want {
		t.Errorf("pickup %+v, error %v", got, err)
	}
}

func TestALocationThatIsOffIsRefusedForThatFirst(t *testing.T) {
	t.Parallel()
	p := osu(func(p *domain.PickupLocation) { switchedOff(p); withoutContact(p) })
	_, err := p.Pickup()
	asError(t, err, domain.KindInvalid, "PICKUP_LOCATION_INACTIVE")
}

func TestAChangeToALocation(t *testing.T) {
	t.Parallel()
	text, phone := "Ridge", domain.PhoneNumber("+233302000009")
	lat, lon, off, on := 6.0, 1.0, false, true
	sameLat, sameLon, sameName := 5.5, -0.1, "Osu"
	for name, c := range map[string]struct {
		from    func(*domain.PickupLocation)
		change  domain.PickupLocationChange
		want    func(*domain.PickupLocation) // nil: nothing differs
		lacking string                       // the refused field
	}{
		"of nothing":        {},
		"to what is there":  {change: domain.PickupLocationChange{Name: &sameName, Latitude: &sameLat, Longitude: &sameLon, Active: &on}},
		"of the name":       {change: domain.PickupLocationChange{Name: &text}, want: func(p *domain.PickupLocation) { p.Name = text }},
		"of the contact":    {change: domain.PickupLocationChange{Contact: &phone}, want: func(p *domain.PickupLocation) { p.Contact = phone }},
		"of the address":    {change: domain.PickupLocationChange{Address: &text}, want: func(p *domain.PickupLocation) { p.Address = text }},
		"that switches off": {change: domain.PickupLocationChange{Active: &off}, want: switchedOff},
		"that switches on": {from: switchedOff, change: domain.PickupLocationChange{Active: &on}, want: func(p *domain.PickupLocation) {
			p.Active = true
		}},
		"of one coordinate": {change: domain.PickupLocationChange{Latitude: &lat}, want: func(p *domain.PickupLocation) {
			p.Coordinates = &domain.Coordinates{Latitude: 6, Longitude: -0.1}
		}},
		"of the other": {change: domain.PickupLocationChange{Longitude: &lon}, want: func(p *domain.PickupLocation) {
			p.Coordinates = &domain.Coordinates{Latitude: 5.5, Longitude: 1}
		}},
		"of both coordinates": {change: domain.PickupLocationChange{Latitude: &lat, Longitude: &lon}, want: func(p *domain.PickupLocation) {
			p.Coordinates = &domain.Coordinates{Latitude: 6, Longitude: 1}
		}},
		"that completes it": {
			from: withoutCoordinates, change: domain.PickupLocationChange{Latitude: &lat, Longitude: &lon},
			want: func(p *domain.PickupLocation) { p.Coordinates = &domain.Coordinates{Latitude: 6, Longitude: 1} },
		},
		"of everything": {
			change: domain.PickupLocationChange{Name: &text, Contact: &phone, Address: &text, Latitude: &lat, Longitude: &lon, Active: &off},
			want: func(p *domain.PickupLocation) {
				p.Name, p.Contact, p.Address, p.Active = text, phone, text, false
				p.Coordinates = &domain.Coordinates{Latitude: 6, Longitude: 1}
			},
		},
		"with half a position": {from: withoutCoordinates, change: domain.PickupLocationChange{Latitude: &lat, Name: &text},
			lacking: "longitude"},
		"with the other half of one": {from: withoutCoordinates, change: domain.PickupLocationChange{Longitude: &lon}, lacking: "latitude"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, later := osu(c.from), noon.Add(time.Hour)
			want, original := osu(c.from), p
			changed, err := p.Apply(c.change, later)
			if c.lacking != "" {
				e := asError(t, err, domain.KindInvalid, "VALIDATION_ERROR")
				if len(e.Fields) != 1 || e.Fields[0].Field != c.lacking || e.Fields[0].Code != "required" {
					t.Errorf("fields %+v", e.Fields)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if c.want != nil {
				c.want(&want)
				want.UpdatedAt = later
			}
			if changed != (c.want != nil) || !sameLocation(p, want) {
				t.Errorf("changed %t to %+v, want %+v", changed, p, want)
			}
			if c.from == nil && *original.Coordinates != (domain.Coordinates{Latitude: 5.5, Longitude: -0.1}) {
				t.Error("the change reached into a copy made before it")
			}
		})
	}
}

func sameLocation(p, q domain.PickupLocation) bool {
	if (p.Coordinates == nil) != (q.Coordinates == nil) || p.Coordinates != nil && *p.Coordinates != *q.Coordinates {
		return false
	}
	p.Coordinates, q.Coordinates = nil, nil
	return p == q
}

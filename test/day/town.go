package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"waybill/adapters/clients/go/waybillapi"
)

// customer is a business that books deliveries.
type customer struct {
	name     string
	prefix   string // of its external IDs
	receiver string // of its webhooks, empty: it has none
	weight   int    // its part of the deliveries
	pickup   place
}

// place is a name with coordinates.
type place struct {
	name, street        string
	latitude, longitude float64
}

// The customers: names as long and as foreign as they come.
var customers = []customer{
	{"Adom Foods", "AF", takes, 20, place{"Osu kitchen", "12 Oxford Street, Osu", 5.5571, -0.1818}},
	{"Makola Pharmacy & Chemists", "rx/", takes, 14, place{"Makola counter", "3 Kojo Thompson Road", 5.5480, -0.2110}},
	{"Øresund Møbler Ghana", "ØM-", takes, 6, place{"Tema warehouse 4", "Harbour Road, Tema", 5.6420, 0.0080}},
	{"Kumasi Central Booksellers and Stationery Company Limited", "2026/KCB/ORDER/", takes, 9,
		place{"Adum shop", "Prempeh II Street, Adum", 6.6918, -1.6240}},
	{"Ashanti Gold & Cloth", "", refuses, 10, place{"Kejetia stall 114", "Kejetia Market", 6.6980, -1.6220}},
	{"Sekondi Fresh Fish", "catch-", sleeps, 7, place{"Sekondi landing", "Fishing Harbour Road", 4.9340, -1.7040}},
	{"Tamale Shea Cooperative", "TSC", wavers, 6, place{"Tamale depot", "Hospital Road", 9.4034, -0.8424}},
	{"Ga Electronics", "GE-", takes, 12, place{"Circle branch", "Kwame Nkrumah Circle", 5.5700, -0.2160}},
	{"Blå Blomst & Söner", "blomst_", wavers, 8, place{"East Legon shop", "Lagos Avenue, East Legon", 5.6360, -0.1610}},
	{"Volta Prints", "VP", "", 8, place{"Ho press", "Civic Centre Road, Ho", 6.6110, 0.4710}},
}

// The towns that deliveries go to, those nearest to a customer's pickup most often.
var towns = []place{
	{"Accra Metropolitan", "Independence Avenue", 5.5560, -0.1969},
	{"Ayawaso West", "Liberation Road", 5.6210, -0.1750},
	{"La Dade-Kotopon", "Giffard Road", 5.5890, -0.1520},
	{"Ledzokuku", "Teshie Road", 5.5840, -0.1010},
	{"Tema Metropolitan", "Community 1 Road", 5.6698, -0.0166},
	{"Ga South (Ngleshie Amanfro)", "Kasoa Highway", 5.5510, -0.3340},
	{"Adentan", "Dodowa Road", 5.7090, -0.1560},
	{"Kumasi Metropolitan", "Harper Road", 6.6885, -1.6244},
	{"Asokwa", "Southern Bypass", 6.6680, -1.5960},
	{"Oforikrom", "Accra Road", 6.6830, -1.5640},
	{"Sekondi-Takoradi", "Liberation Road", 4.9016, -1.7831},
	{"Effia-Kwesimintsim", "Axim Road", 4.9150, -1.8000},
	{"Tamale", "Gumani Road", 9.4075, -0.8533},
	{"Sagnarigu", "Education Ridge", 9.4330, -0.8700},
	{"Ho", "Bankoe Street", 6.6008, 0.4713},
}

var (
	firstNames = []string{"Ama", "Kofi", "Esi", "Yaw", "Akua", "Kojo", "Adwoa", "Kwabena", "Abena", "Nana Yaa", "Søren", "Åsa", "Fatimah",
		"Jürgen", "Þórunn", "Mohammed-Amin", "Efua Dede", "Selorm"}
	lastNames = []string{"Mensah", "Asante", "Owusu-Ansah", "Boateng", "Agyeman", "Appiah", "Darko", "Quartey", "Nkrumah", "Ørsted Kjær",
		"Öberg", "Abdul-Rahman", "Teye-Ayiku", "Wordsworth-Bannerman of Cape Coast", "Dzokoto", "Lamptey", "Ísleifsdóttir", "Addo"}
	notes = []string{"", "", "", "Ring twice, the bell is weak", "Blue gate behind the filling station", "Call before you come",
		"Leave it with the guard; not after 17:00, the compound is locked then and the guard goes home"}
)

// order is the n-th delivery of a day.
func order(r *rand.Rand, run string, n int, of *customer) waybillapi.DeliveryRequest {
	near := nearest(of.pickup, 4+r.IntN(2)*3)
	town := near[r.IntN(len(near))]
	o := waybillapi.DeliveryRequest{
		Recipient: &waybillapi.InlineRecipient{
			Name:        firstNames[r.IntN(len(firstNames))] + " " + lastNames[r.IntN(len(lastNames))],
			PhoneNumber: fmt.Sprintf("+23324%07d", 4000000+n*37%999983),
			Address: waybillapi.AddressRequest{
				Address:      strconv.Itoa(1+r.IntN(240)) + " " + town.street,
				Latitude:     near4(town.latitude + (r.Float64()-0.5)/30),
				Longitude:    near4(town.longitude + (r.Float64()-0.5)/30),
				Municipality: town.name, DeliveryNotes: notes[r.IntN(len(notes))],
			},
		},
		Pickup: &waybillapi.PickupRequest{
			Name: of.pickup.name, Contact: "+233302000001", Address: of.pickup.street,
			Latitude: of.pickup.latitude, Longitude: of.pickup.longitude,
		},
		Payment:     waybillapi.Payment{Type: waybillapi.PaymentMethodDeliveryOnly},
		VehicleType: vehicle(r),
	}
	if of.prefix != "" {
		o.ExternalID = of.prefix + run + "-" + strconv.Itoa(1000+n)
	}
	if r.IntN(3) == 0 {
		o.Payment = waybillapi.Payment{Type: waybillapi.PaymentMethodCOD, GoodsValue: float64(20+r.IntN(900)) + 0.5}
	}
	return o
}

func vehicle(r *rand.Rand) waybillapi.VehicleType {
	switch n := r.IntN(20); {
	case n < 12:
		return waybillapi.VehicleTypeBike
	case n < 16:
		return waybillapi.VehicleTypeCar
	case n < 19:
		return waybillapi.VehicleTypeVan
	}
	return waybillapi.VehicleTypeTruck
}

// nearest are so many towns around a place.
func nearest(to place, many int) []place {
	away := func(p place) float64 { return math.Hypot(p.latitude-to.latitude, p.longitude-to.longitude) }
	sorted := slices.Clone(towns)
	slices.SortStableFunc(sorted, func(a, b place) int { return cmp.Compare(away(a), away(b)) })
	return sorted[:many]
}

// near4 keeps ten metres of a coordinate.
func near4(degrees float64) float64 { return math.Round(degrees*1e4) / 1e4 }

// pick is one of the customers, by their weights.
func pick(r *rand.Rand) int {
	all := 0
	for _, c := range customers {
		all += c.weight
	}
	n := r.IntN(all)
	for i, c := range customers {
		if n -= c.weight; n < 0 {
			return i
		}
	}
	panic("weights do not add up")
}

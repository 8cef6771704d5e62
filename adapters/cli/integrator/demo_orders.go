package integrator

import (
	"fmt"
	"math"
	"strconv"

	"waybill/domain"
)

// The bodies of the calls that demo and trigger make, in the order in which
// people read them.
type (
	pointBody struct {
		Latitude  float64 `json:"latitude"`
		Longitude float64 `json:"longitude"`
	}
	quoteBody struct {
		Pickup      pointBody `json:"pickup"`
		Dropoff     pointBody `json:"dropoff"`
		VehicleType string    `json:"vehicle_type"`
	}
	addressBody struct {
		Address string `json:"address"`
		pointBody
	}
	recipientBody struct {
		Name        string      `json:"name"`
		PhoneNumber string      `json:"phone_number"`
		Address     addressBody `json:"address"`
	}
	pickupBody struct {
		Name    string `json:"name"`
		Contact string `json:"contact"`
		addressBody
	}
	paymentBody struct {
		Type       string  `json:"type"`
		GoodsValue float64 `json:"goods_value,omitempty"`
	}
	planBody struct {
		Scenario    string `json:"scenario"`
		StepSeconds int    `json:"step_seconds"`
	}
	orderBody struct {
		ExternalID  string        `json:"external_id,omitempty"`
		Recipient   recipientBody `json:"recipient"`
		Pickup      pickupBody    `json:"pickup"`
		Payment     paymentBody   `json:"payment"`
		VehicleType string        `json:"vehicle_type"`
		Sandbox     *planBody     `json:"sandbox,omitempty"`
	}
	bulkBody struct {
		Deliveries []orderBody `json:"deliveries"`
	}
)

func newPlanBody(plan domain.Plan) *planBody {
	return &planBody{Scenario: string(plan.Scenario), StepSeconds: plan.StepSeconds}
}

var (
	demoNames   = []string{"Ama Mensah", "Kofi Asante", "Esi Owusu", "Yaw Boateng", "Akua Agyeman", "Kojo Appiah", "Adwoa Darko"}
	demoStreets = []string{"Independence Avenue", "Ring Road Central", "Liberation Road", "Cantonments Road", "Oxford Street"}
)

// demoRecipients is how many people order: more addresses than one of them may
// have would be refused after some demos.
const demoRecipients = 35

// demoOrder is one of many, the first one for reading: cash on delivery fits
// every scenario.
func demoOrder(n int) orderBody {
	who := n % demoRecipients
	return orderBody{
		Recipient: recipientBody{
			Name: demoNames[who%len(demoNames)], PhoneNumber: fmt.Sprintf("024412%04d", 3456+who),
			Address: addressBody{
				Address: strconv.Itoa(7+who) + " " + demoStreets[who%len(demoStreets)] + ", Accra",
				pointBody: pointBody{
					Latitude: rounded(5.6037+float64(who%6)/200, 1e4), Longitude: rounded(-0.187+float64(who%7)/200, 1e4),
				},
			},
		},
		Pickup: pickupBody{
			Name: "Osu branch", Contact: "0302000001",
			addressBody: addressBody{Address: "12 Oxford Street, Osu, Accra", pointBody: pointBody{5.5571, -0.1818}},
		},
		Payment:     paymentBody{Type: string(domain.CashOnDelivery), GoodsValue: 120.5 + float64(n%90)},
		VehicleType: string(domain.VehicleTypes()[n%2]),
	}
}

// rounded keeps a number readable: to thousandths, say, in parts of 1000.
func rounded(f, parts float64) float64 { return math.Round(f*parts) / parts }

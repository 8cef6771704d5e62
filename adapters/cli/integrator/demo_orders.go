package integrator

import (
	"fmt"
	"math"
	"strconv"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

func newSandboxRequest(plan domain.Plan) *waybillapi.SandboxRequest {
	return &waybillapi.SandboxRequest{Scenario: waybillapi.Scenario(plan.Scenario), StepSeconds: plan.StepSeconds}
}

var (
	demoNames   = []string{"Ama Mensah", "Kofi Asante", "Esi Owusu", "Yaw Boateng", "Akua Agyeman", "Kojo Appiah", "Adwoa Darko"}
	demoStreets = []string{"Independence Avenue", "Ring Road Central", "Liberation Road", "Cantonments Road", "Oxford Street"}
)

// demoRecipients is how many people order. With fewer, some demos would exceed the addresses
// that one recipient may have.
const demoRecipients = 35

// demoOrder returns one of many orders, the first one for reading. It is cash on delivery,
// which fits every scenario.
func demoOrder(n int) waybillapi.DeliveryRequest {
	who := n % demoRecipients
	return waybillapi.DeliveryRequest{
		Recipient: &waybillapi.InlineRecipient{
			Name: demoNames[who%len(demoNames)], PhoneNumber: fmt.Sprintf("024412%04d", 3456+who),
			Address: waybillapi.AddressRequest{
				Address:  strconv.Itoa(7+who) + " " + demoStreets[who%len(demoStreets)] + ", Accra",
				Latitude: rounded(5.6037+float64(who%6)/200, 1e4), Longitude: rounded(-0.187+float64(who%7)/200, 1e4),
			},
		},
		Pickup: &waybillapi.PickupRequest{
			Name: "Osu branch", Contact: "0302000001", Address: "12 Oxford Street, Osu, Accra", Latitude: 5.5571, Longitude: -0.1818,
		},
		Payment:     waybillapi.Payment{Type: waybillapi.PaymentMethodCOD, GoodsValue: 120.5 + float64(n%90)},
		VehicleType: waybillapi.VehicleType(domain.VehicleTypes()[n%2]),
	}
}

// rounded keeps a number readable: to thousandths, say, with parts of 1000.
func rounded(f, parts float64) float64 { return math.Round(f*parts) / parts }

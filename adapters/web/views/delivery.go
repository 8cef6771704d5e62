package views

import "waybill/domain"

// Delivery is the public model, without internals of the platform.
type Delivery struct {
	ID                   string      `json:"id"`
	ExternalID           string      `json:"external_id,omitempty"`
	Reference            string      `json:"reference"`
	Environment          string      `json:"environment"`
	Simulated            bool        `json:"simulated"`
	Status               string      `json:"status"`
	Recipient            Party       `json:"recipient"`
	Pickup               Pickup      `json:"pickup"`
	Dropoff              Dropoff     `json:"dropoff"`
	Payment              Payment     `json:"payment"`
	VehicleType          string      `json:"vehicle_type"`
	Currency             string      `json:"currency"`
	DeliveryFee          *Amount     `json:"delivery_fee,omitempty"`
	RequiresCustomQuote  bool        `json:"requires_custom_quote"`
	TrackingURL          string      `json:"tracking_url"`
	DeliveryInstructions string      `json:"delivery_instructions,omitempty"`
	CreatedAt            string      `json:"created_at"`
	UpdatedAt            string      `json:"updated_at"`
	Simulation           *Simulation `json:"simulation,omitempty"`
}

// Party is the recipient at the time of booking.
type Party struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	PhoneNumber string `json:"phone_number"`
}

// Pickup says where the delivery is collected.
type Pickup struct {
	Name      string  `json:"name"`
	Contact   string  `json:"contact"`
	Address   string  `json:"address"`
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// Dropoff says where the delivery goes.
type Dropoff struct {
	ID            string  `json:"id"`
	Address       string  `json:"address"`
	Latitude      float64 `json:"latitude"`
	Longitude     float64 `json:"longitude"`
	Label         string  `json:"label,omitempty"`
	Municipality  string  `json:"municipality,omitempty"`
	DeliveryNotes string  `json:"delivery_notes,omitempty"`
}

// Payment says what the rider collects.
type Payment struct {
	Type       string  `json:"type"`
	GoodsValue *Amount `json:"goods_value,omitempty"`
}

// Simulation says what moves a sandbox delivery.
type Simulation struct {
	Scenario   string  `json:"scenario"`
	Status     string  `json:"status"`
	Step       int     `json:"step"`
	StepsTotal int     `json:"steps_total"`
	NextStepAt *string `json:"next_step_at"`
}

// NewDelivery converts a delivery. Its link is below the tracking base URL.
func NewDelivery(d *domain.Delivery, trackingBaseURL string) Delivery {
	v := Delivery{
		ID: string(d.ID), ExternalID: d.ExternalID, Reference: string(d.Reference),
		Environment: string(d.Tenant.Environment), Simulated: d.Simulated(), Status: string(d.Status()),
		Recipient: Party{ID: string(d.Recipient.ID), Name: d.Recipient.Name, PhoneNumber: string(d.Recipient.PhoneNumber)},
		Pickup: Pickup{
			Name: d.Pickup.Name, Contact: string(d.Pickup.Contact), Address: d.Pickup.Address,
			Latitude: d.Pickup.Coordinates.Latitude, Longitude: d.Pickup.Coordinates.Longitude,
		},
		Dropoff: Dropoff{
			ID: string(d.Dropoff.ID), Address: d.Dropoff.Address,
			Latitude: d.Dropoff.Coordinates.Latitude, Longitude: d.Dropoff.Coordinates.Longitude,
			Label: d.Dropoff.Label, Municipality: d.Dropoff.Municipality, DeliveryNotes: d.Dropoff.DeliveryNotes,
		},
		Payment:     Payment{Type: string(d.Payment.Type), GoodsValue: amount(d.Payment.GoodsValue)},
		VehicleType: string(d.VehicleType), Currency: d.Quote.Currency,
		DeliveryFee: amount(d.Quote.Fee), RequiresCustomQuote: d.Quote.RequiresCustomQuote,
		TrackingURL:          trackingBaseURL + "/" + string(d.Reference),
		DeliveryInstructions: d.Instructions,
		CreatedAt:            domain.FormatTime(d.CreatedAt), UpdatedAt: domain.FormatTime(d.UpdatedAt()),
	}
	if s := d.Simulation(); s != nil {
		v.Simulation = &Simulation{
			Scenario: string(s.Scenario), Status: string(s.Status), Step: s.Step,
			StepsTotal: s.StepsTotal(), NextStepAt: Time(s.NextStepAt),
		}
	}
	return v
}

// Event is one entry of a timeline.
type Event struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Status     string `json:"status"`
	Sequence   int    `json:"sequence"`
	OccurredAt string `json:"occurred_at"`
	ReasonCode string `json:"reason_code,omitempty"`
}

// NewEvent converts an event.
func NewEvent(e domain.Event) Event {
	return Event{
		ID: string(e.ID), Type: string(e.Type), Status: string(e.Status), Sequence: e.Sequence,
		OccurredAt: domain.FormatTime(e.OccurredAt), ReasonCode: string(e.Reason),
	}
}

package portal

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/deliveries"
	"waybill/domain"
)

// bookView holds the form for a sample delivery and the same as an API call. The field names are
// those of the API.
type bookView struct {
	Once                               string
	Recipient, Pickup, Payment, Moving []pages.Field
	Location                           pages.Field
	Elsewhere, More                    bool // the block is open: the pickup is typed in, or a field in it is wrong
	Samples                            []sample
}

// The body of POST /deliveries, with the fields of the form.
type (
	orderBody struct {
		ExternalID       string        `json:"external_id,omitempty"`
		Recipient        recipientBody `json:"recipient"`
		PickupLocationID string        `json:"pickup_location_id,omitempty"`
		Pickup           *pickupBody   `json:"pickup,omitempty"`
		Payment          paymentBody   `json:"payment"`
		VehicleType      string        `json:"vehicle_type"`
		Sandbox          *planBody     `json:"sandbox,omitempty"`
	}
	recipientBody struct {
		Name        string      `json:"name,omitempty"`
		PhoneNumber string      `json:"phone_number"`
		Address     addressBody `json:"address"`
	}
	addressBody struct {
		Address   string `json:"address"`
		Latitude  any    `json:"latitude"`
		Longitude any    `json:"longitude"`
	}
	pickupBody struct {
		Name      string `json:"name"`
		Contact   string `json:"contact"`
		Address   string `json:"address"`
		Latitude  any    `json:"latitude"`
		Longitude any    `json:"longitude"`
	}
	paymentBody struct {
		Type       string `json:"type"`
		GoodsValue any    `json:"goods_value,omitempty"`
	}
	planBody struct {
		Scenario    string `json:"scenario"`
		StepSeconds int    `json:"step_seconds"`
	}
)

// defaults holds the initial values of the form: a trip in Accra, as in the guides.
var defaults = url.Values{
	"recipient.name": {"Ama Mensah"}, "recipient.phone_number": {"024 412 3456"},
	"recipient.address.address":  {"7 Independence Avenue, Accra"},
	"recipient.address.latitude": {"5.6037"}, "recipient.address.longitude": {"-0.1870"},
	"pickup.name": {"Adom Foods"}, "pickup.contact": {"030 212 3456"}, "pickup.address": {"12 Oxford Street, Osu"},
	"pickup.latitude": {"5.5571"}, "pickup.longitude": {"-0.1818"},
	"payment.type": {string(domain.DeliveryOnly)}, "payment.goods_value": {"120.50"},
	"vehicle_type": {string(domain.Bike)}, "sandbox.step_seconds": {"2"},
}

// number returns a number of a form as JSON. Other text is sent unchanged, so that the API refuses
// it with the name of the field.
func number(text string) any {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	if strings.ContainsAny(text[:1], "-0123456789") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// bodyFrom returns the request body of a form.
func bodyFrom(form url.Values) orderBody {
	b := orderBody{
		ExternalID: strings.TrimSpace(form.Get("external_id")), VehicleType: form.Get("vehicle_type"),
		Recipient: recipientBody{Name: form.Get("recipient.name"), PhoneNumber: form.Get("recipient.phone_number"), Address: addressBody{
			form.Get("recipient.address.address"), number(form.Get("recipient.address.latitude")),
			number(form.Get("recipient.address.longitude"))}},
		Payment: paymentBody{Type: form.Get("payment.type")},
	}
	if b.Payment.Type == string(domain.CashOnDelivery) {
		b.Payment.GoodsValue = number(form.Get("payment.goods_value"))
	}
	if b.PickupLocationID = form.Get("pickup_location_id"); b.PickupLocationID == "" {
		b.Pickup = &pickupBody{form.Get("pickup.name"), form.Get("pickup.contact"), form.Get("pickup.address"),
			number(form.Get("pickup.latitude")), number(form.Get("pickup.longitude"))}
	}
	if scenario := form.Get("sandbox.scenario"); scenario != "" {
		b.Sandbox = &planBody{Scenario: scenario, StepSeconds: stepSeconds(form.Get("sandbox.step_seconds"))}
	}
	return b
}

// bodyOf returns a request body that could have booked the delivery.
func bodyOf(d *domain.Delivery) orderBody {
	b := orderBody{
		ExternalID: d.ExternalID, VehicleType: string(d.VehicleType),
		Recipient: recipientBody{Name: d.Recipient.Name, PhoneNumber: string(d.Recipient.PhoneNumber), Address: addressBody{
			d.Dropoff.Address, d.Dropoff.Coordinates.Latitude, d.Dropoff.Coordinates.Longitude}},
		Pickup: &pickupBody{d.Pickup.Name, string(d.Pickup.Contact), d.Pickup.Address, d.Pickup.Coordinates.Latitude,
			d.Pickup.Coordinates.Longitude},
		Payment: paymentBody{Type: string(d.Payment.Type)},
	}
	if v := d.Payment.GoodsValue; v != nil {
		b.Payment.GoodsValue = json.RawMessage(v.Decimal())
	}
	if s := d.Simulation(); s != nil && s.Scenario != domain.ScenarioManual {
		b.Sandbox = &planBody{Scenario: string(s.Scenario), StepSeconds: s.StepSeconds}
	}
	return b
}

// bodyLike returns bodyOf with the ID of a pickup location that matches the pickup, if there is
// one.
func (p *Portal) bodyLike(c *call, d *domain.Delivery) (orderBody, error) {
	b := bodyOf(d)
	locations, err := p.PickupLocations.List(c.Ctx(), d.Tenant, domain.PickupLocationFilter{}, domain.PageRequest{Limit: 100})
	for _, l := range locations {
		if pickup, bad := l.Pickup(); bad == nil && pickup == d.Pickup {
			b.PickupLocationID, b.Pickup = string(l.ID), nil
			break
		}
	}
	return b, err
}

// bookCall returns the booking call as a program sends it.
func (p *Portal) bookCall(key string, body orderBody) (apiCall, error) {
	headers := [][2]string{{"Idempotency-Key", key}}
	return apiCall{Method: "POST", URL: p.options.SandboxBaseURL + "/deliveries", Headers: headers}.withBody(body)
}

func (p *Portal) bookForm(c *call, t domain.Tenant) (*bookView, error) {
	form := url.Values{}
	for name, values := range defaults {
		form[name] = values
	}
	for name, values := range c.Form {
		form[name] = values
	}
	v := &bookView{Once: form.Get("once")}
	if _, err := domain.ParseID(domain.PrefixDelivery, v.Once); err != nil {
		v.Once = string(p.options.Identifiers.ID(domain.PrefixDelivery))
	}
	locations, err := p.PickupLocations.List(c.Ctx(), t, domain.PickupLocationFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		return nil, err
	}
	v.Location = pages.Field{Name: "pickup_location_id", Label: "Collected at", Options: []pages.Option{}}
	for _, l := range locations {
		if _, err := l.Pickup(); err != nil {
			continue
		}
		if _, chosen := form["pickup_location_id"]; !chosen {
			form.Set("pickup_location_id", string(l.ID))
		}
		v.Location.Options = append(v.Location.Options, pages.Option{Value: string(l.ID), Text: l.Name + ", " + l.Address,
			Chosen: form.Get("pickup_location_id") == string(l.ID)})
	}
	v.Location.Options = append(v.Location.Options, pages.Option{Text: "The address below", Chosen: form.Get("pickup_location_id") == ""})
	field := func(f pages.Field) pages.Field {
		f.ID, f.Value = strings.ReplaceAll(f.Name, ".", "-"), form.Get(f.Name)
		for i, o := range f.Options {
			f.Options[i].Chosen = o.Value == f.Value
		}
		return c.Field(f)
	}
	v.Location = field(v.Location)
	v.Recipient = []pages.Field{
		field(pages.Field{Name: "recipient.name", Label: "Recipient"}),
		field(pages.Field{Name: "recipient.phone_number", Label: "Phone number", Type: "tel"}),
		field(pages.Field{Name: "recipient.address.address", Label: "Address"}),
		field(pages.Field{Name: "recipient.address.latitude", Label: "Latitude"}),
		field(pages.Field{Name: "recipient.address.longitude", Label: "Longitude"}),
	}
	v.Pickup = []pages.Field{
		field(pages.Field{Name: "pickup.name", Label: "Name of the place"}),
		field(pages.Field{Name: "pickup.contact", Label: "Its phone number", Type: "tel"}),
		field(pages.Field{Name: "pickup.address", Label: "Its address"}),
		field(pages.Field{Name: "pickup.latitude", Label: "Its latitude"}),
		field(pages.Field{Name: "pickup.longitude", Label: "Its longitude"}),
	}
	vehicle := pages.Field{Name: "vehicle_type", Label: "Vehicle"}
	for _, of := range domain.VehicleTypes() {
		vehicle.Options = append(vehicle.Options, pages.Option{Value: string(of), Text: string(of)})
	}
	payment := pages.Field{Name: "payment.type", Label: "Payment"}
	for _, of := range domain.PaymentTypes() {
		payment.Options = append(payment.Options, pages.Option{Value: string(of), Text: pages.Spaced(string(of))})
	}
	scenario := pages.Field{Name: "sandbox.scenario", Label: "Scenario", Options: []pages.Option{{Text: "none, I move it myself"}}}
	for _, of := range domain.Scenarios() {
		if of != domain.ScenarioManual {
			scenario.Options = append(scenario.Options, pages.Option{Value: string(of), Text: pages.Spaced(string(of))})
		}
	}
	amount := pages.Field{Name: "payment.goods_value", Label: amountLabel}
	v.Payment = []pages.Field{field(vehicle), field(payment), field(amount), field(scenario)}
	v.Moving = []pages.Field{
		field(pages.Field{Name: "sandbox.step_seconds", Label: "Seconds between steps", Type: "number"}),
		field(pages.Field{Name: "external_id", Label: "Your external_id, if any"}),
	}
	wrong := func(f pages.Field) bool { return f.Error != "" }
	v.Elsewhere = form.Get("pickup_location_id") == "" || slices.ContainsFunc(v.Pickup, wrong)
	v.More = slices.ContainsFunc(v.Moving, wrong)
	call, err := p.bookCall("sample-"+v.Once, bodyFrom(form))
	if err != nil {
		return nil, domain.Internal(err)
	}
	v.Samples = call.samples("book")
	return v, nil
}

const amountLabel = "Cash to collect, with cod"

// bookSample books the form's delivery, once.
func (p *Portal) bookSample(c *call) error {
	once, err := domain.ParseID(domain.PrefixDelivery, c.Form.Get("once"))
	if err != nil {
		return err
	}
	body, err := json.Marshal(bodyFrom(c.Form))
	if err != nil {
		return domain.Internal(err)
	}
	sample := deliveries.Sample{
		Application: domain.ID(c.Form.Get("application")), Key: "portal-" + string(once), Fingerprint: sha256.Sum256(body),
		Order: func() (deliveries.Order, error) { return p.options.ReadOrder(body) },
	}
	var id domain.ID
	err = p.charged(c, domain.Sandbox, func(ctx context.Context) (err error) {
		if err := p.openFor(c, sample.Application); err != nil && !domain.HasCode(err, domain.CodeWebhookEndpointLimit) {
			return err // a full inbox does not stop the booking
		}
		id, err = p.bookOrWait(ctx, c.Actor(), sample)
		return err
	})
	var e *domain.Error
	switch {
	case domain.HasCode(err, domain.CodeCODGoodsValueRequired):
		c.Faults = map[string]string{"payment.goods_value": "Enter an amount over 0 that the rider collects."}
		n := &pages.Notice{Tone: "bad", Title: "Nothing was booked", Lines: []string{"With the payment “cod”, “" + amountLabel +
			"” needs an amount over 0."}}
		return p.sandboxPage(c, pages.StatusOf(err), n)
	case domain.HasCode(err, domain.CodeIdempotencyInProgress):
		return p.sandboxPage(c, pages.StatusOf(err), &pages.Notice{Tone: "warn", Title: "The sample is being booked", Lines: []string{
			"The same form was sent a moment ago and is still being booked. Send it again to see the result. It books only once."}})
	case domain.HasCode(err, domain.CodeIdempotencyConflict):
		c.Form.Del("once") // the form gets a new one
		return p.sandboxPage(c, pages.StatusOf(err), &pages.Notice{Tone: "warn", Title: "Nothing was booked", Lines: []string{
			"This form has already booked a sample, and you changed it since. Send it again to book another one."}})
	case c.Wrong(err):
		errors.As(err, &e)
		n := &pages.Notice{Tone: "bad", Title: "Nothing was booked", Lines: []string{e.Message}}
		return p.sandboxPage(c, pages.StatusOf(err), n)
	case errors.As(err, &e) && (e.Kind == domain.KindConflict || e.Kind == domain.KindLimited || e.Code == domain.CodeQuoteUnavailable):
		return p.sandboxPage(c, pages.StatusOf(err), &pages.Notice{Tone: "bad", Title: "Nothing was booked", Lines: []string{e.Message}})
	case err != nil:
		return err
	}
	return c.Lead("/sandbox?delivery=" + string(id) + "&done=booked#machine")
}

// How long the second of two equal forms waits for the first one, and how often it checks.
const (
	bookingPatience = 3 * time.Second
	bookingPause    = 100 * time.Millisecond
)

// bookOrWait books a sample. If the same form is already being booked, it waits and returns that
// outcome, or the last IDEMPOTENCY_IN_PROGRESS.
func (p *Portal) bookOrWait(ctx context.Context, by domain.AuditActor, sample deliveries.Sample) (domain.ID, error) {
	until := time.Now().Add(bookingPatience)
	for {
		id, err := p.samples.Book(ctx, by, sample)
		if !domain.HasCode(err, domain.CodeIdempotencyInProgress) || time.Now().After(until) {
			return id, err
		}
		select {
		case <-time.After(bookingPause):
		case <-ctx.Done():
			return "", err
		}
	}
}

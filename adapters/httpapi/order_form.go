package httpapi

import (
	"errors"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/domain"
)

var orderShape = strictjson.Object{
	"external_id":          strictjson.Leaf,
	"recipient_id":         strictjson.Leaf,
	"recipient_address_id": strictjson.Leaf,
	"recipient": strictjson.Object{
		"name": strictjson.Leaf, "phone_number": strictjson.Leaf, "address": addressShape,
	},
	"pickup": strictjson.Object{
		"name": strictjson.Leaf, "contact": strictjson.Leaf, "address": strictjson.Leaf,
		"latitude": strictjson.Leaf, "longitude": strictjson.Leaf,
	},
	"pickup_location_id":    strictjson.Leaf,
	"payment":               strictjson.Object{"type": strictjson.Leaf, "goods_value": strictjson.Leaf},
	"vehicle_type":          strictjson.Leaf,
	"delivery_instructions": strictjson.Leaf,
	"sandbox":               planShape,
}

var planShape = strictjson.Object{"scenario": strictjson.Leaf, "step_seconds": strictjson.Leaf}

// bulkShape does not limit the number of items. The form does that.
var bulkShape = strictjson.Object{"deliveries": strictjson.ArrayOf(orderShape)}

// readOrder reads the body of a create.
func (a *API) readOrder(c *call) (deliveries.Order, error) {
	r := strictjson.NewReader(c.body)
	if err := a.refuseSandboxOnLive(r.Has("sandbox")); err != nil {
		return deliveries.Order{}, err
	}
	return a.readOrderFields(r), web.Problems(r)
}

// readBulk reads the body of a bulk create. The use case reports the errors of single items,
// together with all others.
func (a *API) readBulk(c *call) ([]bulk.Item, error) {
	r := strictjson.NewReader(c.body)
	// Checked in every item, even of too many, before any field is validated.
	if err := a.refuseSandboxOnLive(r.AnyHas("deliveries", "sandbox")); err != nil {
		return nil, err
	}
	orders := r.Array("deliveries", strictjson.Required, strictjson.Count(1, domain.MaxBulkItems))
	if err := web.Problems(r); err != nil {
		return nil, err
	}
	items := make([]bulk.Item, orders.Len())
	for i := range items {
		r := orders.Detached(i)
		items[i].Order = a.readOrderFields(r)
		items[i].Problems = web.FieldErrors(r, "")
	}
	return items, nil
}

func (a *API) refuseSandboxOnLive(sent bool) error {
	if a.Environment == domain.Sandbox || !sent {
		return nil
	}
	return &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeSandboxOnlyField,
		Message: "sandbox is for the sandbox host only. Leave it out on live, or call the sandbox with a test key."}
}

// readOrderFields reads one order and records every error of its fields. The use case checks
// how the fields fit together.
func (a *API) readOrderFields(r *strictjson.Reader) deliveries.Order {
	var o deliveries.Order
	o.ExternalID, _ = web.Text(r, "external_id", strictjson.Optional, domain.ExternalIDRule)
	o.RecipientID = identifier(r, "recipient_id")
	o.RecipientAddressID = identifier(r, "recipient_address_id")
	o.Recipient = a.readInlineRecipient(r)
	o.Pickup = a.readPickup(r)
	o.PickupLocationID = identifier(r, "pickup_location_id")
	o.Payment = a.readPayment(r)
	o.VehicleType = vehicleType(r)
	o.Instructions, _ = web.Text(r, "delivery_instructions", strictjson.Optional, domain.NotesRule)
	o.Simulation = readPlan(r.Object("sandbox", strictjson.Optional))
	return o
}

func (a *API) readInlineRecipient(parent *strictjson.Reader) *deliveries.InlineRecipient {
	r := parent.Object("recipient", strictjson.Optional)
	if r == nil {
		if parent.Has("recipient") {
			return &deliveries.InlineRecipient{} // it was sent, and reported as not an object
		}
		return nil
	}
	in := &deliveries.InlineRecipient{
		Name:        name(r, strictjson.Optional),
		PhoneNumber: a.phoneNumber(r, "phone_number", strictjson.Required),
	}
	if at := r.Object("address", strictjson.Required); at != nil {
		place, located := readPlace(at)
		in.Address, in.Coordinates, in.Label = place.Text, place.Coordinates, place.Label
		in.Municipality, in.DeliveryNotes = place.Municipality, place.DeliveryNotes
		if located && !a.ServiceArea.Contains(in.Coordinates) {
			rejectOutside(r, "address", in.Coordinates)
		}
	}
	return in
}

func (a *API) readPickup(parent *strictjson.Reader) *domain.Pickup {
	r := parent.Object("pickup", strictjson.Optional)
	if r == nil {
		if parent.Has("pickup") {
			return &domain.Pickup{} // as with a recipient
		}
		return nil
	}
	return &domain.Pickup{
		Name:        name(r, strictjson.Required),
		Contact:     a.phoneNumber(r, "contact", strictjson.Required),
		Address:     addressText(r, strictjson.Required),
		Coordinates: a.servedPoint(parent, r, "pickup"),
	}
}

// readPayment leaves an amount that cash on delivery cannot have (none, zero, negative) to the
// use case, which has its own error for it.
func (a *API) readPayment(parent *strictjson.Reader) domain.Payment {
	r := parent.Object("payment", strictjson.Required)
	if r == nil {
		return domain.Payment{}
	}
	kind, _ := r.Enum("type", strictjson.Required, web.Texts(domain.PaymentTypes()))
	p := domain.Payment{Type: domain.PaymentType(kind)}
	value, present := r.Decimal("goods_value", strictjson.Optional)
	switch {
	case !present:
	case p.Type == domain.DeliveryOnly:
		r.Reject("goods_value", strictjson.CodeNotAllowed, "goes with payment type cod only; leave it out, or send type cod")
	default:
		minor, err := value.AsDouble().MinorUnits(2, domain.MaxGoodsValueMinor)
		sent := strictjson.Shown(value.String())
		switch {
		case err != nil && value.Sign() <= 0:
			return p
		case errors.Is(err, strictjson.ErrTooLarge):
			r.Reject("goods_value", strictjson.CodeOutOfRange, "is at most 1000000; it is "+sent)
		case err != nil:
			r.Reject("goods_value", strictjson.CodeInvalidFormat, "has at most two decimals; it is "+sent)
		}
		p.GoodsValue = &domain.Money{Minor: minor, Currency: a.Currency}
	}
	return p
}

// readPlan reads the requested simulation. It returns nil when none was sent.
func readPlan(r *strictjson.Reader) *domain.Plan {
	if r == nil {
		return nil
	}
	scenario, _ := r.Enum("scenario", strictjson.Required, web.Texts(domain.Scenarios()))
	pace, sent := r.Integer("step_seconds", strictjson.Optional, strictjson.Between(1, domain.MaxStepSeconds))
	if !sent {
		pace = domain.DefaultStepSeconds
	}
	return &domain.Plan{Scenario: domain.Scenario(scenario), StepSeconds: pace}
}

package httpapi

import (
	"errors"
	"unicode"

	"waybill/adapters/httpapi/strictjson"
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
	"sandbox":               strictjson.Object{"scenario": strictjson.Leaf, "step_seconds": strictjson.Leaf},
}

// readOrder reads the body of a create and notes every problem of its fields.
// How they fit together is the use case's to judge.
func (a *API) readOrder(c *call) (deliveries.Order, error) {
	r := strictjson.NewReader(c.body)
	if c.environment == domain.Live && r.Has("sandbox") {
		return deliveries.Order{}, &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeSandboxOnlyField,
			Message: "sandbox is for the sandbox host only. Leave it out on live, or call the sandbox with a test key."}
	}
	var o deliveries.Order
	o.ExternalID = externalID(r)
	o.RecipientID = identifier(r, "recipient_id")
	o.RecipientAddressID = identifier(r, "recipient_address_id")
	o.Recipient = a.readInlineRecipient(r)
	o.Pickup = a.readPickup(r)
	o.PickupLocationID = identifier(r, "pickup_location_id")
	o.Payment = a.readPayment(r)
	o.VehicleType = vehicleType(r)
	o.Instructions, _ = r.Text("delivery_instructions", strictjson.Optional, strictjson.Length(0, 500), strictjson.Multiline())
	readSandbox(r)
	return o, problems(r)
}

func externalID(r *strictjson.Reader) string {
	id, _ := r.Text("external_id", strictjson.Optional, strictjson.Length(1, 128))
	for _, char := range id {
		if !unicode.IsPrint(char) {
			r.Reject("external_id", strictjson.CodeInvalidFormat, "may hold printable characters only")
			break
		}
	}
	return id
}

func (a *API) readInlineRecipient(parent *strictjson.Reader) *deliveries.InlineRecipient {
	r := parent.Object("recipient", strictjson.Optional)
	if r == nil {
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
			outside := domain.OutsideServiceArea("address")
			r.Reject(outside.Field, strictjson.Code(outside.Code), outside.Message)
		}
	}
	return in
}

func (a *API) readPickup(parent *strictjson.Reader) *domain.Pickup {
	r := parent.Object("pickup", strictjson.Optional)
	if r == nil {
		return nil
	}
	return &domain.Pickup{
		Name:        name(r, strictjson.Required),
		Contact:     a.phoneNumber(r, "contact", strictjson.Required),
		Address:     addressText(r, strictjson.Required),
		Coordinates: a.servedPoint(parent, r, "pickup"),
	}
}

// readPayment leaves an amount that cash on delivery cannot have (none, zero,
// negative) to the use case, whose error for it is its own.
func (a *API) readPayment(parent *strictjson.Reader) domain.Payment {
	r := parent.Object("payment", strictjson.Required)
	if r == nil {
		return domain.Payment{}
	}
	kind, _ := r.Enum("type", strictjson.Required, texts(domain.PaymentTypes()))
	p := domain.Payment{Type: domain.PaymentType(kind)}
	value, present := r.Decimal("goods_value", strictjson.Optional)
	switch {
	case !present:
	case p.Type == domain.DeliveryOnly:
		r.Reject("goods_value", strictjson.CodeNotAllowed, "goes with payment type cod only")
	case value.Sign() > 0:
		minor, err := value.MinorUnits(2, domain.MaxGoodsValueMinor)
		switch {
		case errors.Is(err, strictjson.ErrTooLarge):
			r.Reject("goods_value", strictjson.CodeOutOfRange, "is at most 1000000")
		case err != nil:
			r.Reject("goods_value", strictjson.CodeInvalidFormat, "has at most two decimals")
		}
		p.GoodsValue = &domain.Money{Minor: minor, Currency: a.Currency}
	}
	return p
}

// readSandbox takes the one scenario there is so far: a delivery that stays
// where it is until somebody moves it.
func readSandbox(parent *strictjson.Reader) {
	r := parent.Object("sandbox", strictjson.Optional)
	if r == nil {
		return
	}
	r.Enum("scenario", strictjson.Required, []string{string(domain.ScenarioManual)})
	r.Integer("step_seconds", strictjson.Optional, strictjson.Between(1, 300))
}

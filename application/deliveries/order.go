package deliveries

import (
	"context"
	"errors"

	"waybill/domain"
)

// Order holds the fields of a request, each valid by itself. This package checks whether they fit
// together and what they refer to.
type Order struct {
	ExternalID string

	// Recipient alone, or both IDs. The IDs are unparsed.
	Recipient          *InlineRecipient
	RecipientID        *string
	RecipientAddressID *string

	// Exactly one of the two is set.
	Pickup           *domain.Pickup
	PickupLocationID *string

	Payment      domain.Payment
	VehicleType  domain.VehicleType
	Instructions string
	Simulation   *domain.Plan // nil: no scenario moves the delivery
}

// InlineRecipient holds a person and an address that are looked up, or added.
type InlineRecipient struct {
	Name          string
	PhoneNumber   domain.PhoneNumber
	Address       string
	Coordinates   domain.Coordinates
	Label         string
	Municipality  string
	DeliveryNotes string
}

// incoherences lists the rules between fields that the order breaks, in the order in which they are
// reported.
func (o *Order) incoherences(sound func(fields ...string) bool) []error {
	var broken []error
	for _, err := range []error{o.recipientShape(), o.pickupShape()} {
		if err != nil {
			broken = append(broken, err)
		}
	}
	if sound("payment") {
		if err := o.Payment.Valid(); err != nil {
			broken = append(broken, err)
		}
	}
	return broken
}

func (o *Order) recipientShape() error {
	message := ""
	switch {
	case o.Recipient != nil && (o.RecipientID != nil || o.RecipientAddressID != nil):
		message = "Send recipient alone, or recipient_id with recipient_address_id; the request mixes them."
	case o.Recipient != nil, o.RecipientID != nil && o.RecipientAddressID != nil:
		return nil
	case o.RecipientID != nil:
		message = "recipient_id needs recipient_address_id beside it."
	case o.RecipientAddressID != nil:
		message = "recipient_address_id needs recipient_id beside it."
	default:
		message = "Send recipient, or recipient_id with recipient_address_id; the request has neither."
	}
	return &domain.Error{Kind: domain.KindInvalid, Code: domain.CodeRecipientShapeConflict, Message: message}
}

func (o *Order) pickupShape() error {
	return ExactlyOnePickup(o.Pickup != nil, o.PickupLocationID != nil)
}

// destination holds the recipient and address of an order, and which of them are new.
type destination struct {
	recipient    domain.Recipient
	newRecipient bool
	fillName     bool
	address      domain.Address
	newAddress   bool

	party   domain.Party
	dropoff domain.Dropoff
	field   string // of the request; errors about the address name it
}

// locate finds the recipient and address of an order. It writes nothing; the booking adds new ones.
func (d *Deliveries) locate(ctx context.Context, t domain.Tenant, o *Order) (destination, error) {
	if o.Recipient == nil {
		return d.locateSaved(ctx, t, o)
	}
	return d.locateInline(ctx, t, o.Recipient)
}

func (d *Deliveries) locateSaved(ctx context.Context, t domain.Tenant, o *Order) (destination, error) {
	recipientID, err := domain.ParseID(domain.PrefixRecipient, *o.RecipientID)
	if err != nil {
		return destination{}, err
	}
	addressID, err := domain.ParseID(domain.PrefixAddress, *o.RecipientAddressID)
	if err != nil {
		return destination{}, err
	}
	recipient, err := d.storage.Read().Recipients.Get(ctx, t, recipientID)
	if err != nil {
		return destination{}, err
	}
	address, err := d.storage.Read().Recipients.GetAddress(ctx, t, addressID)
	if err != nil {
		return destination{}, err
	}
	if address.RecipientID != recipient.ID {
		return destination{}, domain.ErrNotFound
	}
	return destination{
		recipient: recipient, address: address, field: "recipient_address_id",
		party: domain.Party{ID: recipient.ID, Name: recipient.Name, PhoneNumber: recipient.PhoneNumber},
		dropoff: domain.Dropoff{
			ID: address.ID, Address: address.Text, Coordinates: address.Coordinates, Label: address.Label,
			Municipality: address.Municipality, DeliveryNotes: address.DeliveryNotes,
		},
	}, nil
}

func (d *Deliveries) locateInline(ctx context.Context, t domain.Tenant, in *InlineRecipient) (destination, error) {
	to := destination{
		field: "recipient.address",
		party: domain.Party{Name: in.Name, PhoneNumber: in.PhoneNumber},
		dropoff: domain.Dropoff{
			Address: in.Address, Coordinates: in.Coordinates, Label: in.Label,
			Municipality: in.Municipality, DeliveryNotes: in.DeliveryNotes,
		},
	}
	recipient, err := d.storage.Read().Recipients.FindByPhone(ctx, t, in.PhoneNumber)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		to.newRecipient = true
		recipient = domain.Recipient{
			ID: d.ids.ID(domain.PrefixRecipient), PhoneNumber: in.PhoneNumber, Name: in.Name,
		}
	case err != nil:
		return destination{}, err
	case in.Name == "":
		to.party.Name = recipient.Name
	case recipient.Name == "":
		recipient.Name, to.fillName = in.Name, true
	}
	to.recipient, to.party.ID = recipient, recipient.ID

	matchKey := d.normalizer.MatchKey(in.Address)
	address, err := domain.Address{}, error(domain.ErrNotFound)
	if !to.newRecipient {
		address, err = d.storage.Read().Recipients.FindAddress(ctx, t, recipient.ID, matchKey)
	}
	switch {
	case errors.Is(err, domain.ErrNotFound):
		to.newAddress = true
		address = domain.Address{
			ID: d.ids.ID(domain.PrefixAddress), RecipientID: recipient.ID,
			Label: in.Label, Text: in.Address, MatchKey: matchKey, Coordinates: in.Coordinates,
			Municipality: in.Municipality, DeliveryNotes: in.DeliveryNotes,
		}
	case err != nil:
		return destination{}, err
	}
	to.address, to.dropoff.ID = address, address.ID
	return to, nil
}

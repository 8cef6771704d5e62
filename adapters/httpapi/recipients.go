package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/adapters/web/views"
	"waybill/application/directory"
	"waybill/domain"
)

var recipientShape = strictjson.Object{"phone_number": strictjson.Leaf, "name": strictjson.Leaf}

var addressShape = strictjson.Object{
	"label": strictjson.Leaf, "address": strictjson.Leaf,
	"latitude": strictjson.Leaf, "longitude": strictjson.Leaf,
	"municipality": strictjson.Leaf, "delivery_notes": strictjson.Leaf,
}

func (a *API) createRecipient(c *call) (reply, error) {
	return replyOf(a.Recipients.Create(c.Request.Context(), c.idempotencyRequest(),
		func() (directory.Person, error) {
			r := strictjson.NewReader(c.body)
			person := directory.Person{
				PhoneNumber: a.phoneNumber(r, "phone_number", strictjson.Required),
				Name:        name(r, strictjson.Optional),
			}
			return person, web.Problems(r)
		},
		func(stored domain.Recipient, created bool) domain.Answer {
			if !created {
				return answer(http.StatusOK, "", "Recipient found.", views.NewRecipient(stored))
			}
			return answer(http.StatusCreated, a.BaseURL+"/recipients/"+string(stored.ID), "Recipient created.", views.NewRecipient(stored))
		}))
}

func (a *API) listRecipients(c *call) (reply, error) {
	filter := domain.RecipientFilter{Search: c.query.Text("search", domain.MaxSearch)}
	if sent := c.query.Get("phone_number"); sent != "" {
		// An unencoded + arrives as a space.
		if strings.HasPrefix(sent, " ") {
			sent = "+" + sent[1:]
		}
		phone, ok := domain.ParsePhoneNumber(sent)
		if !ok {
			c.query.Reject("phone_number", domain.FieldInvalidFormat, "must be the normalized form, such as %2B233201234567; "+aboutPhone(sent))
		}
		filter.PhoneNumber = phone
	}
	p, err := a.pageRequest(c, domain.PrefixRecipient)
	if err != nil {
		return reply{}, err
	}
	found, err := a.Recipients.List(c.Request.Context(), c.tenant, filter, p)
	if err != nil {
		return reply{}, err
	}
	found, m := page(a, c, found, p.Limit, func(r domain.Recipient) domain.Position {
		return domain.Position{CreatedAt: r.CreatedAt, ID: r.ID}
	})
	return list("Recipients listed.", web.Each(found, views.NewRecipient), m), nil
}

func (a *API) getRecipient(c *call) (reply, error) {
	found, err := a.Recipients.Get(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	return ok("Recipient found.", views.NewRecipient(found)), nil
}

func (a *API) recipientExists(ctx context.Context, t domain.Tenant, id domain.ID) error {
	_, err := a.Recipients.Get(ctx, t, id)
	return err
}

func (a *API) addAddress(c *call) (reply, error) {
	return replyOf(a.Recipients.AddAddress(c.Request.Context(), c.idempotencyRequest(), c.id,
		func() (directory.Place, error) {
			r := strictjson.NewReader(c.body)
			place, _ := readPlace(r)
			return place, web.Problems(r)
		},
		func(stored domain.Address, created bool) domain.Answer {
			if !created {
				return answer(http.StatusOK, "", "Address found.", views.NewAddress(stored))
			}
			return answer(http.StatusCreated, a.BaseURL+"/recipient-addresses/"+string(stored.ID), "Address created.", views.NewAddress(stored))
		}))
}

func (a *API) listAddresses(c *call) (reply, error) {
	found, err := a.Recipients.Addresses(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	found, m, err := wholeOrPage(a, c, domain.PrefixAddress, found, func(a domain.Address) domain.Position {
		return domain.Position{CreatedAt: a.CreatedAt, ID: a.ID}
	})
	if err != nil {
		return reply{}, err
	}
	return list("Addresses listed.", web.Each(found, views.NewAddress), m), nil
}

func (a *API) getAddress(c *call) (reply, error) {
	found, err := a.Recipients.Address(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	return ok("Address found.", views.NewAddress(found)), nil
}

func (a *API) addressExists(ctx context.Context, t domain.Tenant, id domain.ID) error {
	_, err := a.Recipients.Address(ctx, t, id)
	return err
}

// readPlace reads an address, of the directory or inline, and reports whether its coordinates
// are valid.
func readPlace(r *strictjson.Reader) (p directory.Place, located bool) {
	p.Label, _ = web.Text(r, "label", strictjson.Optional, domain.LabelRule)
	p.Text = addressText(r, strictjson.Required)
	p.Coordinates, located = point(r)
	p.Municipality, _ = web.Text(r, "municipality", strictjson.Optional, domain.MunicipalityRule)
	p.DeliveryNotes, _ = web.Text(r, "delivery_notes", strictjson.Optional, domain.NotesRule)
	return p, located
}

func name(r *strictjson.Reader, need strictjson.Need) string {
	value, _ := web.Text(r, "name", need, domain.NameRule)
	return value
}

func addressText(r *strictjson.Reader, need strictjson.Need) string {
	value, _ := web.Text(r, "address", need, domain.AddressRule)
	return value
}

// phoneNumber reads and normalizes a phone number, or records an error. An invalid number must
// not reach a rider.
func (a *API) phoneNumber(r *strictjson.Reader, field string, need strictjson.Need) domain.PhoneNumber {
	typed, present := r.Text(field, need, strictjson.Length(1, domain.MaxTypedPhone))
	if !present {
		return ""
	}
	number, ok := a.Normalizer.PhoneNumber(typed)
	if !ok {
		r.Reject(field, strictjson.CodeInvalidFormat, "not a valid phone number; send it as +233201234567, or as people dial it at home; "+
			aboutPhone(typed))
	}
	return number
}

// aboutPhone describes the number that was sent without repeating it. It is personal data, and
// messages end up in logs.
func aboutPhone(sent string) string {
	const enough = 6 // digits; the last two reveal no number
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, sent)
	about := fmt.Sprintf("the one sent has %d digits", len(digits))
	if len(digits) >= enough {
		about += " and ends in " + digits[len(digits)-2:]
	}
	if strings.ContainsFunc(sent, unicode.IsLetter) {
		about += ", with letters among them"
	}
	if strings.ContainsFunc(sent, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsDigit(r) }) {
		about += "; other digits than 0 to 9 are not read"
	}
	return about
}

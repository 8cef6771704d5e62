package httpapi

import (
	"context"
	"net/http"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/adapters/web/views"
	"waybill/application/directory"
	"waybill/domain"
)

var pickupLocationShape = strictjson.Object{
	"name": strictjson.Leaf, "contact": strictjson.Leaf, "address": strictjson.Leaf,
	"latitude": strictjson.Leaf, "longitude": strictjson.Leaf, "active": strictjson.Leaf,
}

func (a *API) listPickupLocations(c *call) (reply, error) {
	filter := domain.PickupLocationFilter{Search: c.query.Text("search", domain.MaxSearch)}
	if sent := c.query.OneOf("active", "true", "false"); sent != "" {
		active := sent == "true"
		filter.Active = &active
	}
	p, err := a.pageRequest(c, domain.PrefixPickupLocation)
	if err != nil {
		return reply{}, err
	}
	found, err := a.PickupLocations.List(c.Request.Context(), c.tenant, filter, p)
	if err != nil {
		return reply{}, err
	}
	found, m := page(a, c, found, p.Limit, func(l domain.PickupLocation) domain.Position {
		return domain.Position{CreatedAt: l.CreatedAt, ID: l.ID}
	})
	return list("Pickup locations listed.", web.Each(found, views.NewPickupLocation), m), nil
}

func (a *API) getPickupLocation(c *call) (reply, error) {
	found, err := a.PickupLocations.Get(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	return ok("Pickup location found.", views.NewPickupLocation(found)), nil
}

func (a *API) pickupLocationExists(ctx context.Context, t domain.Tenant, id domain.ID) error {
	_, err := a.PickupLocations.Get(ctx, t, id)
	return err
}

func (a *API) createPickupLocation(c *call) (reply, error) {
	return replyOf(a.PickupLocations.Create(c.Request.Context(), c.idempotencyRequest(),
		func() (directory.PickupLocationForm, error) { return a.readPickupLocation(c.body) },
		func(stored domain.PickupLocation) domain.Answer {
			return answer(http.StatusCreated, a.BaseURL+"/pickup-locations/"+string(stored.ID),
				"Pickup location created.", views.NewPickupLocation(stored))
		}))
}

// readPickupLocation accepts a location without its contact or coordinates. It cannot be used
// until a PATCH adds them.
func (a *API) readPickupLocation(body *strictjson.Value) (directory.PickupLocationForm, error) {
	r := strictjson.NewReader(body)
	form := directory.PickupLocationForm{
		Name:    name(r, strictjson.Required),
		Contact: a.phoneNumber(r, "contact", strictjson.Optional),
		Address: addressText(r, strictjson.Required),
		Active:  true,
	}
	if r.Has("latitude") || r.Has("longitude") {
		if at, sound := point(r); sound {
			form.Coordinates = &at
		}
	}
	if active, present := r.Bool("active", strictjson.Optional); present {
		form.Active = active
	}
	return form, web.Problems(r)
}

func (a *API) changePickupLocation(c *call) (reply, error) {
	return replyOf(a.PickupLocations.Change(c.Request.Context(), c.idempotencyRequest(), c.id,
		func() (domain.PickupLocationChange, error) { return a.readPickupLocationChange(c.body) },
		func(stored domain.PickupLocation) domain.Answer {
			return answer(http.StatusOK, "", "Pickup location updated.", views.NewPickupLocation(stored))
		}))
}

func (a *API) readPickupLocationChange(body *strictjson.Value) (domain.PickupLocationChange, error) {
	r := strictjson.NewReader(body)
	var change domain.PickupLocationChange
	web.NeedOne(r, "name", "contact", "address", "latitude", "longitude", "active")
	change.Name = strictjson.Ptr(web.Text(r, "name", strictjson.Optional, domain.NameRule))
	if r.Has("contact") {
		contact := a.phoneNumber(r, "contact", strictjson.Required)
		change.Contact = &contact
	}
	change.Address = strictjson.Ptr(web.Text(r, "address", strictjson.Optional, domain.AddressRule))
	change.Latitude = strictjson.Ptr(web.Latitude(r, strictjson.Optional))
	change.Longitude = strictjson.Ptr(web.Longitude(r, strictjson.Optional))
	change.Active = strictjson.Ptr(r.Bool("active", strictjson.Optional))
	return change, web.Problems(r)
}

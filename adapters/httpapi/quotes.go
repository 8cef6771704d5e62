package httpapi

import (
	"fmt"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/adapters/web/views"
	"waybill/application/deliveries"
	"waybill/domain"
)

var pointShape = strictjson.Object{"latitude": strictjson.Leaf, "longitude": strictjson.Leaf}

var quoteShape = strictjson.Object{
	"pickup":             pointShape,
	"pickup_location_id": strictjson.Leaf,
	"dropoff":            pointShape,
	"vehicle_type":       strictjson.Leaf,
}

func (a *API) quote(c *call) (reply, error) {
	question, err := a.readQuestion(c.body)
	if err != nil {
		return reply{}, err
	}
	q, err := a.Quotes.Quote(c.Request.Context(), c.tenant, question)
	if err != nil {
		return reply{}, err
	}
	return ok("Quote calculated.", views.NewQuote(c.environment, question.VehicleType, q)), nil
}

func (a *API) readQuestion(body *strictjson.Value) (deliveries.QuoteQuestion, error) {
	r := strictjson.NewReader(body)
	var q deliveries.QuoteQuestion
	if pickup := r.Object("pickup", strictjson.Optional); pickup != nil {
		at := a.servedPoint(r, pickup, "pickup")
		q.Pickup = &at
	}
	q.PickupLocationID = identifier(r, "pickup_location_id")
	if dropoff := r.Object("dropoff", strictjson.Required); dropoff != nil {
		q.Dropoff = a.servedPoint(r, dropoff, "dropoff")
	}
	q.VehicleType = vehicleType(r)
	return q, web.Problems(r)
}

func (a *API) servedPoint(parent, r *strictjson.Reader, field string) domain.Coordinates {
	at, sound := point(r)
	if sound && !a.ServiceArea.Contains(at) {
		rejectOutside(parent, field, at)
	}
	return at
}

// rejectOutside records an error for a point outside the service area.
func rejectOutside(r *strictjson.Reader, field string, at domain.Coordinates) {
	outside := domain.OutsideServiceArea(field)
	r.Reject(field, strictjson.Code(outside.Code), fmt.Sprintf("latitude %g, longitude %g: %s", at.Latitude, at.Longitude, outside.Message))
}

func point(r *strictjson.Reader) (at domain.Coordinates, sound bool) {
	latitude, hasLatitude := web.Latitude(r, strictjson.Required)
	longitude, hasLongitude := web.Longitude(r, strictjson.Required)
	return domain.Coordinates{Latitude: latitude, Longitude: longitude}, hasLatitude && hasLongitude
}

func vehicleType(r *strictjson.Reader) domain.VehicleType {
	v, _ := r.Enum("vehicle_type", strictjson.Required, web.Texts(domain.VehicleTypes()))
	return domain.VehicleType(v)
}

// identifier reads an ID as it was sent, whatever characters it has. The use case decides
// whether it exists.
func identifier(r *strictjson.Reader, name string) *string {
	id, ok := r.Text(name, strictjson.Optional, strictjson.AnyCharacter())
	if !ok && !r.Has(name) {
		return nil
	}
	return &id // also where it was reported as not a string: it was sent
}

package opsapi

import (
	"strings"

	"waybill/adapters/web/strictjson"
	"waybill/domain"
)

// Route is one operation as the description names it.
type Route struct {
	Method string
	Path   string // after /ops/v1, with {names}
	Open   bool   // needs no token
	Kinds  []domain.OperatorKind
}

// Routes lists every operation of the API.
func Routes() []Route {
	out := make([]Route, 0, len(routes))
	for _, r := range routes {
		kinds := append([]domain.OperatorKind{domain.OperatorAdmin}, r.kinds...)
		if r.open {
			kinds = nil
		}
		out = append(out, Route{r.method, r.path, r.open, kinds})
	}
	return out
}

// route is an operation as data: what to check, and which handler to call.
type route struct {
	method, path string
	open         bool                  // needs no token
	kinds        []domain.OperatorKind // kinds of operators that may call it, in addition to admins
	query        []string              // the allowed parameters
	body         strictjson.Shape      // nil: takes none
	csv          bool                  // takes a CSV table instead
	handle       func(m *Management, c *call) (reply, error)
}

const pickups = "/businesses/{business_id}/environments/{environment}/pickup-locations"

// The kinds of operators that may call a route, in addition to admins.
var (
	readers     = []domain.OperatorKind{domain.OperatorReadOnly}
	dispatchers = []domain.OperatorKind{domain.OperatorDispatcher}
	deliverers  = []domain.OperatorKind{domain.OperatorDispatcher, domain.OperatorReadOnly}
)

// routes lists the whole operations API. A route without kinds is for admins.
var routes = []route{
	{method: "GET", path: "/openapi.json", open: true, handle: (*Management).openAPIJSON},
	{method: "GET", path: "/openapi.yaml", open: true, handle: (*Management).openAPIYAML},

	{method: "POST", path: "/businesses", body: businessShape, handle: (*Management).createBusiness},
	{method: "GET", path: "/businesses", kinds: readers, query: []string{"cursor", "limit"}, handle: (*Management).listBusinesses},
	{method: "GET", path: "/businesses/{business_id}", kinds: readers, handle: (*Management).getBusiness},
	{method: "PATCH", path: "/businesses/{business_id}", body: businessChangeShape, handle: (*Management).changeBusiness},

	{method: "POST", path: "/businesses/{business_id}/portal-links", body: portalLinkShape, handle: (*Management).createPortalLink},

	{method: "POST", path: "/businesses/{business_id}/applications", body: applicationShape, handle: (*Management).createApplication},
	{method: "GET", path: "/businesses/{business_id}/applications", kinds: readers, handle: (*Management).listApplications},
	{method: "GET", path: "/applications/{application_id}", kinds: readers, handle: (*Management).getApplication},
	{method: "PATCH", path: "/applications/{application_id}", body: programShape, handle: (*Management).changeApplication},

	{method: "POST", path: "/applications/{application_id}/keys", body: keyShape, handle: (*Management).createKey},
	{method: "GET", path: "/applications/{application_id}/keys", kinds: readers, handle: (*Management).listKeys},
	{method: "GET", path: "/keys/{key_id}", kinds: readers, handle: (*Management).getKey},
	{method: "POST", path: "/keys/{key_id}/rotate", handle: (*Management).rotateKey},
	{method: "POST", path: "/keys/{key_id}/revoke", handle: (*Management).revokeKey},

	{method: "GET", path: pickups, kinds: readers, query: []string{"search", "active", "cursor", "limit"},
		handle: (*Management).listPickupLocations},
	{method: "POST", path: pickups, body: pickupLocationShape, handle: (*Management).createPickupLocation},
	{method: "POST", path: pickups + "/import", query: []string{"dry_run"}, csv: true, handle: (*Management).importPickupLocations},
	{method: "GET", path: pickups + "/{pickup_location_id}", kinds: readers, handle: (*Management).getPickupLocation},
	{method: "PATCH", path: pickups + "/{pickup_location_id}", body: pickupLocationShape, handle: (*Management).changePickupLocation},

	{
		method: "GET", path: "/deliveries", kinds: deliverers, handle: (*Management).searchDeliveries,
		query: []string{
			"id", "reference", "external_id", "status", "business_id", "application_id", "environment",
			"created_after", "created_before", "status_older_than", "order", "cursor", "limit",
		},
	},
	{method: "GET", path: "/deliveries/{delivery_id}", kinds: deliverers, handle: (*Management).getDelivery},
	{method: "POST", path: "/deliveries/{delivery_id}/advance", kinds: dispatchers, body: advanceShape, handle: (*Management).advanceDelivery},

	{method: "POST", path: "/deliveries/advance", kinds: dispatchers, body: advanceManyShape, handle: (*Management).advanceDeliveries},
	{method: "GET", path: "/events", kinds: deliverers, handle: (*Management).listEvents,
		query: []string{"environment", "types", "business_id", "created_after", "cursor", "limit"}},

	{
		method: "GET", path: "/requests", kinds: readers, handle: (*Management).listRequests,
		query: []string{
			"business", "application", "key", "environment", "delivery", "status", "code", "route", "request_id", "failed",
			"created_after", "created_before", "cursor", "limit",
		},
	},

	{method: "GET", path: "/audit", kinds: readers, query: []string{"operator_id", "person_id", "business_id", "action", "target", "cursor",
		"limit"}, handle: (*Management).listAudit},
}

// ginPath returns the path in gin's notation: {id} becomes :id.
func (r *route) ginPath() string {
	return base + strings.NewReplacer("{", ":", "}", "").Replace(r.path)
}

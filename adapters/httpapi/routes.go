package httpapi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"waybill/adapters/web/strictjson"
	"waybill/domain"
)

// Route is one operation as the description names it.
type Route struct {
	Method string
	Path   string         // after the base URL, with {names}
	Scopes []domain.Scope // all of them are required; none: any key will do
	Open   bool           // needs no key and is not counted

	// FieldScopes are required in addition when the body has the field.
	FieldScopes map[string]domain.Scope

	SandboxOnly bool // does not exist on live
}

// Routes lists every operation of the API.
func Routes() []Route {
	out := make([]Route, 0, len(routes))
	for _, r := range routes {
		out = append(out, Route{
			Method: r.method, Path: r.path, Scopes: slices.Clone(r.scopes), FieldScopes: maps.Clone(r.fieldScopes),
			Open: r.open, SandboxOnly: r.sandboxOnly,
		})
	}
	return out
}

// keyRule says how an operation uses the Idempotency-Key header.
type keyRule int

const (
	keyIgnored keyRule = iota
	keyOptional
	keyRequired
)

// route is an operation as data: what to check, in the order of the fields, and which handler
// to call.
type route struct {
	method, path string
	sandboxOnly  bool           // does not exist on live
	open         bool           // needs no key and is not counted
	scopes       []domain.Scope // all of them are required; none: any key will do
	id           domain.Prefix  // of the one ID in the path
	exists       func(a *API, ctx context.Context, t domain.Tenant, id domain.ID) error
	readsLate    bool     // the handler reads the record itself and reports that it does not exist
	list         bool     // returns a page of an unbounded list: an application may run few of these at a time
	bulk         bool     // does the work of many requests: an application may run few of these at a time, with their bodies, in addition to those in flight
	query        []string // the allowed parameters
	key          keyRule
	body         strictjson.Shape        // nil: takes none
	fieldScopes  map[string]domain.Scope // required in addition when the body has the field
	mayBeEmpty   bool                    // an empty body counts as {}
	maxBody      int64                   // bytes; 0: the limit of one record
	handle       func(a *API, c *call) (reply, error)
}

// The scopes of the routes that need one. Routes that choose where payloads go, or fetch them,
// also need the scope to read deliveries: payloads contain deliveries.
var (
	quotesRead      = []domain.Scope{domain.ScopeQuotesRead}
	recipientsRead  = []domain.Scope{domain.ScopeRecipientsRead}
	recipientsWrite = []domain.Scope{domain.ScopeRecipientsWrite}
	deliveriesRead  = []domain.Scope{domain.ScopeDeliveriesRead}
	deliveriesWrite = []domain.Scope{domain.ScopeDeliveriesWrite}
	webhooksRead    = []domain.Scope{domain.ScopeWebhooksRead}
	webhooksWrite   = []domain.Scope{domain.ScopeWebhooksWrite}
	payloadsWrite   = []domain.Scope{domain.ScopeWebhooksWrite, domain.ScopeDeliveriesRead}
)

// maxBulkBody limits the bytes of the body of a bulk create.
const maxBulkBody = 1 << 20

// routes lists the whole public API.
var routes = []route{
	{method: "GET", path: "/openapi.json", open: true, handle: (*API).openAPIJSON},
	{method: "GET", path: "/openapi.yaml", open: true, handle: (*API).openAPIYAML},
	{method: "GET", path: "/api-key", handle: (*API).showAPIKey},

	{method: "POST", path: "/quotes", scopes: quotesRead, body: quoteShape, handle: (*API).quote},

	{
		method: "POST", path: "/recipients", scopes: recipientsWrite,
		key: keyRequired, body: recipientShape, handle: (*API).createRecipient,
	},
	{
		method: "GET", path: "/recipients", scopes: recipientsRead,
		query: []string{"search", "phone_number", "cursor", "limit"}, list: true, handle: (*API).listRecipients,
	},
	{
		method: "GET", path: "/recipients/{recipient_id}", scopes: recipientsRead,
		id: domain.PrefixRecipient, exists: (*API).recipientExists, readsLate: true, handle: (*API).getRecipient,
	},
	{
		method: "POST", path: "/recipients/{recipient_id}/addresses", scopes: recipientsWrite,
		id: domain.PrefixRecipient, exists: (*API).recipientExists,
		key: keyRequired, body: addressShape, handle: (*API).addAddress,
	},
	{
		method: "GET", path: "/recipients/{recipient_id}/addresses", scopes: recipientsRead,
		id: domain.PrefixRecipient, exists: (*API).recipientExists, readsLate: true,
		query: []string{"cursor", "limit"}, handle: (*API).listAddresses,
	},
	{
		method: "GET", path: "/recipient-addresses/{address_id}", scopes: recipientsRead,
		id: domain.PrefixAddress, exists: (*API).addressExists, readsLate: true, handle: (*API).getAddress,
	},

	{
		method: "GET", path: "/pickup-locations", scopes: deliveriesRead,
		query: []string{"search", "active", "cursor", "limit"}, list: true, handle: (*API).listPickupLocations,
	},
	{
		method: "POST", path: "/pickup-locations", scopes: deliveriesWrite,
		key: keyRequired, body: pickupLocationShape, handle: (*API).createPickupLocation,
	},
	{
		method: "GET", path: "/pickup-locations/{pickup_location_id}", scopes: deliveriesRead,
		id: domain.PrefixPickupLocation, exists: (*API).pickupLocationExists, readsLate: true, handle: (*API).getPickupLocation,
	},
	{
		method: "PATCH", path: "/pickup-locations/{pickup_location_id}", scopes: deliveriesWrite,
		id: domain.PrefixPickupLocation, exists: (*API).pickupLocationExists,
		key: keyOptional, body: pickupLocationShape, handle: (*API).changePickupLocation,
	},

	{
		method: "POST", path: "/deliveries", scopes: deliveriesWrite,
		key: keyRequired, body: orderShape, handle: (*API).createDelivery,
	},
	{
		method: "POST", path: "/deliveries/bulk", scopes: deliveriesWrite,
		key: keyRequired, body: bulkShape, maxBody: maxBulkBody, bulk: true, handle: (*API).createDeliveries,
	},
	{
		method: "GET", path: "/deliveries", scopes: deliveriesRead,
		query: []string{"status", "external_id", "created_after", "created_before", "order", "cursor", "limit"},
		list:  true, handle: (*API).listDeliveries,
	},
	{
		method: "GET", path: "/deliveries/{delivery_id}", scopes: deliveriesRead,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, readsLate: true, handle: (*API).getDelivery,
	},
	{
		method: "GET", path: "/deliveries/{delivery_id}/events", scopes: deliveriesRead,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, readsLate: true,
		query: []string{"cursor", "limit"}, handle: (*API).listEvents,
	},
	{
		method: "POST", path: "/deliveries/{delivery_id}/cancel", scopes: deliveriesWrite,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, key: keyOptional, handle: (*API).cancelDelivery,
	},

	{
		method: "GET", path: "/events", scopes: deliveriesRead,
		query: []string{"type", "delivery_id", "created_after", "cursor", "limit"}, list: true, handle: (*API).listFeed,
	},

	{
		method: "POST", path: "/webhook-endpoints", scopes: payloadsWrite,
		key: keyRequired, body: webhookEndpointShape, handle: (*API).createWebhookEndpoint,
	},
	{
		method: "GET", path: "/webhook-endpoints", scopes: webhooksRead,
		query: []string{"cursor", "limit"}, list: true, handle: (*API).listWebhookEndpoints,
	},
	{
		method: "GET", path: "/webhook-endpoints/{webhook_endpoint_id}", scopes: webhooksRead,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists, readsLate: true, handle: (*API).getWebhookEndpoint,
	},
	{
		method: "PATCH", path: "/webhook-endpoints/{webhook_endpoint_id}", scopes: webhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists,
		key: keyOptional, body: webhookEndpointShape,
		// Other changes by PATCH send payloads to no new address: a key with both scopes chose
		// the present one.
		fieldScopes: map[string]domain.Scope{"url": domain.ScopeDeliveriesRead}, handle: (*API).changeWebhookEndpoint,
	},
	{
		method: "DELETE", path: "/webhook-endpoints/{webhook_endpoint_id}", scopes: webhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists, readsLate: true,
		key: keyOptional, handle: (*API).deleteWebhookEndpoint,
	},
	{
		method: "POST", path: "/webhook-endpoints/{webhook_endpoint_id}/rotate-secret", scopes: webhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists,
		key: keyOptional, body: rotationShape, mayBeEmpty: true, handle: (*API).rotateWebhookSecret,
	},
	{
		method: "POST", path: "/webhook-endpoints/{webhook_endpoint_id}/test", scopes: webhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists, key: keyOptional, handle: (*API).testWebhookEndpoint,
	},
	{
		method: "POST", path: "/webhook-endpoints/{webhook_endpoint_id}/recover", scopes: webhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists,
		key: keyOptional, body: recoveryShape, handle: (*API).recoverWebhooks,
	},
	{
		method: "GET", path: "/webhook-endpoints/{webhook_endpoint_id}/deliveries", scopes: webhooksRead,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists,
		query: []string{"status", "event_type", "delivery_id", "created_after", "created_before", "cursor", "limit"},
		list:  true, handle: (*API).listWebhookDeliveries,
	},
	{
		method: "GET", path: "/webhook-deliveries/{webhook_delivery_id}", scopes: webhooksRead,
		id: domain.PrefixWebhookDelivery, exists: (*API).webhookDeliveryExists, readsLate: true, handle: (*API).getWebhookDelivery,
	},
	{
		method: "GET", path: "/webhook-deliveries/{webhook_delivery_id}/attempts", scopes: webhooksRead,
		id: domain.PrefixWebhookDelivery, exists: (*API).webhookDeliveryExists, readsLate: true,
		query: []string{"cursor", "limit"}, handle: (*API).listWebhookAttempts,
	},
	{
		method: "POST", path: "/webhook-deliveries/{webhook_delivery_id}/redeliver", scopes: webhooksWrite,
		id: domain.PrefixWebhookDelivery, exists: (*API).webhookDeliveryExists, key: keyOptional, handle: (*API).redeliverWebhook,
	},

	{
		method: "POST", path: "/webhook-listeners", sandboxOnly: true, scopes: payloadsWrite,
		key: keyOptional, body: listenerShape, mayBeEmpty: true, handle: (*API).createListener,
	},
	{
		method: "POST", path: "/webhook-listeners/{webhook_listener_id}/fetch", sandboxOnly: true, scopes: payloadsWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).listenerExists, body: fetchShape, mayBeEmpty: true,
		handle: (*API).fetchWebhooks,
	},
	{
		method: "DELETE", path: "/webhook-listeners/{webhook_listener_id}", sandboxOnly: true, scopes: webhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).listenerExists, readsLate: true,
		key: keyOptional, handle: (*API).deleteListener,
	},

	{
		method: "POST", path: "/test-helpers/deliveries/{delivery_id}/transition", sandboxOnly: true, scopes: deliveriesWrite,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, key: keyOptional, body: transitionShape, handle: (*API).transitionDelivery,
	},
	{
		method: "POST", path: "/test-helpers/deliveries/{delivery_id}/simulation", sandboxOnly: true, scopes: deliveriesWrite,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, key: keyOptional, body: planShape, handle: (*API).startSimulation,
	},
	{
		method: "DELETE", path: "/test-helpers/deliveries/{delivery_id}/simulation", sandboxOnly: true, scopes: deliveriesWrite,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, key: keyOptional, handle: (*API).stopSimulation,
	},
}

// ginPath returns the path in gin's notation: {id} becomes :id.
func (r *route) ginPath() string {
	return strings.NewReplacer("{", ":", "}", "").Replace(r.path)
}

// pathID returns the name of the one ID in the path.
func (r *route) pathID() string {
	_, rest, _ := strings.Cut(r.path, "{")
	name, _, _ := strings.Cut(rest, "}")
	return name
}

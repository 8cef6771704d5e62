package httpapi

import (
	"context"
	"strings"

	"waybill/adapters/httpapi/strictjson"
	"waybill/domain"
)

// Route is one operation as the description names it.
type Route struct {
	Method string
	Path   string // behind the base address, with {names}
	Scope  domain.Scope
	Open   bool // needs no key and is not counted

	SandboxOnly bool // does not exist on live
}

// Routes lists every operation there is.
func Routes() []Route {
	out := make([]Route, 0, len(routes))
	for _, r := range routes {
		out = append(out, Route{Method: r.method, Path: r.path, Scope: r.scope, Open: r.open, SandboxOnly: r.sandboxOnly})
	}
	return out
}

// keyRule says what an operation does with the Idempotency-Key header.
type keyRule int

const (
	keyIgnored keyRule = iota
	keyOptional
	keyRequired
)

// route is an operation as data: what to check, in the order of the fields,
// and what to call when all is well.
type route struct {
	method, path string
	sandboxOnly  bool          // not there on live
	open         bool          // no key needed, nothing counted
	scope        domain.Scope  // empty: any key will do
	id           domain.Prefix // of the one ID in the path
	exists       func(a *API, ctx context.Context, t domain.Tenant, id domain.ID) error
	readsLate    bool     // the handler reads the record itself and says when there is none
	query        []string // the parameters it takes
	key          keyRule
	body         strictjson.Shape // nil: takes none
	mayBeEmpty   bool             // no body at all counts as {}
	maxBody      int64            // bytes; 0: those of one record
	handle       func(a *API, c *call) (reply, error)
}

// routes is the whole public API.
var routes = []route{
	{method: "GET", path: "/openapi.json", open: true, handle: (*API).openAPIJSON},
	{method: "GET", path: "/openapi.yaml", open: true, handle: (*API).openAPIYAML},
	{method: "GET", path: "/api-key", handle: (*API).showAPIKey},

	{method: "POST", path: "/quotes", scope: domain.ScopeQuotesRead, body: quoteShape, handle: (*API).quote},

	{
		method: "POST", path: "/recipients", scope: domain.ScopeRecipientsWrite,
		key: keyRequired, body: recipientShape, handle: (*API).createRecipient,
	},
	{
		method: "GET", path: "/recipients", scope: domain.ScopeRecipientsRead,
		query: []string{"search", "phone_number", "cursor", "limit"}, handle: (*API).listRecipients,
	},
	{
		method: "GET", path: "/recipients/{recipient_id}", scope: domain.ScopeRecipientsRead,
		id: domain.PrefixRecipient, exists: (*API).recipientExists, readsLate: true, handle: (*API).getRecipient,
	},
	{
		method: "POST", path: "/recipients/{recipient_id}/addresses", scope: domain.ScopeRecipientsWrite,
		id: domain.PrefixRecipient, exists: (*API).recipientExists,
		key: keyRequired, body: addressShape, handle: (*API).addAddress,
	},
	{
		method: "GET", path: "/recipients/{recipient_id}/addresses", scope: domain.ScopeRecipientsRead,
		id: domain.PrefixRecipient, exists: (*API).recipientExists, readsLate: true, handle: (*API).listAddresses,
	},
	{
		method: "GET", path: "/recipient-addresses/{address_id}", scope: domain.ScopeRecipientsRead,
		id: domain.PrefixAddress, exists: (*API).addressExists, readsLate: true, handle: (*API).getAddress,
	},

	{
		method: "GET", path: "/pickup-locations", scope: domain.ScopeDeliveriesRead,
		query: []string{"search", "active", "cursor", "limit"}, handle: (*API).listPickupLocations,
	},
	{
		method: "POST", path: "/pickup-locations", scope: domain.ScopeDeliveriesWrite,
		key: keyRequired, body: pickupLocationShape, handle: (*API).createPickupLocation,
	},
	{
		method: "GET", path: "/pickup-locations/{pickup_location_id}", scope: domain.ScopeDeliveriesRead,
		id: domain.PrefixPickupLocation, exists: (*API).pickupLocationExists, readsLate: true, handle: (*API).getPickupLocation,
	},
	{
		method: "PATCH", path: "/pickup-locations/{pickup_location_id}", scope: domain.ScopeDeliveriesWrite,
		id: domain.PrefixPickupLocation, exists: (*API).pickupLocationExists,
		key: keyOptional, body: pickupLocationShape, handle: (*API).changePickupLocation,
	},

	{
		method: "POST", path: "/deliveries", scope: domain.ScopeDeliveriesWrite,
		key: keyRequired, body: orderShape, handle: (*API).createDelivery,
	},
	{
		method: "POST", path: "/deliveries/bulk", scope: domain.ScopeDeliveriesWrite,
		key: keyRequired, body: bulkShape, maxBody: maxBulkBody, handle: (*API).createDeliveries,
	},
	{
		method: "GET", path: "/deliveries", scope: domain.ScopeDeliveriesRead,
		query:  []string{"status", "external_id", "created_after", "created_before", "order", "cursor", "limit"},
		handle: (*API).listDeliveries,
	},
	{
		method: "GET", path: "/deliveries/{delivery_id}", scope: domain.ScopeDeliveriesRead,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, readsLate: true, handle: (*API).getDelivery,
	},
	{
		method: "GET", path: "/deliveries/{delivery_id}/events", scope: domain.ScopeDeliveriesRead,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, readsLate: true, handle: (*API).listEvents,
	},
	{
		method: "POST", path: "/deliveries/{delivery_id}/cancel", scope: domain.ScopeDeliveriesWrite,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, key: keyOptional, handle: (*API).cancelDelivery,
	},

	{
		method: "GET", path: "/events", scope: domain.ScopeDeliveriesRead,
		query: []string{"type", "delivery_id", "created_after", "cursor", "limit"}, handle: (*API).listFeed,
	},

	{
		method: "POST", path: "/webhook-endpoints", scope: domain.ScopeWebhooksWrite,
		key: keyRequired, body: webhookEndpointShape, handle: (*API).createWebhookEndpoint,
	},
	{
		method: "GET", path: "/webhook-endpoints", scope: domain.ScopeWebhooksRead,
		query: []string{"cursor", "limit"}, handle: (*API).listWebhookEndpoints,
	},
	{
		method: "GET", path: "/webhook-endpoints/{webhook_endpoint_id}", scope: domain.ScopeWebhooksRead,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists, readsLate: true, handle: (*API).getWebhookEndpoint,
	},
	{
		method: "PATCH", path: "/webhook-endpoints/{webhook_endpoint_id}", scope: domain.ScopeWebhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists,
		key: keyOptional, body: webhookEndpointShape, handle: (*API).changeWebhookEndpoint,
	},
	{
		method: "DELETE", path: "/webhook-endpoints/{webhook_endpoint_id}", scope: domain.ScopeWebhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists, readsLate: true,
		key: keyOptional, handle: (*API).deleteWebhookEndpoint,
	},
	{
		method: "POST", path: "/webhook-endpoints/{webhook_endpoint_id}/rotate-secret", scope: domain.ScopeWebhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists,
		key: keyOptional, body: rotationShape, mayBeEmpty: true, handle: (*API).rotateWebhookSecret,
	},
	{
		method: "POST", path: "/webhook-endpoints/{webhook_endpoint_id}/test", scope: domain.ScopeWebhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists, key: keyOptional, handle: (*API).testWebhookEndpoint,
	},
	{
		method: "POST", path: "/webhook-endpoints/{webhook_endpoint_id}/recover", scope: domain.ScopeWebhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists,
		key: keyOptional, body: recoveryShape, handle: (*API).recoverWebhooks,
	},
	{
		method: "GET", path: "/webhook-endpoints/{webhook_endpoint_id}/deliveries", scope: domain.ScopeWebhooksRead,
		id: domain.PrefixWebhookEndpoint, exists: (*API).webhookEndpointExists,
		query:  []string{"status", "event_type", "delivery_id", "created_after", "created_before", "cursor", "limit"},
		handle: (*API).listWebhookDeliveries,
	},
	{
		method: "GET", path: "/webhook-deliveries/{webhook_delivery_id}", scope: domain.ScopeWebhooksRead,
		id: domain.PrefixWebhookDelivery, exists: (*API).webhookDeliveryExists, readsLate: true, handle: (*API).getWebhookDelivery,
	},
	{
		method: "GET", path: "/webhook-deliveries/{webhook_delivery_id}/attempts", scope: domain.ScopeWebhooksRead,
		id: domain.PrefixWebhookDelivery, exists: (*API).webhookDeliveryExists, readsLate: true, handle: (*API).listWebhookAttempts,
	},
	{
		method: "POST", path: "/webhook-deliveries/{webhook_delivery_id}/redeliver", scope: domain.ScopeWebhooksWrite,
		id: domain.PrefixWebhookDelivery, exists: (*API).webhookDeliveryExists, key: keyOptional, handle: (*API).redeliverWebhook,
	},

	{
		method: "POST", path: "/webhook-listeners", sandboxOnly: true, scope: domain.ScopeWebhooksWrite,
		key: keyOptional, body: listenerShape, mayBeEmpty: true, handle: (*API).createListener,
	},
	{
		method: "POST", path: "/webhook-listeners/{webhook_listener_id}/fetch", sandboxOnly: true, scope: domain.ScopeWebhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).listenerExists, body: fetchShape, mayBeEmpty: true,
		handle: (*API).fetchWebhooks,
	},
	{
		method: "DELETE", path: "/webhook-listeners/{webhook_listener_id}", sandboxOnly: true, scope: domain.ScopeWebhooksWrite,
		id: domain.PrefixWebhookEndpoint, exists: (*API).listenerExists, readsLate: true,
		key: keyOptional, handle: (*API).deleteListener,
	},

	{
		method: "POST", path: "/test-helpers/deliveries/{delivery_id}/transition", sandboxOnly: true, scope: domain.ScopeDeliveriesWrite,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, key: keyOptional, body: transitionShape, handle: (*API).transitionDelivery,
	},
	{
		method: "POST", path: "/test-helpers/deliveries/{delivery_id}/simulation", sandboxOnly: true, scope: domain.ScopeDeliveriesWrite,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, key: keyOptional, body: planShape, handle: (*API).startSimulation,
	},
	{
		method: "DELETE", path: "/test-helpers/deliveries/{delivery_id}/simulation", sandboxOnly: true, scope: domain.ScopeDeliveriesWrite,
		id: domain.PrefixDelivery, exists: (*API).deliveryExists, key: keyOptional, handle: (*API).stopSimulation,
	},
}

// ginPath is the path in gin's notation: {id} becomes :id.
func (r *route) ginPath() string {
	return strings.NewReplacer("{", ":", "}", "").Replace(r.path)
}

// pathID is the name of the one ID in the path.
func (r *route) pathID() string {
	_, rest, _ := strings.Cut(r.path, "{")
	name, _, _ := strings.Cut(rest, "}")
	return name
}

package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// ownership says which callers may see the record that an ID names.
type ownership int

const (
	ownerless      ownership = iota // there is no ID in the path
	ofTheBusiness                   // all applications of the business, in the environment
	ofApplications                  // the application that made it, in the environment
)

// rule is what the contract says about one operation. This table is written
// apart from the program's route table: the two have to agree.
type rule struct {
	method, path string
	scope        string // empty: any key
	also         string // a second scope; empty: none
	owner        ownership
	kind         string // of the ID: a prefix, or listener
	success      int
	body         func() any
	keyed        bool // takes an Idempotency-Key
	sandboxOnly  bool // on live it is no address at all

	anonymous bool // the answer does not name the record

	// made is a record for one call, where that uses it up; undo takes away what
	// a call has made, where there may not be many.
	made func(owner *client) string
	undo func(owner *client, id string)

	// ready brings a record to where the call succeeds; the owner calls it.
	ready func(owner *client, id string)
}

// isThere says whether a host has the operation.
func (r rule) isThere(env string) bool { return env == sandbox || !r.sandboxOnly }

// needs says whether the operation needs the scope.
func (r rule) needs(scope string) bool { return scope != "" && (scope == r.scope || scope == r.also) }

// openToAll is the scope of what needs no key.
const openToAll = "none"

var rules = []rule{
	{method: "GET", path: "/openapi.json", scope: openToAll, success: 200},
	{method: "GET", path: "/openapi.yaml", scope: openToAll, success: 200},
	{method: "GET", path: "/api-key", success: 200},
	{method: "POST", path: "/quotes", scope: "quotes:read", success: 200, body: func() any { return aTrip() }},
	{method: "POST", path: "/recipients", scope: "recipients:write", success: 201, keyed: true,
		body: func() any { return m{"phone_number": newPhone()} }},
	{method: "GET", path: "/recipients", scope: "recipients:read", success: 200},
	{method: "GET", path: "/recipients/{recipient_id}", scope: "recipients:read", owner: ofTheBusiness, kind: "rcp_", success: 200},
	{method: "POST", path: "/recipients/{recipient_id}/addresses", scope: "recipients:write", owner: ofTheBusiness, kind: "rcp_",
		success: 201, keyed: true, body: func() any { return anAddress(set("address", newPlaceText())) }},
	{method: "GET", path: "/recipients/{recipient_id}/addresses", scope: "recipients:read", owner: ofTheBusiness, kind: "rcp_", success: 200},
	{method: "GET", path: "/recipient-addresses/{address_id}", scope: "recipients:read", owner: ofTheBusiness, kind: "adr_", success: 200},
	{method: "GET", path: "/pickup-locations", scope: "deliveries:read", success: 200},
	{method: "POST", path: "/pickup-locations", scope: "deliveries:write", success: 201, keyed: true, body: func() any { return aPlace() }},
	{method: "GET", path: "/pickup-locations/{pickup_location_id}", scope: "deliveries:read", owner: ofTheBusiness, kind: "pkp_",
		success: 200},
	{method: "PATCH", path: "/pickup-locations/{pickup_location_id}", scope: "deliveries:write", owner: ofTheBusiness, kind: "pkp_",
		success: 200, keyed: true, body: func() any { return m{"active": true} }},
	{method: "POST", path: "/deliveries", scope: "deliveries:write", success: 201, keyed: true, body: func() any { return anOrder() }},
	{method: "POST", path: "/deliveries/bulk", scope: "deliveries:write", success: 201, keyed: true,
		body: func() any { return aBulk(anOrder(), anOrder()) }},
	{method: "GET", path: "/deliveries", scope: "deliveries:read", success: 200},
	{method: "GET", path: "/deliveries/{delivery_id}", scope: "deliveries:read", owner: ofApplications, kind: "dlv_", success: 200},
	{method: "GET", path: "/deliveries/{delivery_id}/events", scope: "deliveries:read", owner: ofApplications, kind: "dlv_", success: 200},
	{method: "POST", path: "/test-helpers/deliveries/{delivery_id}/simulation", scope: "deliveries:write", owner: ofApplications, kind: "dlv_",
		success: 200, keyed: true, sandboxOnly: true, body: func() any { return m{"scenario": "delivered", "step_seconds": 300} },
		ready: func(c *client, id string) { c.stop(id).is(200) }},
	{method: "DELETE", path: "/test-helpers/deliveries/{delivery_id}/simulation", scope: "deliveries:write", owner: ofApplications,
		kind:    "dlv_",
		success: 200, keyed: true, sandboxOnly: true, body: func() any { return nil }},
	{method: "POST", path: "/test-helpers/deliveries/{delivery_id}/transition", scope: "deliveries:write", owner: ofApplications, kind: "dlv_",
		success: 200, keyed: true, sandboxOnly: true, body: func() any { return m{"status": "assigned"} },
		ready: func(c *client, id string) {
			if c.get("/deliveries/"+id).is(200).text("data.status") == "assigned" {
				c.move(id, "failed").is(200) // and is tried again
			}
		}},
	{method: "POST", path: "/deliveries/{delivery_id}/cancel", scope: "deliveries:write", owner: ofApplications, kind: "dlv_",
		success: 200, keyed: true, body: func() any { return nil }},

	{method: "GET", path: "/events", scope: "deliveries:read", success: 200},
	{method: "POST", path: "/webhook-endpoints", scope: "webhooks:write", also: "deliveries:read", success: 201, keyed: true,
		body: func() any { return anEndpoint() }, undo: (*client).dropEndpoint},
	{method: "GET", path: "/webhook-endpoints", scope: "webhooks:read", success: 200},
	{method: "GET", path: "/webhook-endpoints/{webhook_endpoint_id}", scope: "webhooks:read", owner: ofApplications, kind: "whe_",
		success: 200},
	{method: "PATCH", path: "/webhook-endpoints/{webhook_endpoint_id}", scope: "webhooks:write", owner: ofApplications, kind: "whe_",
		success: 200, keyed: true, body: func() any { return m{"description": "Matrix"} }},
	{method: "DELETE", path: "/webhook-endpoints/{webhook_endpoint_id}", scope: "webhooks:write", owner: ofApplications, kind: "whe_",
		success: 200, keyed: true, body: func() any { return nil }, made: (*client).newEndpoint, undo: (*client).dropEndpoint},
	{method: "POST", path: "/webhook-endpoints/{webhook_endpoint_id}/rotate-secret", scope: "webhooks:write", owner: ofApplications,
		kind:    "whe_",
		success: 200, keyed: true, body: func() any { return m{"overlap_seconds": 60} }},
	{method: "POST", path: "/webhook-endpoints/{webhook_endpoint_id}/test", scope: "webhooks:write", owner: ofApplications, kind: "whe_",
		success: 202, keyed: true, body: func() any { return nil }, made: (*client).newEndpoint, undo: (*client).dropEndpoint},
	{method: "POST", path: "/webhook-endpoints/{webhook_endpoint_id}/recover", scope: "webhooks:write", owner: ofApplications, kind: "whe_",
		success: 202, keyed: true, body: func() any { return m{"since": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)} },
		made: (*client).newEndpoint, undo: (*client).dropEndpoint},
	{method: "GET", path: "/webhook-endpoints/{webhook_endpoint_id}/deliveries", scope: "webhooks:read", owner: ofApplications, kind: "whe_",
		success: 200},
	{method: "GET", path: "/webhook-deliveries/{webhook_delivery_id}", scope: "webhooks:read", owner: ofApplications, kind: "whd_",
		success: 200},
	{method: "GET", path: "/webhook-deliveries/{webhook_delivery_id}/attempts", scope: "webhooks:read", owner: ofApplications, kind: "whd_",
		success: 200, anonymous: true},
	{method: "POST", path: "/webhook-deliveries/{webhook_delivery_id}/redeliver", scope: "webhooks:write", owner: ofApplications, kind: "whd_",
		success: 202, keyed: true, body: func() any { return nil }},
	{method: "POST", path: "/webhook-listeners", scope: "webhooks:write", also: "deliveries:read", success: 201, keyed: true,
		sandboxOnly: true,
		body:        func() any { return m{"event_types": []string{"*"}} }, undo: (*client).dropListener},
	{method: "POST", path: "/webhook-listeners/{webhook_listener_id}/fetch", scope: "webhooks:write", also: "deliveries:read",
		owner: ofApplications, kind: "listener",
		success: 200, sandboxOnly: true, anonymous: true, body: func() any { return m{"wait_seconds": 0} },
		made: (*client).newListener, undo: (*client).dropListener},
	{method: "DELETE", path: "/webhook-listeners/{webhook_listener_id}", scope: "webhooks:write", owner: ofApplications, kind: "listener",
		success: 200, keyed: true, sandboxOnly: true, body: func() any { return nil }, made: (*client).newListener, undo: (*client).dropListener},
}

// anEndpoint is one that refuses every connection, and takes no event but tests.
func anEndpoint(changes ...change) m {
	return apply(m{"url": "http://127.0.0.1:9/hooks", "event_types": []string{"webhook_endpoint.disabled"}}, changes)
}

func (c *client) newEndpoint() string    { return c.post("/webhook-endpoints", anEndpoint()).is(201).id() }
func (c *client) dropEndpoint(id string) { c.send("DELETE", "/webhook-endpoints/"+id, nil) }
func (c *client) newListener() string {
	if c.env == live {
		return unknown("whe_") // live has none
	}
	return c.post("/webhook-listeners", nil).is(201).id()
}
func (c *client) dropListener(id string) { c.send("DELETE", "/webhook-listeners/"+id, nil) }

// scopes that an operation may need.
var scopes = []string{"quotes:read", "recipients:read", "recipients:write", "deliveries:read", "deliveries:write", "webhooks:read",
	"webhooks:write"}

// without is every scope but one.
func without(scope string) string {
	var rest []string
	for _, s := range scopes {
		if s != scope {
			rest = append(rest, s)
		}
	}
	return strings.Join(rest, ",")
}

var placeNumbers atomic.Int32

func newPlaceText() string { return fmt.Sprintf("Plot %d, Matrix Avenue", placeNumbers.Add(1)) }

// malformed are texts that are no ID of a kind, some of them nearly one.
func malformed(kind string) []string {
	hex := strings.Repeat("0123456789abcdef", 2)
	other := "rcp_"
	if kind == other {
		other = "dlv_"
	}
	return []string{
		"x", kind, kind + hex[1:], kind + hex + "0", kind + strings.ToUpper(hex), strings.ToUpper(kind) + hex, other + hex, hex,
		kind + hex[:31] + "g", kind + hex[:31] + "%20", kind + hex + "%00", kind + hex + "%2F", "%2e%2e", kind + "%C3%A9" + hex[2:],
		kind + hex + "%27%20OR%201=1", "null", "-1", strings.Repeat("9", 300),
	}
}

// unknown is an ID without a record.
func unknown(kind string) string { return kind + "0198f3a27c4e7b1d9a6e5c2f10d3b847" }

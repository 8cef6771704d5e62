package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// ownership says who may see the record that an ID names.
type ownership int

const (
	nobodys        ownership = iota // there is no ID in the path
	ofTheBusiness                   // all applications of the business, in the environment
	ofApplications                  // the application that made it, in the environment
)

// rule is what the contract says about one operation. This table is written
// apart from the program's route table: the two have to agree.
type rule struct {
	method, path string
	scope        string // empty: any key
	owner        ownership
	kind         string // of the ID: a prefix
	success      int
	body         func() any
	keyed        bool // takes an Idempotency-Key
	sandboxOnly  bool // on live it is no address at all

	// ready brings a record to where the call succeeds; the owner calls it.
	ready func(owner *client, id string)
}

// isThere says whether a host has the operation.
func (r rule) isThere(env string) bool { return env == sandbox || !r.sandboxOnly }

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
	{method: "GET", path: "/pickup-locations/{pickup_location_id}", scope: "deliveries:read", owner: ofTheBusiness, kind: "pkp_", success: 200},
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
	{method: "DELETE", path: "/test-helpers/deliveries/{delivery_id}/simulation", scope: "deliveries:write", owner: ofApplications, kind: "dlv_",
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
}

// scopes that an operation may need.
var scopes = []string{"quotes:read", "recipients:read", "recipients:write", "deliveries:read", "deliveries:write"}

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

// unknown is an ID of somebody nobody knows.
func unknown(kind string) string { return kind + "0198f3a27c4e7b1d9a6e5c2f10d3b847" }

package e2e

import (
	"strings"
	"testing"
)

const nowhere = "404 NOT_FOUND"

// hostileTargets are what a request line may name.
var hostileTargets = []struct{ target, want string }{
	{"/", nowhere}, {"//", nowhere}, {"/v1", nowhere}, {"/v1/", nowhere}, {"/v1//", nowhere}, {"?", "4xx"}, {"/?", nowhere},
	{"//v1/deliveries", nowhere}, {"/v1//deliveries", nowhere}, {"/v1/deliveries/", nowhere}, {"/v1/deliveries//", nowhere},
	{"/v1/./deliveries", nowhere}, {"/v1/../v1/deliveries", nowhere}, {"/v1/recipients/../deliveries", nowhere},
	{"/v1/recipients/%2e%2e/deliveries", nowhere}, {"/v1/%2e/deliveries", nowhere}, {"/../../../etc/passwd", nowhere},
	{"/v1/..%2f..%2f..%2fetc%2fpasswd", nowhere}, {"/v1/..%5c..%5cwindows", nowhere}, {"/v1/%252e%252e%252fdeliveries", nowhere},
	{"/V1/deliveries", nowhere}, {"/v1/Deliveries", nowhere}, {"/v1/DELIVERIES", nowhere}, {"/v2/deliveries", nowhere},
	{"/v1/deliveries.json", nowhere}, {"/v1/deliveries;v=1", nowhere}, {"/v1/deliveries;jsessionid=1?limit=1", nowhere},
	{"/v1/deliveries%20", nowhere}, {"/v1/deliveries%00", nowhere}, {"/v1/deliveries%0a", nowhere}, {"/v1/deliveries%2f", nowhere},
	{"/v1%2fdeliveries", nowhere}, {"/%2fv1/deliveries", nowhere}, {"/v1/deliveries,recipients", nowhere}, {"/v1/:delivery_id", nowhere},
	{"/v1/deliveries/:delivery_id", nowhere}, {"/v1/deliveries/{dlv}.json", nowhere}, {"/v1/deliveries/{dlv}/", nowhere},
	{"/v1/deliveries/{dlv}//", nowhere}, {"/v1/deliveries/{dlv}%2f", nowhere}, {"/v1/deliveries/{dlv}%00", nowhere},
	{"/v1/deliveries/{dlv}%20", nowhere}, {"/v1/deliveries/%20{dlv}", nowhere}, {"/v1/deliveries/{dlv}%0a", nowhere},
	{"/v1/deliveries/{dlv}%3flimit=1", nowhere}, {"/v1/deliveries/{dlv}%23a", nowhere}, {"/v1/deliveries/{dlv};a=b", nowhere},
	{"/v1/deliveries/{dlv}'", nowhere}, {"/v1/deliveries/{dlv}%27%20OR%201=1--", nowhere}, {"/v1/deliveries/{dlv}*", nowhere},
	{"/v1/deliveries/{DLV}", nowhere}, {"/v1/deliveries/{hex}", nowhere}, {"/v1/deliveries/rcp_{hex}", nowhere},
	{"/v1/deliveries/{rcp}", nowhere}, {"/v1/recipients/{dlv}", nowhere}, {"/v1/recipients/{rcp}/addresses/", nowhere},
	{"/v1/recipient-addresses/{rcp}", nowhere}, {"/v1/pickup-locations/{adr}", nowhere}, {"/v1/deliveries/dlv-{hex}", nowhere},
	{"/v1/deliveries/DLV_{hex}", nowhere}, {"/v1/deliveries/dlv_", nowhere}, {"/v1/deliveries/dlv_{hex}0", nowhere},
	{"/v1/deliveries/dlv_0", nowhere}, {"/v1/deliveries/dlv_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", nowhere},
	{"/v1/deliveries/dlv_00000000000000000000000000000000", nowhere}, {"/v1/deliveries/dlv_ffffffffffffffffffffffffffffffff", nowhere},
	{"/v1/deliveries/dlv_-0000000000000000000000000000001", nowhere}, {"/v1/deliveries/dlv_%F0%9F%9B%B5", nowhere},
	{"/v1/deliveries/dlv_0198f3a2-7c4e-7b1d-9a6e-5c2f10d3b847", nowhere}, {"/v1/deliveries/0", nowhere}, {"/v1/deliveries/-1", nowhere},
	{"/v1/deliveries/null", nowhere}, {"/v1/deliveries/undefined", nowhere}, {"/v1/deliveries/%ff%fe", nowhere},
	{"/v1/deliveries/%c0%ae%c0%ae", nowhere}, {"/v1/deliveries/%ed%a0%80", nowhere}, {"/v1/deliveries/%EF%BC%90", nowhere},
	{"/v1/deliveries/" + strings.Repeat("d", 10_000), nowhere}, {"/v1/deliveries/" + strings.Repeat("%64", 3_000), nowhere},
	{"/" + strings.Repeat("a/", 5_000), nowhere}, {"/v1/" + strings.Repeat("../", 3_000) + "deliveries", nowhere},
	{"/" + strings.Repeat("%2e", 4_000), nowhere}, {"/" + strings.Repeat("a", 32<<10), "431"}, {"/v1/api-key?" + strings.Repeat("a", 32<<10),
		"431"},
	{"/v1/deliveries/bulk", nowhere}, {"/v1/deliveries/bulk/", nowhere}, {"/v1/deliveries/bulk/events", nowhere},
	{"/v1/deliveries/bulk/{dlv}", nowhere}, {"/v1/deliveries/{dlv}/events/evt_1", nowhere}, {"/v1/deliveries/{dlv}/Events", nowhere},
	{"/v1/deliveries/{dlv}/cancel", "405"}, {"/v1/quotes", "405"}, {"/v1/quotes/", nowhere}, {"/v1/deliveries/{dlv}/%65vents", "200|404"},
	{"/v1/test-helpers/deliveries/{dlv}/transition", nowhere + "|405"}, {"/v1/openapi.json/", nowhere}, {"/v1/openapi.yml", nowhere},
	{"/openapi.json", nowhere}, {"/metrics", nowhere}, {"/healthz", nowhere}, {"/readyz", nowhere}, {"/debug/pprof/", nowhere},
	{"/debug/vars", nowhere}, {"/.env", nowhere}, {"/.git/config", nowhere}, {"/wp-login.php", nowhere}, {"/favicon.ico", nowhere},
	{"/v1/admin", nowhere}, {"/graphql", nowhere}, {"/cgi-bin/.%2e/.%2e/bin/sh", nowhere}, {"/v1/deliveries/..;/recipients", nowhere},
	{"/v1/d%c3%a9liveries", nowhere}, {"/v1/d\xc3\xa9liveries", "4xx"}, {"/v1/\xff\xfe", "4xx"}, {"/v1/deliveries\x00", "400"},
	{"/v1/deliveries/\x7f", "400"}, {"/v1/deliveries/{dlv}\x01", "400"}, {`/v1\deliveries`, nowhere}, {`\v1\deliveries`, "400"},
	{"/v1/%zz", invalidRequest}, {"/v1/%", invalidRequest}, {"/v1/%2", invalidRequest}, {"/v1/deliveries/%u0041", invalidRequest},
	{"/v1/%%%", invalidRequest},
	{"/v1/<script>alert(1)</script>", nowhere}, {`/v1/"onload="x`, nowhere}, {"/v1/${jndi:ldap://x}", nowhere}, {"/v1/{{7*7}}", nowhere},
	{"/v1/%0d%0aSet-Cookie:%20a=b", nowhere}, {"/v1/api-key#fragment", "200|4xx"}, {"#", "400"}, {"v1/api-key", "400"}, {"api-key", "400"},
	{"http://{host}/v1/api-key", "200"}, {"http://evil.example/v1/api-key", "200|4xx"}, {"https://{host}/v1/api-key", "200|4xx"},
	{"HTTP://{host}/v1/nothing", nowhere}, {"http://user:word@{host}/v1/api-key", "200|4xx"}, {"http://{host}", nowhere},
	{"http:///v1/api-key", "4xx|200"}, {"http://[::1/v1/api-key", "400"}, {"http://a b/v1/api-key", "400"},
	{"ftp://{host}/v1/api-key", "200|4xx"},
	{"file:///etc/passwd", nowhere}, {"javascript:alert(1)", "4xx"}, {"//evil.example/v1/api-key", nowhere}, {"///v1/api-key", nowhere},
	{"*/v1/api-key", "4xx"}, {"**", "4xx"}, {"/*", nowhere}, {"/v1/api key", "400"}, {"/v1/api-key%3Flimit=1", nowhere},
	{"/v1/api-key??", invalidRequest},
}

// sameRecord are other spellings of an address that mean it.
var sameRecord = []string{"/v1/deliveries/%64lv_{hex}", "/v1/deliveries/dlv%5f{hex}", "/v1/deliveries/dlv%5F{hex}", "/v1/deliveries/{dlv}?"}

// targets asks for addresses that do not exist, or only seem to.
func (g *siege) targets(t *testing.T) {
	var table []wire
	for _, c := range hostileTargets {
		table = append(table, wire{name: "target: " + brief(c.target), bytes: get(c.target), wants: answers(c.want)})
	}
	for _, target := range sameRecord {
		table = append(table, wire{name: "target: " + target, bytes: get(target), wants: answers("200")})
	}
	for _, target := range []string{"/v1/deliveries/", "/v1//deliveries", "/v1/deliveries/{dlv}/cancel/", "/v1/recipients/{rcp}/addresses%2f",
		"/v1/deliveries/{rcp}/cancel",
		"/v1/deliveries/bulk/", "/v1/deliveries//bulk", "/v1/deliveries/bulk/cancel", "/v1/bulk",
		"/v1/test-helpers/deliveries/{dlv}", "/v1/test-helpers/deliveries/{dlv}/", "/v1/test-helpers/deliveries/{dlv}/transition/",
		"/v1/test-helpers/{dlv}/transition",
		"/v1/test-helpers/deliveries/{DLV}/transition", "/v1/test-helpers/deliveries/{rcp}/simulation",
		"/v1/test-helpers/deliveries/{dlv}%2f/simulation",
		"/v1/test-helpers/deliveries//simulation", "/v1/test_helpers/deliveries/{dlv}/transition", "/v1/Test-Helpers/deliveries/{dlv}/transition",
		"/v1/test-helpers/deliveries/{dlv}/simulations", "/v1/test-helpers/deliveries/..%2f..%2fdeliveries/{dlv}/cancel",
		"/v1/deliveries/{dlv}/simulation",
		"/test-helpers/deliveries/{dlv}/transition", "/v1/test-helpers/deliveries/bulk/transition"} {
		table = append(table, wire{name: "target of a POST: " + target, bytes: post(target, "{}", "Idempotency-Key: {idem}"),
			wants: answers(nowhere)})
	}
	for _, target := range []string{"/v1/deliveries/Bulk", "/v1/deliveries/bulk%2f", "/v1/deliveries/%62ulk", "/v1/deliveries/bulk%20"} {
		table = append(table, wire{name: "target of a POST: " + target, bytes: post(target, "{}", "Idempotency-Key: {idem}"),
			wants: answers("405")})
	}
	g.fire(t, table)
}

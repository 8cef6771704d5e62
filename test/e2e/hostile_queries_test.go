package e2e

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// hostileQueries are query strings as they go over the wire.
var hostileQueries = []struct{ list, query, want string }{
	{"/deliveries", "status=booked&status=booked", wrongValue},
	{"/deliveries", "status=", wrongValue},
	{"/deliveries", "status", wrongValue},
	{"/deliveries", "status=BOOKED", wrongValue},
	{"/deliveries", "status=booked,failed", wrongValue},
	{"/deliveries", "status=booked%20", wrongValue},
	{"/deliveries", "status=%00", wrongValue},
	{"/deliveries", "status[]=booked", invalidRequest},
	{"/deliveries", "status%5B%5D=booked", invalidRequest},
	{"/deliveries", "Status=booked", invalidRequest},
	{"/deliveries", "sort=created_at", invalidRequest},
	{"/deliveries", "limit=1&offset=10", invalidRequest},
	{"/deliveries", "api_key=x", invalidRequest},
	{"/deliveries", "business_id=1&application_id=2", invalidRequest},
	{"/deliveries", "=", invalidRequest},
	{"/deliveries", "=x", invalidRequest},
	{"/deliveries", "%00=1", invalidRequest},
	{"/deliveries", "%ff=1", invalidRequest},
	{"/deliveries", "__proto__[a]=b", invalidRequest},
	{"/deliveries", "limit=1;status=booked", invalidRequest},
	{"/deliveries", "limit=%zz", invalidRequest},
	{"/deliveries", "%zz=1", invalidRequest},
	{"/deliveries", "limit=%", invalidRequest},
	{"/deliveries", "limit=%1", invalidRequest},
	{"/deliveries", "%", invalidRequest},
	{"/deliveries", "&&&&", "200"},
	{"/deliveries", "", "200"},
	{"/deliveries", "?limit=1", invalidRequest},
	{"/deliveries", strings.Repeat("&", 5_000), "200"},
	{"/deliveries", strings.Repeat("limit=1&", 1_000), wrongValue},
	{"/deliveries", strings.Repeat("x=1&", 2_000), invalidRequest},
	{"/deliveries", strings.Repeat("n", 10_000) + "=1", invalidRequest},

	{"/deliveries", "limit=0", wrongValue},
	{"/deliveries", "limit=101", wrongValue},
	{"/deliveries", "limit=-1", wrongValue},
	{"/deliveries", "limit=%2B5", wrongValue},
	{"/deliveries", "limit=+5", wrongValue},
	{"/deliveries", "limit=5.0", wrongValue},
	{"/deliveries", "limit=1e1", wrongValue},
	{"/deliveries", "limit=0x10", wrongValue},
	{"/deliveries", "limit=1_0", wrongValue},
	{"/deliveries", "limit=ten", wrongValue},
	{"/deliveries", "limit=NaN", wrongValue},
	{"/deliveries", "limit=%D9%A1", wrongValue},
	{"/deliveries", "limit=2147483648", wrongValue},
	{"/deliveries", "limit=9223372036854775808", wrongValue},
	{"/deliveries", "limit=18446744073709551617", wrongValue},
	{"/deliveries", "limit=" + strings.Repeat("9", 5_000), wrongValue},
	{"/deliveries", "limit=" + strings.Repeat("0", 5_000) + "5", "200"},
	{"/deliveries", "limit=null", wrongValue},
	{"/deliveries", "limit=5%00", wrongValue},
	{"/deliveries", "limit=5%0d%0aX-Evil:%201", wrongValue},
	{"/deliveries", "order=ASC", wrongValue},
	{"/deliveries", "order=asc,(select+1)", wrongValue},

	{"/deliveries", "external_id=" + strings.Repeat("x", 129), wrongValue},
	{"/deliveries", "external_id=" + strings.Repeat("x", 128), "200"},
	{"/deliveries", "external_id=%ff%fe", wrongValue},
	{"/deliveries", "external_id=%c0%80", wrongValue},
	{"/deliveries", "external_id=%ed%a0%80", wrongValue},
	{"/deliveries", "external_id=a%00b", wrongValue},
	{"/deliveries", "external_id=%01%02", "200"},
	{"/deliveries", "external_id=%20%09", wrongValue},
	{"/deliveries", "external_id=%27%3B+DROP+TABLE+deliveries%3B--", "200"},
	{"/deliveries", "external_id=%25", "200"},

	{"/deliveries", "created_after=yesterday", wrongValue},
	{"/deliveries", "created_after=2026-11-21", wrongValue},
	{"/deliveries", "created_after=2026-11-21T10:00:00", wrongValue},
	{"/deliveries", "created_after=2026-11-21+10:00:00Z", wrongValue},
	{"/deliveries", "created_after=2026-11-21t10:00:00z", "200|" + wrongValue},
	{"/deliveries", "created_after=2026-13-01T10:00:00Z", wrongValue},
	{"/deliveries", "created_after=2026-02-30T10:00:00Z", wrongValue},
	{"/deliveries", "created_after=2026-11-21T24:00:00Z", wrongValue},
	{"/deliveries", "created_after=2026-11-21T10:60:00Z", wrongValue},
	{"/deliveries", "created_after=2016-12-31T23:59:60Z", wrongValue},
	{"/deliveries", "created_after=2026-11-21T10:00:00%2B99:99", wrongValue},
	{"/deliveries", "created_after=0000-01-01T00:00:00Z", "200"},
	{"/deliveries", "created_after=0000-01-01T00:00:00%2B14:00", "200"},
	{"/deliveries", "created_after=0001-01-01T00:00:00%2B14:00", "200"},
	{"/deliveries", "created_after=9999-12-31T23:59:59.999999999Z", "200"},
	{"/deliveries", "created_after=9999-12-31T23:59:59-12:00", "200"},
	{"/deliveries", "created_before=9999-12-31T23:59:59.999Z", "200"},
	{"/deliveries", "created_before=0000-01-01T00:00:00Z", "200"},
	{"/deliveries", "created_after=10000-01-01T00:00:00Z", wrongValue},
	{"/deliveries", "created_after=-0001-01-01T00:00:00Z", wrongValue},
	{"/deliveries", "created_after=2026-11-21T10:00:00.123456789Z", "200"},
	{"/deliveries", "created_after=2026-11-21T10:00:00." + strings.Repeat("1", 200) + "Z", "200|" + wrongValue},
	{"/deliveries", "created_after=2026-11-21T10:00:00,5Z", "200|" + wrongValue},
	{"/deliveries", "created_after=2026-11-21T10:00:00+05:30", "200"},
	{"/deliveries", "created_after=2026-11-21T10:00:00-00:00", "200"},
	{"/deliveries", "created_after=1700000000", wrongValue},
	{"/deliveries", "created_after=infinity", wrongValue},
	{"/deliveries", "created_after=now()", wrongValue},
	{"/deliveries", "created_after=%00", wrongValue},
	{"/deliveries", "created_after=2027-01-01T00:00:00Z&created_before=2020-01-01T00:00:00Z", "200"},

	{"/recipients", "search=%25", "200"},
	{"/recipients", "search=_", "200"},
	{"/recipients", "search=%5C", "200"},
	{"/recipients", "search=%5C%25%5C_%5C%5C", "200"},
	{"/recipients", "search=%27", "200"},
	{"/recipients", "search=%00", wrongValue},
	{"/recipients", "search=%ff", wrongValue},
	{"/recipients", "search=%f4%90%80%80", wrongValue},
	{"/recipients", "search=+", wrongValue},
	{"/recipients", "search=" + strings.Repeat("%F0%9F%98%80", 128), "200"},
	{"/recipients", "search=" + strings.Repeat("%F0%9F%98%80", 129), wrongValue},
	{"/recipients", "search=" + strings.Repeat("%25", 128), "200"},
	{"/recipients", "search=" + strings.Repeat("%EF%B7%BA", 128), "200"},
	{"/recipients", "search=%EF%BF%BE", "200"},
	{"/recipients", "search=%E2%80%AE", "200"},
	{"/recipients", "search=%0d%0aSet-Cookie:a=b", "200"},
	{"/recipients", "phone_number=%2B233", wrongValue},
	{"/recipients", "phone_number=%2B0000000000", wrongValue},
	{"/recipients", "phone_number=%2B2332412345678901234", wrongValue},
	{"/recipients", "phone_number=+233241234567", "200"},
	{"/recipients", "phone_number=++233241234567", wrongValue},
	{"/recipients", "phone_number=%2B%D9%A2%D9%A3%D9%A3241234567", wrongValue},
	{"/recipients", "phone_number=%2B233241234567%00", wrongValue},
	{"/recipients", "phone_number=%2B233241234567%0A", wrongValue},
	{"/pickup-locations", "active=TRUE", wrongValue},
	{"/pickup-locations", "active=1", wrongValue},
	{"/pickup-locations", "active=null", wrongValue},
	{"/pickup-locations", "active=true&active=false", wrongValue},
	{"/pickup-locations", "status=booked", invalidRequest},

	{"/deliveries", "cursor=" + strings.Repeat("A", 512), wrongValue},
	{"/deliveries", "cursor=" + strings.Repeat("A", 513), wrongValue},
	{"/deliveries", "cursor=" + strings.Repeat("A", 10_000), wrongValue},
	{"/deliveries", "cursor=x", wrongValue},
	{"/deliveries", "cursor=", wrongValue},
	{"/deliveries", "cursor=%00", wrongValue},
	{"/deliveries", "cursor=%ff", wrongValue},
	{"/deliveries", "cursor=null", wrongValue},
	{"/deliveries", "cursor=0", wrongValue},
	{"/deliveries", "cursor=..%2F..%2Fetc", wrongValue},
	{"/deliveries", "cursor=%27+OR+1%3D1", wrongValue},
	{"/deliveries", "cursor={cursor}%0A", wrongValue},
	{"/deliveries", "cursor={cursor}%3D%3D", wrongValue},
	{"/deliveries", "cursor={cursor}{cursor}", wrongValue},
	{"/deliveries", "cursor={cursor}&cursor={cursor}", wrongValue},
	{"/deliveries", "cursor=%20{cursor}", wrongValue},
	{"/deliveries", "cursor={cursor}&status=booked", wrongValue},
	{"/deliveries", "cursor={cursor}&order=desc", wrongValue},
	{"/recipients", "cursor={cursor}", wrongValue},
	{"/pickup-locations", "cursor={cursor}", wrongValue},
	{"/deliveries", "cursor={cursor}&limit=100", "200"},

	// Calls that take no parameters.
	{"/api-key", "limit=1", invalidRequest},
	{"/deliveries/{dlv}", "expand=recipient", invalidRequest},
	{"/deliveries/{dlv}/events", "limit=1", invalidRequest},
	{"/recipients/{rcp}", "cursor={cursor}", invalidRequest},
	{"/recipients/{rcp}/addresses", "limit=1", invalidRequest},
	{"/recipient-addresses/{adr}", "%", invalidRequest},
}

// queries sends them as they are; net/url would tidy them up.
func (g *siege) queries(t *testing.T) {
	for _, c := range hostileQueries {
		g.hit(t, "query: "+c.list+"?"+brief(c.query), c.want, "GET", g.fill(c.list+"?"+c.query), nil)
	}
	cursor := g.name["{cursor}"]
	for at := range len(cursor) {
		// A changed bit at a time, also in the last character, half of whose
		// bits stand for nothing.
		changed := []byte(cursor)
		changed[at] ^= 1
		g.hit(t, "query: a cursor changed at "+strconv.Itoa(at), wrongValue, "GET", "/deliveries?cursor="+url.QueryEscape(string(changed)), nil)
		g.hit(t, "query: a cursor cut at "+strconv.Itoa(at), wrongValue, "GET", "/deliveries?cursor="+cursor[:at], nil)
	}
	for _, path := range []string{"/quotes", "/recipients", "/pickup-locations", "/deliveries", "/deliveries/{dlv}/cancel"} {
		g.hit(t, "query: POST "+path, invalidRequest, "POST", g.fill(path)+"?dry_run=true", "{}")
	}
	g.healthy(t)
}

package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web"
)

func TestTheClientIsTheAddressBeforeTheTrustedProxies(t *testing.T) {
	t.Parallel()
	const proxy, stranger = "10.0.0.1:4711", "198.51.100.9:4711"
	for name, c := range map[string]struct {
		from  string
		lines []string
		want  string
	}{
		"an address":                        {proxy, []string{"203.0.113.7"}, "203.0.113.7"},
		"a port behind it":                  {proxy, []string{"203.0.113.7:51234"}, "203.0.113.7"},
		"IPv6":                              {proxy, []string{"2001:db8::7"}, "2001:db8::7"},
		"IPv6 with a port":                  {proxy, []string{"[2001:db8::7]:443"}, "2001:db8::7"},
		"IPv6 in brackets":                  {proxy, []string{"[2001:db8::7]"}, "2001:db8::7"},
		"IPv6 with a zone":                  {proxy, []string{"fe80::7%eth0"}, "fe80::7"},
		"IPv6 with a zone and a port":       {proxy, []string{"[fe80::7%eth0]:443"}, "fe80::7"},
		"IPv4 written as IPv6":              {proxy, []string{"::ffff:203.0.113.7"}, "203.0.113.7"},
		"in quotes":                         {proxy, []string{`"[2001:db8::7]:443"`}, "2001:db8::7"},
		"spaces":                            {proxy, []string{"  203.0.113.7 , 10.0.0.2\t"}, "203.0.113.7"},
		"empty entries":                     {proxy, []string{"203.0.113.7,, ,10.0.0.2,"}, "203.0.113.7"},
		"a proxy that adds its port":        {proxy, []string{"203.0.113.7:51234, 10.0.0.2:8080"}, "203.0.113.7"},
		"an address the client made up":     {proxy, []string{"192.0.2.1, 203.0.113.7:51234"}, "203.0.113.7"},
		"a line the client made up":         {proxy, []string{"192.0.2.1", "203.0.113.7:51234"}, "203.0.113.7"},
		"unknown":                           {proxy, []string{"unknown"}, "10.0.0.1"},
		"hidden behind the last proxy":      {proxy, []string{"203.0.113.7, _hidden, 10.0.0.2"}, "10.0.0.2"},
		"nonsense that the client sent":     {proxy, []string{"<script>, 203.0.113.7"}, "203.0.113.7"},
		"nothing":                           {proxy, []string{""}, "10.0.0.1"},
		"no header":                         {proxy, nil, "10.0.0.1"},
		"a header that is not believed":     {stranger, []string{"203.0.113.7:51234"}, "198.51.100.9"},
		"a port that is none":               {proxy, []string{"203.0.113.7:port"}, "10.0.0.1"},
		"an address of a proxy in the list": {proxy, []string{"10.0.0.3:1"}, "10.0.0.3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			router := web.NewRouter([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
			got := ""
			router.NoRoute(func(c *gin.Context) { got = c.ClientIP() })
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = c.from, c.lines
			router.ServeHTTP(httptest.NewRecorder(), r)
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"waybill/adapters/web"
)

func TestBrowsersAreToldToComeByHTTPSWhereAnAddressIsHTTPS(t *testing.T) {
	t.Parallel()
	const told = "max-age=31536000"
	for name, c := range map[string]struct {
		addresses []string
		host      string
		want      string
	}{
		"https":                              {[]string{"https://portal.example.com"}, "portal.example.com", told},
		"https, with a port":                 {[]string{"https://portal.example.com:8443"}, "Portal.example.com:8443", told},
		"https, behind a proxy's own host":   {[]string{"https://portal.example.com"}, "127.0.0.1:8084", told},
		"http":                               {[]string{"http://localhost:8084"}, "localhost:8084", ""},
		"http, by another name":              {[]string{"http://localhost:8084"}, "portal.example.com", ""},
		"two addresses, by the https one":    {[]string{"https://api.example.com/v1", "http://track.example.com"}, "api.example.com", told},
		"two addresses, by the http one":     {[]string{"https://api.example.com/v1", "http://track.example.com"}, "track.example.com", ""},
		"two addresses, by neither":          {[]string{"https://api.example.com/v1", "http://track.example.com"}, "10.0.0.1", ""},
		"two https addresses, by neither":    {[]string{"https://api.example.com/v1", "https://track.example.com"}, "10.0.0.1", told},
		"one host by https and by http":      {[]string{"https://example.com/v1", "http://example.com/track"}, "example.com", ""},
		"an address of IPv6":                 {[]string{"https://[2001:db8::1]/v1"}, "[2001:db8::1]:443", told},
		"no address":                         {nil, "portal.example.com", ""},
		"two addresses, by one with a slash": {[]string{"https://api.example.com/v1", "https://api.example.com/track"}, "api.example.com", told},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := web.StrictTransport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNotFound)
			}), c.addresses...)
			r, answer := httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder()
			r.Host = c.host
			handler.ServeHTTP(answer, r)
			if got := answer.Header().Get("Strict-Transport-Security"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

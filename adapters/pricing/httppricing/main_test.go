package httppricing_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"waybill/adapters/pricing/httppricing"
	"waybill/domain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	good   = `{"currency":"GHS","fee":24.5,"distance_km":5.3,"distance_source":"road","requires_custom_quote":false}`
	custom = `{"currency":"GHS","distance_km":512.75,"distance_source":"straight_line","requires_custom_quote":true}`
)

var trip = domain.Trip{
	Environment: domain.Live, VehicleType: domain.Bike,
	Pickup:  domain.Coordinates{Latitude: 5.56, Longitude: -0.2},
	Dropoff: domain.Coordinates{Latitude: 5.6, Longitude: -0.19},
}

func ask(t testing.TB, o httppricing.Options) *httppricing.Client {
	t.Helper()
	o.Currency = "GHS"
	c, err := httppricing.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve runs a pricing service and returns its URL.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// requireFault sends one request and expects QUOTE_UNAVAILABLE and no quote.
func requireFault(t *testing.T, c *httppricing.Client, what ...string) {
	t.Helper()
	quote, err := c.Price(t.Context(), trip)
	if !domain.HasCode(err, domain.CodeQuoteUnavailable) {
		t.Errorf("%v: got %+v, %v, want QUOTE_UNAVAILABLE", what, quote, err)
	}
	if quote != (domain.Quote{}) {
		t.Errorf("%v: a quote came with the error: %+v", what, quote)
	}
}

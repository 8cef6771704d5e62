package valhalla_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"waybill/adapters/routing/valhalla"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
)

func TestMain(m *testing.M) {
	// The engine's test server is asked with the client of everyone.
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { http.DefaultClient.CloseIdleConnections() }))
}

const good = `{"trip":{"locations":[{"type":"break","lat":5.6,"lon":-0.2}],"legs":[{"summary":{"length":2.0},"shape":"_oxtI~reK"}],` +
	`"summary":{"time":120.5,"length":2.0},"status_message":"Found route between points","status":0,"units":"kilometers","language":"en-US"}}`

var trip = domain.Trip{Environment: domain.Live, VehicleType: domain.Car, Pickup: backend.PlaceA, Dropoff: backend.PlaceB}

func ask(t testing.TB, o valhalla.Options) *valhalla.Client {
	t.Helper()
	c, err := valhalla.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve runs an engine and returns its URL.
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

// requireFault expects an error that is a failure and not a result.
func requireFault(t *testing.T, c *valhalla.Client, what ...any) {
	t.Helper()
	d, err := c.Distance(t.Context(), trip)
	var outside *ports.OutsideServiceAreaError
	if err == nil || errors.Is(err, ports.ErrNoRoute) || errors.As(err, &outside) {
		t.Errorf("%v: got %+v, %v, want a failure", what, d, err)
	}
	if d != (domain.Distance{}) {
		t.Errorf("%v: a distance came with the error: %+v", what, d)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"waybill/domain"
	"waybill/test/backend"
)

// quoted is the response to a quote, without its envelope.
type quoted struct {
	Status     int
	RetryAfter string
	Code       string  // of an error
	Field      string  // the first that is invalid
	Kilometres float64 // and below: of a price
	Source     string
	Fee        *float64
	Custom     bool
}

// quote requests a price from a sandbox.
func quote(t *testing.T, base, key string, vehicle domain.VehicleType, from, to domain.Coordinates) (q quoted) {
	t.Helper()
	body := fmt.Sprintf(`{"vehicle_type":%q,"pickup":{"latitude":%v,"longitude":%v},"dropoff":{"latitude":%v,"longitude":%v}}`,
		vehicle, from.Latitude, from.Longitude, to.Latitude, to.Longitude)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/quotes", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Data struct {
			Kilometres float64  `json:"distance_km"`
			Source     string   `json:"distance_source"`
			Fee        *float64 `json:"fee"`
			Custom     bool     `json:"requires_custom_quote"`
		} `json:"data"`
		Error struct {
			Code    string `json:"code"`
			Details struct {
				Fields []struct {
					Field string `json:"field"`
				} `json:"fields"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	q = quoted{
		Status: res.StatusCode, RetryAfter: res.Header.Get("Retry-After"), Code: answer.Error.Code,
		Kilometres: answer.Data.Kilometres, Source: answer.Data.Source, Fee: answer.Data.Fee, Custom: answer.Data.Custom,
	}
	if fields := answer.Error.Details.Fields; len(fields) > 0 {
		q.Field = fields[0].Field
	}
	return q
}

func TestLongARoutingEngine(t *testing.T) {
	t.Parallel()
	routing := backend.ValhallaForTest(t)
	t.Run("measures a quote on the roads that its vehicle may take", func(t *testing.T) { quotesByRoad(t, routing) })
	t.Run("is asked by the pricing service too", func(t *testing.T) { pricesByRoad(t, routing) })
	t.Run("is asked by the doctor", func(t *testing.T) { doctorAsksForATrip(t, routing) })
}

// Lengths are those of the roads in test/backend: A to E is 2 km of main
// road, 1 km closed to trucks (or 3 km round), 1 km one way, and 4 km round a path
// for bicycles of 1 km. As the crow flies it is 5 km.
func quotesByRoad(t *testing.T, routing *backend.Valhalla) {
	byRoad, byBicycle := devWith(t, "WAYBILL_ROUTING_URL="+routing.URL), devWith(t, "WAYBILL_ROUTING_URL="+routing.URL,
		"WAYBILL_ROUTING_BIKE=bicycle")
	asTheCrowFlies := devWith(t)
	for _, c := range []struct {
		name     string
		vars     map[string]string
		vehicle  domain.VehicleType
		from, to domain.Coordinates
		km       float64
		source   string
		fee      float64 // 0: by hand
	}{
		{"bike", byRoad, domain.Bike, backend.PlaceA, backend.PlaceE, 8, "road", 30},
		{"bicycle", byBicycle, domain.Bike, backend.PlaceA, backend.PlaceE, 5, "road", 22.50},
		{"car", byRoad, domain.Car, backend.PlaceA, backend.PlaceE, 8, "road", 43},
		{"van", byRoad, domain.Van, backend.PlaceA, backend.PlaceE, 8, "road", 88},
		{"truck", byRoad, domain.Truck, backend.PlaceA, backend.PlaceE, 10, "road", 0},
		{"along the one way", byRoad, domain.Car, backend.PlaceC, backend.PlaceD, 1, "road", 20},
		{"against the one way", byRoad, domain.Car, backend.PlaceD, backend.PlaceC, 2, "road", 22},
		{"no routing engine", asTheCrowFlies, domain.Car, backend.PlaceA, backend.PlaceE, 5 * 1.3, "straight_line", 38},
		{"no routing engine, no one way", asTheCrowFlies, domain.Car, backend.PlaceD, backend.PlaceC, 1.3, "straight_line", 20},
	} {
		q := quote(t, c.vars["WAYBILL_SANDBOX_URL"], c.vars["WAYBILL_TEST_KEY"], c.vehicle, c.from, c.to)
		if q.Status != http.StatusOK || math.Abs(q.Kilometres-c.km) > c.km/100 || q.Source != c.source {
			t.Errorf("%s: got %+v, want %v km, %s", c.name, q, c.km, c.source)
		}
		if fee := c.fee; q.Custom != (fee == 0) || q.Custom != (q.Fee == nil) || q.Fee != nil && math.Abs(*q.Fee-fee) > 0.5 {
			t.Errorf("%s: got %+v, want a fee of %v", c.name, q, fee)
		}
	}
	for end, trip := range map[string][2]domain.Coordinates{
		"dropoff": {backend.PlaceA, backend.PlaceF}, "dropoff.": {backend.PlaceA, backend.PlaceAtSea}, "pickup": {backend.PlaceAtSea, backend.PlaceA},
	} {
		q := quote(t, byRoad["WAYBILL_SANDBOX_URL"], byRoad["WAYBILL_TEST_KEY"], domain.Car, trip[0], trip[1])
		if q.Status != http.StatusUnprocessableEntity || q.Code != "VALIDATION_ERROR" || q.Field != strings.TrimSuffix(end, ".") {
			t.Errorf("no way to the %s: got %+v", end, q)
		}
	}
	metrics := readAll(t, byRoad["WAYBILL_OPS_URL"]+"/metrics")
	for _, want := range []string{
		`waybill_routing_requests_total{result="measured"} 6`, `waybill_routing_requests_total{result="no_route"} 3`,
		`waybill_routing_requests_total{result="unavailable"} 0`, `waybill_routing_duration_seconds_count 9`,
		`waybill_routing_cache_total{result="miss"} 9`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

func pricesByRoad(t *testing.T, routing *backend.Valhalla) {
	// A file that both processes share names the service itself, too.
	_, at := startPricing(t, []string{"WAYBILL_ROUTING_URL=" + routing.URL, "WAYBILL_PRICING_URL=http://127.0.0.1:1"})
	vars := devWith(t, "WAYBILL_PRICING_URL="+at, "WAYBILL_ROUTING_URL=http://127.0.0.1:1")
	q := quote(t, vars["WAYBILL_LIVE_URL"], vars["WAYBILL_LIVE_KEY"], domain.Truck, backend.PlaceA, backend.PlaceC)
	if q.Status != http.StatusOK || q.Kilometres != 5 || q.Source != "road" {
		t.Errorf("got %+v, want 5 km by road", q)
	}
	q = quote(t, vars["WAYBILL_LIVE_URL"], vars["WAYBILL_LIVE_KEY"], domain.Car, backend.PlaceAtSea, backend.PlaceC)
	if q.Status != http.StatusUnprocessableEntity || q.Field != "pickup" {
		t.Errorf("from the sea: got %+v", q)
	}
	if text := readAll(t, vars["WAYBILL_OPS_URL"]+"/readyz?verbose"); strings.Contains(text, "routing") {
		t.Errorf("a routing engine that this process does not ask is a check: %s", text)
	}
	if text := readAll(t, at+"/metrics"); !strings.Contains(text, `waybill_routing_requests_total{result="measured"} 1`) {
		t.Error("the service's metrics do not count its distances")
	}
}

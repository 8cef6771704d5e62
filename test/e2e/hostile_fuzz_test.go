package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/clock"
	"waybill/adapters/crypto"
	"waybill/adapters/geo"
	"waybill/adapters/httpapi"
	"waybill/adapters/memory"
	"waybill/adapters/normalizer"
	"waybill/adapters/pricing/tariff"
	"waybill/adapters/routing"
	"waybill/adapters/storage/gormstore"
	"waybill/adapters/web/views"
	"waybill/application/access"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/idempotency"
	"waybill/domain"
)

// FuzzCreateDelivery posts anything at all to POST /deliveries, with the real
// use cases on a SQLite file and without a network. The answer is never a 5xx,
// always in the envelope, and a 201 only for an order that makes sense.
func FuzzCreateDelivery(f *testing.F) {
	api, key, errors := sandboxAPI(f)
	f.Add([]byte(soundOrder))
	f.Add([]byte(swapped(`{"type":"delivery_only"}`, `{"type":"cod","goods_value":12.5}`)))
	f.Add([]byte(swapped(`{"recipient"`,
		`{"external_id":"order-1","delivery_instructions":"Ring\n twice","sandbox":{"scenario":"manual","step_seconds":15},"recipient"`)))
	for _, scenario := range domain.Scenarios() {
		f.Add([]byte(swapped(`{"recipient"`, `{"sandbox":{"scenario":"`+string(scenario)+`","step_seconds":300},"recipient"`)))
		f.Add([]byte(swapped(`"delivery_only"}`, `"cod","goods_value":12.5},"sandbox":{"scenario":"`+string(scenario)+`"}`)))
	}
	f.Add(
		[]byte(`{"recipient_id":"rcp_1","recipient_address_id":"adr_1","pickup_location_id":"pkp_1","payment":{"type":"cod"},"vehicle_type":"truck"}`))
	for _, near := range [][2]string{ // orders that miss by a little
		{`"delivery_only"`, `"delivery_only","goods_value":5`}, {`"delivery_only"`, `"cod"`},
		{`"delivery_only"`, `"cod","goods_value":1000000.01`},
		{`"delivery_only"`, `"cod","goods_value":-0.00`}, {`5.58`, `4.49`}, {`-0.1818`, `1.31`}, {`"bike"`, `"boat"`},
		{`"8 Cantonments Close"`, `" 8 "`},
		{`"bike"`, `"bike","recipient_id":"rcp_1"`}, {`"bike"`, `"bike","pickup_location_id":"pkp_1"`}, {`"name":"Osu kitchen",`, ``},
	} {
		f.Add([]byte(swapped(near[0], near[1])))
	}
	for _, broken := range []string{"", "null", "[]", soundOrder + soundOrder, "\ufeff" + soundOrder, soundOrder[:100],
		swapped(`"latitude":5.58`, `"latitude":5.58,"latitude":90`), swapped(`5.58`, `1e999999999`), swapped("Efua", `Ef\ud83dua`),
		swapped("Efua", "Ef\xc3"), strings.Repeat(`{"a":`, 17) + "1" + strings.Repeat("}", 17)} {
		f.Add([]byte(broken))
	}
	for _, c := range hostileTexts {
		if len(c.text) < 2_000 {
			f.Add(render(anOrder(set("delivery_instructions", c.text), set("external_id", c.text))))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		status, answer := postTo(t, api, key, "/v1/deliveries", body, errors)
		if status >= 300 {
			return
		}
		if reason := whyNotAnOrder(body, inside(answer, "data")); reason != "" || status != http.StatusCreated {
			t.Fatalf("answered %d to an order where %s: %v", status, reason, answer)
		}
	})
}

// postTo posts a body under a fresh key, and fails where the answer breaks
// what holds for all of them.
func postTo(t *testing.T, api http.Handler, key, path string, body []byte, failures *bytes.Buffer) (status int, answer any) {
	req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Idempotency-Key", newKeyText())
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, req)
	res := rec.Result()
	onTheWire := http.Header{} // in Go's spelling, as a client would have it
	for name, values := range res.Header {
		onTheWire[http.CanonicalHeaderKey(name)] = values
	}
	res.Header = onTheWire
	if fault := faultOf(http.MethodPost, res, rec.Body.Bytes()); fault != "" || res.StatusCode >= 500 || failures.Len() > 0 {
		t.Fatalf("answered %d: %s: %s\n%s", res.StatusCode, fault, rec.Body, failures)
	}
	return res.StatusCode, parse(rec.Body.Bytes())
}

// sandboxAPI assembles the API of one environment, with a key for it. What it
// logs as an error is written to the buffer.
func sandboxAPI(f *testing.F) (api http.Handler, key string, failures *bytes.Buffer) {
	f.Helper()
	must := func(err error) {
		if err != nil {
			f.Fatal(err)
		}
	}
	failures = &bytes.Buffer{}
	log := slog.New(slog.NewTextHandler(failures, &slog.HandlerOptions{Level: slog.LevelError}))
	url := "sqlite://" + filepath.ToSlash(filepath.Join(f.TempDir(), "fuzz.db"))
	must(gormstore.Migrate(f.Context(), url))
	store, err := gormstore.Open(f.Context(), url, gormstore.Options{Logger: log})
	must(err)
	f.Cleanup(func() { must(store.Close()) })
	normalizer, err := normalizer.New("GH")
	must(err)
	digester, err := crypto.NewKeyDigester(strings.Repeat("p", 32))
	must(err)
	area := geo.DefaultArea()
	price, err := tariff.New(tariff.Default(), routing.NewStraightLine(), area)
	must(err)

	clock, ids := clock.NewSystem(), crypto.NewIdentifiers(clock.NewSystem())
	gate := idempotency.NewGate(store, clock, ids, log, idempotency.Retention(time.Hour))
	trips := deliveries.NewQuotes(store, price, area)
	much := domain.RateLimit{Limit: 1_000_000, Window: time.Minute}
	tenants := access.NewTenants(store, digester, clock, ids, memory.NewInvalidations())
	business, err := tenants.CreateBusiness(f.Context(), domain.AuditActor{Name: "test"}, "Fuzz", &much)
	must(err)
	app, err := tenants.CreateApplication(f.Context(), domain.AuditActor{Name: "test"}, business.ID, "Fuzz")
	must(err)
	made, err := tenants.IssueKey(f.Context(), domain.AuditActor{Name: "test"}, app.ID, domain.Sandbox, domain.AllScopes(), nil)
	must(err)
	single := deliveries.New(store, store, gate, trips, clock, ids, normalizer, views.Events{})
	return httpapi.New(httpapi.UseCases{
		Admission: access.NewAdmission(store, memory.NewLimiter(clock.Now), digester, clock,
			access.Limits{PerKey: much, PerBusiness: much, PerAddress: much}),
		Quotes: trips, Recipients: directory.NewRecipients(store, gate, clock, ids, normalizer),
		PickupLocations: directory.NewPickupLocations(store, gate, clock, ids),
		Deliveries:      single, Bulk: bulk.New(store, gate, single, ids, log, bulk.Lease(time.Minute), bulk.Throttle{Writers: 2}),
		Normalizer: normalizer, ServiceArea: area, Identifiers: ids,
	}, httpapi.Options{
		CursorKeys:  [][32]byte{{1}},
		Environment: domain.Sandbox, BaseURL: "http://127.0.0.1/v1", TrackingBaseURL: "http://127.0.0.1/track",
		Currency: "GHS", Log: log, Metrics: httpapi.NewMetrics(prometheus.NewRegistry()),
	}).Handler(), made.Secret, failures
}

// whyNotAnOrder reads an order that was taken with the standard library, and
// says what should have refused it or what the delivery got wrong.
func whyNotAnOrder(body []byte, booked any) string {
	var order m
	if json.Unmarshal(body, &order) != nil || order == nil || !utf8.Valid(body) {
		return "there is no JSON object"
	}
	delivery, _ := booked.(m)
	if hasNUL(order) {
		return "a text has a NUL"
	}
	if vehicle := order["vehicle_type"]; !slices.Contains([]any{"bike", "car", "van", "truck"}, vehicle) ||
		vehicle != delivery["vehicle_type"] {
		return fmt.Sprintf("the vehicle is %v", vehicle)
	}
	payment, _ := order["payment"].(m)
	amount, _ := payment["goods_value"].(float64)
	switch kind := payment["type"]; {
	case kind != "cod" && kind != "delivery_only":
		return fmt.Sprintf("the payment is %v", kind)
	case (kind == "cod") != (amount > 0) || amount > 1_000_000:
		return fmt.Sprintf("%v is paid with %v", amount, kind)
	}
	for _, end := range []struct {
		name   string
		sent   any
		booked any
	}{
		{"recipient.address", inside(order["recipient"], "address"), delivery["dropoff"]},
		{"pickup", order["pickup"], delivery["pickup"]},
	} {
		if reason := whyNotAPlace(end.sent, end.booked); reason != "" {
			return end.name + " " + reason
		}
	}
	if reason := whyNotThatSimulation(order, delivery["simulation"]); reason != "" {
		return reason
	}
	if id, ok := order["external_id"].(string); ok && (strings.TrimSpace(id) != delivery["external_id"] ||
		utf8.RuneCountInString(strings.TrimSpace(id)) > 128) {
		return fmt.Sprintf("external_id is %q", id)
	}
	return ""
}

// whyNotThatSimulation compares the sandbox object of an order with the
// simulation that was booked.
func whyNotThatSimulation(order m, booked any) string {
	plan, sent := order["sandbox"].(m)
	scenario, _ := plan["scenario"].(string)
	status := "running"
	if scenario == "manual" || !sent {
		scenario, status = "manual", "idle"
	}
	script, known := scripts[scenario]
	pace, paced := plan["step_seconds"].(float64)
	switch {
	case !known && scenario != "manual":
		return fmt.Sprintf("the scenario is %q", scenario)
	case scenario != inside(booked, "scenario") || status != inside(booked, "status"):
		return fmt.Sprintf("the simulation is %v", booked)
	case script.payment != "" && script.payment != inside(order["payment"], "type"):
		return fmt.Sprintf("%s goes with any payment", scenario)
	case paced && (pace < 1 || pace > 300 || pace != math.Trunc(pace)):
		return fmt.Sprintf("a step takes %v s", pace)
	}
	return ""
}

// whyNotAPlace compares a place that was sent with the one that was booked.
// Nothing is saved, so that every order that is taken has them inline.
func whyNotAPlace(sent, booked any) string {
	text, _ := inside(sent, "address").(string)
	if n := utf8.RuneCountInString(strings.TrimSpace(text)); n < 2 || n > 500 || strings.TrimSpace(text) != inside(booked, "address") {
		return fmt.Sprintf("has the address %q", text)
	}
	for name, bounds := range map[string][2]float64{"latitude": {4.5, 11.3}, "longitude": {-3.4, 1.3}} {
		at, ok := inside(sent, name).(float64)
		if shown, err := strconv.ParseFloat(fmt.Sprint(inside(booked, name)), 64); !ok || err != nil || at < bounds[0] || at > bounds[1] ||
			shown != at {
			return fmt.Sprintf("has %s %v, booked as %v", name, inside(sent, name), inside(booked, name))
		}
	}
	return ""
}

func inside(value any, name string) any {
	object, _ := value.(m)
	return object[name]
}

func hasNUL(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case m:
		for name, inner := range v {
			if hasNUL(name) || hasNUL(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasNUL)
	}
	return false
}

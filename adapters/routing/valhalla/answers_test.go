package valhalla_test

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/adapters/routing/valhalla"
	"waybill/domain"
	"waybill/ports"
)

func TestTheQuestionIsTheEngines(t *testing.T) {
	t.Parallel()
	type question struct{ Method, Path, Type, Key, Body string }
	var got question
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = question{r.Method, r.URL.Path, r.Header.Get("Content-Type"), strings.Join(r.Header["Idempotency-Key"], ","), string(body)}
		_, _ = io.WriteString(w, good)
	})
	costings := map[domain.VehicleType]string{domain.Bike: "motor_scooter", domain.Car: "auto", domain.Van: "auto", domain.Truck: "truck"}
	for _, vehicle := range domain.VehicleTypes() {
		to := domain.Trip{VehicleType: vehicle, Pickup: domain.Coordinates{Latitude: 5.56, Longitude: -0.2},
			Dropoff: domain.Coordinates{Latitude: 5.6, Longitude: -0.19}}
		if _, err := ask(t, valhalla.Options{URL: url + "/v3/"}).Distance(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		want := question{"POST", "/v3/route", "application/json", "",
			`{"locations":[{"lat":5.56,"lon":-0.2,"search_cutoff":2000},{"lat":5.6,"lon":-0.19,"search_cutoff":2000}],` +
				`"costing":"` + costings[vehicle] + `","units":"kilometers","directions_type":"none"}`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestGoodAnswersAreLengthsToTheMetre(t *testing.T) {
	t.Parallel()
	with := func(length string) string {
		return strings.Replace(good, `"time":120.5,"length":2.0`, `"length":`+length, 1)
	}
	for body, want := range map[string]float64{
		good:                2,
		with("0"):           0,
		with("-0.0"):        0,
		with("12.3456"):     12.346,
		with("0.0004"):      0,
		with("1.2e2"):       120,
		" " + good + "\r\n": 2,
		`{"id":"x","trip":{"status":0,"units":"kilometers","summary":{"length":7}}}`:          7,
		strings.Replace(good, "{", `{"pad":"`+strings.Repeat("x", 1<<20-len(good)-9)+`",`, 1): 2, // exactly as much as is read
	} {
		d, err := ask(t, valhalla.Options{URL: serve(t, answers(200, body))}).Distance(t.Context(), trip)
		if err != nil || d != (domain.Distance{Kilometres: want, Source: domain.DistanceRoad}) || math.Signbit(d.Kilometres) {
			t.Errorf("%.150s: got %+v, %v, want %v km", body, d, err, want)
		}
	}
}

func TestWhatIsNotTheEnginesAnswerIsAFailure(t *testing.T) {
	t.Parallel()
	replaced := func(old, new string) string {
		body := strings.Replace(good, old, new, 1)
		if body == good {
			t.Fatalf("no %q in the answer", old)
		}
		return body
	}
	summary := `"summary":{"time":120.5,"length":2.0}`
	for _, c := range []struct {
		status int
		body   string
	}{
		{200, ""}, {200, "{}"}, {200, "null"}, {200, "[]"}, {200, "<html>502</html>"}, {200, good[:len(good)-1]}, {200, good + good},
		{200, replaced(`"status":0`, `"status":1`)}, {200, replaced(`"status":0,`, ``)}, {200, replaced(`"status":0`, `"status":null`)},
		{200, replaced(`"status":0`, `"status":"0"`)},
		{200, replaced(`"kilometers"`, `"miles"`)}, {200, replaced(`"units":"kilometers",`, ``)},
		{200, replaced(summary, `"summary":{"length":-0.001}`)}, {200, replaced(summary, `"summary":{"length":NaN}`)},
		{200, replaced(summary, `"summary":{"length":"2.0"}`)}, {200, replaced(summary, `"summary":{"length":null}`)},
		{200, replaced(summary, `"summary":{"length":1e999}`)}, {200, replaced(summary, `"summary":{}`)},
		{200, replaced(summary, `"summary":null`)},
		{200, replaced(summary, `"summary":{"length":2,"length":1}`)}, {200, replaced(summary, `"Summary":{"length":2}`)},
		{200, good + strings.Repeat(" ", 1<<20)},
		{200, `{"error_code":442,"error":"No path could be found for input"}`},
		{201, good}, {204, ""}, {301, good}, {400, good}, {401, good}, {404, good}, {429, good}, {500, good}, {502, good}, {503, good},
		{400, ""}, {400, "{}"}, {400, `{"error_code":"442"}`}, {400, `{"error_code":442`}, {500, `{"error_code":154}`},
		{400, `{"error_code":125,"error":"No costing method found"}`}, {500, `{"error_code":442,"error":"No path could be found for input"}`},
		{404, `{"error_code":171}`},
	} {
		requireFault(t, ask(t, valhalla.Options{URL: serve(t, answers(c.status, c.body))}), c.status, c.body[:min(len(c.body), 200)])
	}
}

func TestNoWayIsAnAnswerThatNamesTheEndWhereTheEngineCanTell(t *testing.T) {
	t.Parallel()
	const offRoad = `{"error_code":171,"error":"No suitable edges near location","status_code":400,"status":"Bad Request"}`
	then := func(first, second http.HandlerFunc) (url string, asked *atomic.Int64) {
		asked = new(atomic.Int64)
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) == 1 {
				first(w, r)
				return
			}
			body, _ := io.ReadAll(r.Body)
			if strings.Count(string(body), `"lon":-0.2,`) != 2 {
				t.Errorf("the second question is %s, want the way from the pickup to itself", body)
			}
			second(w, r)
		}), asked
	}
	for _, code := range []string{"170", "442"} {
		c := ask(t, valhalla.Options{URL: serve(t, answers(400, `{"error_code":`+code+`}`))})
		if _, err := c.Distance(t.Context(), trip); !errors.Is(err, ports.ErrNoRoute) {
			t.Errorf("%s: got %v", code, err)
		}
	}
	for end, second := range map[string]http.HandlerFunc{"dropoff": answers(200, good), "pickup": answers(400, offRoad)} {
		url, asked := then(answers(400, offRoad), second)
		d, err := ask(t, valhalla.Options{URL: url}).Distance(t.Context(), trip)
		var outside *ports.OutsideServiceAreaError
		if !errors.As(err, &outside) || outside.End != end || d != (domain.Distance{}) || asked.Load() != 2 {
			t.Errorf("got %+v, %v after %d questions, want no way to the %s", d, err, asked.Load(), end)
		}
	}
	url, _ := then(answers(400, offRoad), answers(500, ""))
	requireFault(t, ask(t, valhalla.Options{URL: url}), "the second question fails")
	slow := func(w http.ResponseWriter, r *http.Request) {
		<-time.After(600 * time.Millisecond)
		answers(400, offRoad)(w, r)
	}
	url, _ = then(slow, slow)
	requireFault(t, ask(t, valhalla.Options{URL: url, Timeout: 900 * time.Millisecond}), "both questions have one time-out")
}

func TestAPingWantsAValhalla(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 1)
	c := ask(t, valhalla.Options{URL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		paths <- r.Method + " " + r.URL.Path
		_, _ = io.WriteString(w, `{"version":"3.6.1","tileset_last_modified":1,"available_actions":["route"]}`)
	})})
	if err := c.Ping(t.Context()); err != nil || <-paths != "GET /status" {
		t.Error(err)
	}
	for status, body := range map[int]string{200: `{"status":"ok"}`, 404: `{"version":"3.6.1"}`, 500: "", 203: "it works"} {
		if err := ask(t, valhalla.Options{URL: serve(t, answers(status, body))}).Ping(t.Context()); err == nil {
			t.Errorf("%d %s: taken for a Valhalla", status, body)
		}
	}
}

func TestOptionsThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []valhalla.Options{
		{}, {URL: "valhalla:8002"}, {URL: "ftp://valhalla"}, {URL: "http://"}, {URL: "http://u:hunter22@valhalla"}, {URL: "http://valhalla?x"},
		{URL: "http://valhalla:1%/hunter22@x"}, {URL: "http://valhalla", Timeout: -1}, {URL: "http://valhalla", Timeout: 2 * time.Second},
		{URL: "http://valhalla", BikeCosting: "horse"},
	} {
		if _, err := valhalla.New(o); err == nil || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	requireFault(t, ask(t, valhalla.Options{URL: "http://127.0.0.1:1"}))
	if _, err := ask(t, valhalla.Options{URL: serve(t, answers(200, good))}).Distance(t.Context(),
		domain.Trip{VehicleType: "rocket"}); err == nil {
		t.Error("a rocket was measured")
	}
}

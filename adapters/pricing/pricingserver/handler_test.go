package pricingserver_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/adapters/pricing/pricingserver"
	"waybill/domain"
	"waybill/ports"
)

const question = `{"environment":"live","vehicle_type":"bike","currency":"GHS","pickup":{"latitude":5.56,"longitude":-0.2},"dropoff":{"latitude":5.6,"longitude":-0.19}}`

type pricing func(domain.Trip) (domain.Quote, error)

func (f pricing) Price(_ context.Context, t domain.Trip) (domain.Quote, error) { return f(t) }

func quote() domain.Quote {
	return domain.Quote{Currency: "GHS", Fee: &domain.Money{Minor: 2450, Currency: "GHS"},
		Distance: domain.Distance{Kilometres: 5.3, Source: domain.DistanceRoad}}
}

func server(p pricing) http.Handler {
	return pricingserver.New(pricingserver.Options{Pricing: p, Currency: "GHS", Logger: slog.New(slog.DiscardHandler)})
}

func send(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

func TestAQuestionReachesThePricingAndItsQuoteComesBack(t *testing.T) {
	t.Parallel()
	var asked domain.Trip
	w := send(server(func(t domain.Trip) (domain.Quote, error) { asked = t; return quote(), nil }), "POST", "/prices", question)
	want := `{"currency":"GHS","fee":24.5,"distance_km":5.3,"distance_source":"road","requires_custom_quote":false}` + "\n"
	if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s, %v", w.Code, w.Body, w.Header())
	}
	if asked != (domain.Trip{Environment: domain.Live, VehicleType: domain.Bike,
		Pickup: domain.Coordinates{Latitude: 5.56, Longitude: -0.2}, Dropoff: domain.Coordinates{Latitude: 5.6, Longitude: -0.19}}) {
		t.Errorf("asked for %+v", asked)
	}
}

func TestACustomQuoteHasNoFeeMember(t *testing.T) {
	t.Parallel()
	w := send(server(func(domain.Trip) (domain.Quote, error) {
		q := quote()
		q.Fee, q.RequiresCustomQuote = nil, true
		return q, nil
	}), "POST", "/prices", question)
	want := `{"currency":"GHS","distance_km":5.3,"distance_source":"road","requires_custom_quote":true}` + "\n"
	if w.Code != 200 || w.Body.String() != want {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestWhatIsNotExactlyAQuestionIsRefusedAndNeverPriced(t *testing.T) {
	t.Parallel()
	h := server(func(domain.Trip) (domain.Quote, error) {
		t.Error("the pricing was asked")
		return quote(), nil
	})
	with := func(old, by string) string {
		if !strings.Contains(question, old) {
			t.Fatalf("%q is not in the question", old)
		}
		return strings.Replace(question, old, by, 1)
	}
	for _, body := range []string{
		"", "null", "[]", "{}", "{", question + question, question + "x", "\xff",
		with("{", `{"discount":1,`), with(`"live"`, `"live","live2":1`), with(`"environment"`, `"Environment"`),
		with(`"currency":"GHS"`, `"currency":"GHS","currency":"GHS"`), with(`"latitude":5.56`, `"latitude":5.56,"altitude":3`),
		with("live", "test"), with(`"live"`, "null"), with("bike", "rocket"), with("bike", "Bike"), with("GHS", "USD"),
		with(`"currency":"GHS",`, ""),
		with("5.56", "90.1"), with("5.56", "-90.1"), with("-0.2", "180.1"), with("-0.2", "-180.1"), with("5.56", "1e400"), with("5.56", "NaN"),
		with("5.56", `"5.56"`), with("5.56", "null"), with(`"latitude":5.56,`, ""), with(`,"longitude":-0.2`, ""),
		with(`"dropoff":{"latitude":5.6,"longitude":-0.19}`, `"dropoff":null`), with(`"dropoff":{"latitude":5.6,"longitude":-0.19}`,
			`"dropoff":[5.6,-0.19]`),
		strings.Repeat(" ", 5000) + question,
	} {
		w := send(h, "POST", "/prices", body)
		if w.Code != 400 || !strings.HasPrefix(w.Body.String(), `{"code":"INVALID_REQUEST","message":"`) {
			t.Errorf("%.100s: got %d %s", body, w.Code, w.Body)
		}
	}
}

func TestAPointOutsideTheServiceAreaIsNamed(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"pickup", "dropoff"} {
		w := send(server(func(domain.Trip) (domain.Quote, error) {
			return domain.Quote{}, &ports.OutsideServiceAreaError{End: end}
		}), "POST", "/prices", question)
		if w.Code != 422 || w.Body.String() != `{"code":"OUTSIDE_SERVICE_AREA","field":"`+end+`"}`+"\n" {
			t.Errorf("%s: got %d %s", end, w.Code, w.Body)
		}
	}
}

func TestAFailureAndAQuoteThatCannotBeRightAreUnavailable(t *testing.T) {
	t.Parallel()
	spoilt := func(spoil func(*domain.Quote)) pricing {
		return func(domain.Trip) (domain.Quote, error) {
			q := quote()
			spoil(&q)
			return q, nil
		}
	}
	for name, p := range map[string]pricing{
		"unavailable": func(domain.Trip) (domain.Quote, error) {
			return domain.Quote{}, domain.QuoteUnavailable(errors.New("secret cause"))
		},
		"unknown error":             func(domain.Trip) (domain.Quote, error) { return quote(), errors.New("secret cause") },
		"no fee":                    spoilt(func(q *domain.Quote) { q.Fee = nil }),
		"fee and custom":            spoilt(func(q *domain.Quote) { q.RequiresCustomQuote = true }),
		"negative fee":              spoilt(func(q *domain.Quote) { q.Fee.Minor = -1 }),
		"other currency":            spoilt(func(q *domain.Quote) { q.Currency = "USD" }),
		"other currency of the fee": spoilt(func(q *domain.Quote) { q.Fee.Currency = "USD" }),
		"NaN km":                    spoilt(func(q *domain.Quote) { q.Distance.Kilometres = math.NaN() }),
		"infinite km":               spoilt(func(q *domain.Quote) { q.Distance.Kilometres = math.Inf(1) }),
		"negative km":               spoilt(func(q *domain.Quote) { q.Distance.Kilometres = -1 }),
	} {
		w := send(server(p), "POST", "/prices", question)
		if w.Code != 503 || w.Body.String() != `{"code":"QUOTE_UNAVAILABLE"}`+"\n" || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: got %d %s, %v", name, w.Code, w.Body, w.Header())
		}
	}
}

// timeless leaves out the time, whose digits may be those of a place.
func timeless(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func TestTheCauseOfAFailureIsLogged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := pricingserver.New(pricingserver.Options{
		Pricing:  pricing(func(domain.Trip) (domain.Quote, error) { return domain.Quote{}, errors.New("the engine is down") }),
		Currency: "GHS", Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: timeless})),
	})
	send(h, "POST", "/prices", question)
	if !strings.Contains(log.String(), "the engine is down") || strings.Contains(log.String(), "5.56") {
		t.Errorf("logged %q, want the cause and no place", log.String())
	}
}

func TestOtherPathsAndMethodsAreRefusedAsJSON(t *testing.T) {
	t.Parallel()
	h := server(func(domain.Trip) (domain.Quote, error) { return quote(), nil })
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/healthz", 200, `{"status":"ok"}`}, {"HEAD", "/healthz", 200, `{"status":"ok"}`},
		{"POST", "/healthz", 405, "METHOD_NOT_ALLOWED"}, {"GET", "/prices", 405, "METHOD_NOT_ALLOWED"},
		{"PUT", "/prices", 405, "METHOD_NOT_ALLOWED"}, {"GET", "/", 404, "NOT_FOUND"}, {"POST", "/prices/", 404, "NOT_FOUND"},
		{"POST", "/Prices", 404, "NOT_FOUND"},
	} {
		w := send(h, c.method, c.path, question)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: got %d %s", c.method, c.path, w.Code, w.Body)
		}
		if (w.Code == 405) != (w.Header().Get("Allow") != "") {
			t.Errorf("%s %s: Allow is %q", c.method, c.path, w.Header().Get("Allow"))
		}
	}
}

func TestABodyThatBreaksOffIsRefused(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	h := server(func(domain.Trip) (domain.Quote, error) { return quote(), nil })
	body := io.MultiReader(strings.NewReader(question), broken{})
	h.ServeHTTP(w, httptest.NewRequest("POST", "/prices", body))
	if w.Code != 400 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

package httppricing_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/adapters/pricing/httppricing"
	"waybill/domain"
	"waybill/ports"
)

func cedis(minor int64) *domain.Money { return &domain.Money{Minor: minor, Currency: "GHS"} }

func TestTheQuestionIsTheProtocols(t *testing.T) {
	t.Parallel()
	type question struct{ Method, Path, Type, Key, Body string }
	var got question
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = question{r.Method, r.URL.Path, r.Header.Get("Content-Type"), strings.Join(r.Header["Idempotency-Key"], ","), string(body)}
		_, _ = io.WriteString(w, good)
	})
	if _, err := ask(t, httppricing.Options{URL: url + "/v2/"}).Price(t.Context(), trip); err != nil {
		t.Fatal(err)
	}
	want := question{"POST", "/v2/prices", "application/json", "",
		`{"environment":"live","vehicle_type":"bike","currency":"GHS","pickup":{"latitude":5.56,"longitude":-0.2},"dropoff":{"latitude":5.6,"longitude":-0.19}}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGoodAnswersBecomeQuotes(t *testing.T) {
	t.Parallel()
	road := domain.Distance{Kilometres: 5.3, Source: domain.DistanceRoad}
	priced := func(minor int64) domain.Quote {
		return domain.Quote{Currency: "GHS", Distance: road, Fee: cedis(minor)}
	}
	withFee := func(fee string) string { return strings.Replace(good, "24.5", fee, 1) }
	for body, want := range map[string]domain.Quote{
		good: priced(2450),
		custom: {Currency: "GHS", Distance: domain.Distance{Kilometres: 512.75, Source: domain.DistanceStraightLine},
			RequiresCustomQuote: true},
		withFee("0"):                priced(0),
		withFee("-0.00"):            priced(0),
		withFee("0.01"):             priced(1),
		withFee("24.50000"):         priced(2450),
		withFee("2.45e1"):           priced(2450),
		withFee("2450E-2"):          priced(2450),
		withFee("0.0245e+3"):        priced(2450),
		withFee("19.99"):            priced(1999),
		withFee("0.29"):             priced(29), // 28.999999999999996 hundredths as a float
		withFee("9999999999999.99"): priced(999999999999999),
		"\n " + good + " \r\n\t":    priced(2450),
		`{"fee":24.5,"currency":"GHS","distance_source":"road","distance_km":5.3}`: priced(
			2450),
		`{"currency":"GHS","fee":24.5,"distance_km":5.3,"distance_source":"road","valid_until":null,"breakdown":{"fee":[1,"x"]},"Fee":1}`: priced(
			2450),
		`{"currency":"GHS","fee":null,"distance_km":5.3,"distance_source":"road","requires_custom_quote":true}`: {Currency: "GHS", Distance: road,
			RequiresCustomQuote: true},
		`{"currency":"GHS","fee":24.5,"distance_km":0,"distance_source":"road"}`: {Currency: "GHS",
			Distance: domain.Distance{Source: domain.DistanceRoad}, Fee: cedis(2450)},
		// Exactly as much as is read.
		strings.Repeat(" ", 64<<10-len(good)) + good: priced(2450),
	} {
		got, err := ask(t, httppricing.Options{URL: serve(t, answers(200, body))}).Price(t.Context(), trip)
		if err != nil {
			t.Errorf("%.150s: %v", body, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.150s: %s", body, diff)
		}
	}
}

func TestAPointOutsideTheServiceAreaIsNamed(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"pickup", "dropoff"} {
		body := `{"code":"OUTSIDE_SERVICE_AREA","field":"` + end + `","message":"too far"}`
		_, err := ask(t, httppricing.Options{URL: serve(t, answers(422, body))}).Price(t.Context(), trip)
		var outside *ports.OutsideServiceAreaError
		if !errors.As(err, &outside) || outside.End != end {
			t.Errorf("got %v, want %s outside", err, end)
		}
		if domain.HasCode(err, domain.CodeQuoteUnavailable) {
			t.Errorf("%v is a QUOTE_UNAVAILABLE too", err)
		}
	}
}

func TestAnAnswerWithAnyDoubtIsAFault(t *testing.T) {
	t.Parallel()
	replace := func(old, by string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the good answer", old)
		}
		return strings.Replace(good, old, by, 1)
	}
	bodies := map[string]string{
		"empty": "", "blank": "  \n", "html": "<html>502</html>", "text": "24.5 GHS", "null": "null", "string": `"x"`,
		"number": "24.5", "array": "[" + good + "]", "empty object": "{}", "garbage": "\x00\x01\xfe\xff",
		"truncated": good[:len(good)-1], "two values": good + good, "garbage behind": good + "x", "brace behind": good + "}",
		"byte order mark": "\xef\xbb\xbf" + good, "comment": good + "// ok", "trailing comma": good[:len(good)-1] + ",}",
		"single quotes": strings.ReplaceAll(good, `"`, `'`), "invalid UTF-8": replace(`"road"`, `"road","x":"`+"\xff"+`"`),
		"deep": strings.Repeat("[", 60000), "over 64 KiB": strings.Repeat(" ", 64<<10-len(good)+1) + good,
		"large member": replace(`{`, `{"pad":"`+strings.Repeat("x", 70<<10)+`",`),

		"same name twice":                 replace(`"fee":24.5`, `"fee":24.5,"fee":1`),
		"same value twice":                replace(`"fee":24.5`, `"fee":24.5,"fee":24.5`),
		"unknown name twice":              replace(`"fee":24.5`, `"fee":24.5,"x":1,"x":2`),
		"escaped name twice":              replace(`"fee":24.5`, `"fee":24.5,"\u0066ee":1`),
		"other case":                      replace(`"fee"`, `"Fee"`),
		"fee missing":                     replace(`"fee":24.5,`, ``),
		"fee missing, no flag":            `{"currency":"GHS","distance_km":5.3,"distance_source":"road"}`,
		"fee null":                        replace("24.5", "null"),
		"fee NaN":                         replace("24.5", "NaN"),
		"fee Infinity":                    replace("24.5", "Infinity"),
		"fee -Infinity":                   replace("24.5", "-Infinity"),
		"fee string":                      replace("24.5", `"24.5"`),
		"fee true":                        replace("24.5", "true"),
		"fee object":                      replace("24.5", `{"amount":24.5}`),
		"fee array":                       replace("24.5", "[24.5]"),
		"fee plus":                        replace("24.5", "+24.5"),
		"fee leading zero":                replace("24.5", "024.5"),
		"fee bare point":                  replace("24.5", "24."),
		"fee hex":                         replace("24.5", "0x18"),
		"fee negative":                    replace("24.5", "-24.5"),
		"fee barely negative":             replace("24.5", "-0.01"),
		"fee below a hundredth, negative": replace("24.5", "-1e-400"),
		"fee three decimals":              replace("24.5", "24.555"),
		"fee many decimals":               replace("24.5", "24.500000000000000000001"),
		"fee tiny":                        replace("24.5", "1e-3"),
		"fee denormal":                    replace("24.5", "1e-400"),
		"fee huge":                        replace("24.5", "1e14"),
		"fee overflow":                    replace("24.5", "1e400"),
		"fee wraps an int64":              replace("24.5", "184467440737095516.16"),
		"fee wraps an exponent":           replace("24.5", "1e18446744073709551616"),
		"fee wraps a negative exponent":   replace("24.5", "1e-18446744073709551614"),
		"fee least exponent":              replace("24.5", "1e-9223372036854775808"),
		"fee beside custom":               replace("false", "true"),
		"fee 0 beside custom":             strings.Replace(replace("false", "true"), "24.5", "0", 1),
		"custom string":                   replace("false", `"false"`),
		"custom number":                   replace("false", "0"),

		"currency missing": replace(`"currency":"GHS",`, ""),
		"currency other":   replace("GHS", "USD"),
		"currency lower":   replace("GHS", "ghs"),
		"currency null":    replace(`"GHS"`, "null"),
		"currency spaced":  replace("GHS", "GHS "),

		"distance missing":        replace(`"distance_km":5.3,`, ""),
		"distance null":           replace("5.3", "null"),
		"distance string":         replace("5.3", `"5.3"`),
		"distance NaN":            replace("5.3", "NaN"),
		"distance negative":       replace("5.3", "-0.1"),
		"distance infinite":       replace("5.3", "1e309"),
		"source missing":          replace(`"distance_source":"road",`, ""),
		"source unknown":          replace(`"road"`, `"air"`),
		"source null":             replace(`"road"`, "null"),
		"source case":             replace(`"road"`, `"Road"`),
		"custom without distance": strings.Replace(custom, `"distance_km":512.75,`, "", 1),
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireFault(t, ask(t, httppricing.Options{URL: serve(t, answers(200, body))}))
		})
	}
}

func TestEveryOtherStatusIsAFault(t *testing.T) {
	t.Parallel()
	for _, status := range []int{201, 202, 203, 204, 206, 300, 304, 400, 401, 403, 404, 405, 408, 409, 418, 429, 500, 501, 502, 503, 504,
		599} {
		body := good
		if status == 204 || status == 304 {
			body = ""
		}
		requireFault(t, ask(t, httppricing.Options{URL: serve(t, answers(status, body))}))
	}
	for _, body := range []string{
		"", "{}", good, "null", `{"code":"OUTSIDE_SERVICE_AREA"}`, `{"code":"OUTSIDE_SERVICE_AREA","field":"vehicle_type"}`,
		`{"code":"OUTSIDE_SERVICE_AREA","field":null}`, `{"code":"X","field":"pickup"}`, `{"field":"pickup"}`,
		`{"code":"OUTSIDE_SERVICE_AREA","field":"pickup","field":"dropoff"}`, `{"code":"OUTSIDE_SERVICE_AREA","field":"pickup"}}`,
		`{"pad":"` + strings.Repeat("x", 70<<10) + `","code":"OUTSIDE_SERVICE_AREA","field":"pickup"}`,
	} {
		requireFault(t, ask(t, httppricing.Options{URL: serve(t, answers(422, body))}))
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]httppricing.Options{
		"no URL of a service":        {URL: "", Currency: "GHS"},
		`"pricing:9000" is no URL`:   {URL: "pricing:9000", Currency: "GHS"},
		`"ftp://pricing" is no URL`:  {URL: "ftp://pricing", Currency: "GHS"},
		`"http:///x" is no URL`:      {URL: "http:///x", Currency: "GHS"},
		"cannot be parsed":           {URL: "http://user:secret@[::1", Currency: "GHS"},
		"no user, query or fragment": {URL: "http://user:secret@pricing", Currency: "GHS"},
		"may have no user, query":    {URL: "http://pricing?key=secret", Currency: "GHS"},
		"no currency":                {URL: "http://pricing"},
		"may be up to 2.4s":          {URL: "http://pricing", Currency: "GHS", Timeout: 2500 * time.Millisecond},
		"time-out is -1s":            {URL: "http://pricing", Currency: "GHS", Timeout: -time.Second},
	} {
		_, err := httppricing.New(o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: got %v, want an error that says %q", o, err, want)
		}
	}
}

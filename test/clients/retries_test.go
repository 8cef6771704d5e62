package clients

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/clients/go/waybillapi"
)

// faults answers each request with the next of a list, and with a success at
// its end.
type faults struct {
	answers []fault

	mu   sync.Mutex
	keys []string
	sent []string
	at   []time.Time
}

type fault struct {
	status     int // 0: no answer comes
	code       string
	retryAfter string
}

func (f *faults) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body := ""
	if r.Body != nil {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
	}
	f.keys, f.sent, f.at = append(f.keys, r.Header.Get("Idempotency-Key")), append(f.sent, body), append(f.at, time.Now())
	if len(f.sent) > len(f.answers) {
		return answered(r, http.StatusOK, "", `{"success":true,"statusCode":200,"message":"Done.","data":{},"meta":{}}`), nil
	}
	next := f.answers[len(f.sent)-1]
	if next.status == 0 {
		return nil, errors.New("connection reset by peer")
	}
	text := `{"success":false,"message":"No.","error":{"code":"` + next.code + `"}}`
	if next.code == "" {
		text = "<html>Bad gateway</html>"
	}
	return answered(r, next.status, next.retryAfter, text), nil
}

func answered(r *http.Request, status int, retryAfter, body string) *http.Response {
	res := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
	if retryAfter != "" {
		res.Header.Set("Retry-After", retryAfter)
	}
	return res
}

func faulty(t *testing.T, options []waybillapi.Option, answers ...fault) (*waybillapi.Client, *faults) {
	t.Helper()
	f := &faults{answers: answers}
	c, err := waybillapi.New(append([]waybillapi.Option{waybillapi.WithBaseURL("http://api.example/v1"),
		waybillapi.WithAPIKey("svc_test_key_1"),
		waybillapi.WithHTTPClient(&http.Client{Transport: f})}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c, f
}

// calls are one of each kind.
var calls = map[string]func(context.Context, *waybillapi.Client) error{
	"read": func(ctx context.Context, c *waybillapi.Client) error {
		_, err := c.GetDelivery(ctx, "dlv_1")
		return err
	},
	"create": func(ctx context.Context, c *waybillapi.Client) error {
		_, err := c.CreateDelivery(ctx, "order-0001", anOrder())
		return err
	},
	"write": func(ctx context.Context, c *waybillapi.Client) error {
		_, err := c.CancelDelivery(ctx, "dlv_1")
		return err
	},
	"quote": func(ctx context.Context, c *waybillapi.Client) error {
		_, err := c.CreateQuote(ctx, waybillapi.QuoteRequest{})
		return err
	},
	"fetch": func(ctx context.Context, c *waybillapi.Client) error {
		_, err := c.FetchWebhooks(ctx, "whe_1", nil)
		return err
	},
}

// safety tells which calls are sent again after a fault: by every client.
var safety = []struct {
	fault fault
	again string
}{
	{fault{429, "RATE_LIMIT_EXCEEDED", "20"}, everyCall},
	{fault{503, "QUOTE_UNAVAILABLE", "1"}, everyCall},
	{fault{409, "IDEMPOTENCY_IN_PROGRESS", "1"}, everyCall},
	{fault{503, "SERVICE_UNAVAILABLE", "5"}, safeCalls},
	{fault{503, "", ""}, safeCalls},
	{fault{500, "INTERNAL_SERVER_ERROR", ""}, safeCalls},
	{fault{502, "", ""}, safeCalls},
	{fault{504, "", ""}, safeCalls},
	{fault{}, safeCalls},
	{fault{409, "EXTERNAL_ID_CONFLICT", ""}, ""},
	{fault{409, "IDEMPOTENCY_CONFLICT", ""}, ""},
	{fault{422, "VALIDATION_ERROR", ""}, ""},
	{fault{404, "NOT_FOUND", ""}, ""},
	{fault{401, "INVALID_API_KEY", ""}, ""},
	{fault{429, "RATE_LIMIT_EXCEEDED", "61"}, ""}, // longer than the longest pause
}

const (
	everyCall = "create fetch quote read write"
	safeCalls = "create quote read write"
)

func TestOnlyWhatIsSafeIsSentAgain(t *testing.T) {
	for _, c := range safety {
		var again []string
		for name, call := range calls {
			synctest.Test(t, func(t *testing.T) {
				client, f := faulty(t, nil, c.fault)
				err := call(t.Context(), client)
				if (err == nil) != (len(f.sent) == 2) {
					t.Errorf("%s after %+v: sent %d times, then %v", name, c.fault, len(f.sent), err)
				}
				if len(f.sent) < 2 {
					return
				}
				again = append(again, name)
				if f.sent[0] != f.sent[1] || f.keys[0] != f.keys[1] {
					t.Errorf("%s: the second request is %q under %q, the first was %q under %q", name, f.sent[1], f.keys[1], f.sent[0], f.keys[0])
				}
				least, most := 250*time.Millisecond, 500*time.Millisecond
				if seconds, err := time.ParseDuration(c.fault.retryAfter + "s"); err == nil {
					least, most = seconds, seconds
				}
				if waited := f.at[1].Sub(f.at[0]); waited < least || waited > most {
					t.Errorf("%s after %+v: waited %v, want %v to %v", name, c.fault, waited, least, most)
				}
			})
		}
		slices.Sort(again)
		if got := strings.Join(again, " "); got != c.again {
			t.Errorf("%+v: sent again are %q, want %q", c.fault, got, c.again)
		}
	}
}

func TestTheClientInTypeScriptSendsAgainWhatIsSafe(t *testing.T) {
	t.Parallel()
	program := filepath.Join(compiled(t), "test", "clients", "typescript", "faults.mjs")
	var faults []map[string]any
	for _, c := range safety {
		wait := c.fault.retryAfter
		if c.again != "" {
			wait = "" // time is real there
		}
		faults = append(faults, map[string]any{"status": c.fault.status, "code": c.fault.code, "retryAfter": wait})
	}
	input, err := json.Marshal(faults)
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Split(strings.TrimSuffix(output(t, string(input), nil, "node", program), "\n"), "\n")
	if len(told) != len(safety) {
		t.Fatalf("%d lines for %d faults", len(told), len(safety))
	}
	for i, c := range safety {
		if told[i] != c.again {
			t.Errorf("%+v: sent again are %q, want %q", c.fault, told[i], c.again)
		}
	}
}

func TestRetriesEnd(t *testing.T) {
	down := slices.Repeat([]fault{{503, "QUOTE_UNAVAILABLE", "2"}}, 9)
	for name, c := range map[string]struct {
		options []waybillapi.Option
		limit   time.Duration
		tries   int
	}{
		"by default after four tries": {nil, 0, 4},
		"after as many as was settled": {[]waybillapi.Option{waybillapi.WithRetries(waybillapi.Retries{Tries: 2, MaxPause: time.Minute})},
			0, 2},
		"at once where they are switched off": {[]waybillapi.Option{waybillapi.WithRetries(waybillapi.NoRetries())}, 0, 1},
		"before a pause beyond the deadline":  {nil, 3 * time.Second, 2},
		"before one that ends too late": {[]waybillapi.Option{waybillapi.WithRetries(waybillapi.Retries{Tries: waybillapi.Unlimited,
			MaxPause: time.Minute, Within: 5 * time.Second})}, 0, 3},
		"before a Retry-After that is long": {[]waybillapi.Option{waybillapi.WithRetries(waybillapi.Retries{Tries: 9, MaxPause: time.Second})},
			0, 1},
		"never for a Retry-After that is not": {[]waybillapi.Option{waybillapi.WithRetries(waybillapi.Retries{Tries: 9, MaxPause: time.Second,
			MaxRetryAfter: 2 * time.Second})}, 0, 9},
		"when the program decides so": {[]waybillapi.Option{waybillapi.WithRetries(waybillapi.Retries{
			Tries: 9, MaxPause: time.Minute, Decide: func(r waybillapi.Retry) bool { return r.Tried < 3 },
		})}, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.limit > 0 {
					limited, cancel := context.WithTimeout(ctx, c.limit)
					defer cancel()
					ctx = limited
				}
				client, f := faulty(t, c.options, down...)
				begun := time.Now()
				err := calls["create"](ctx, client)
				if !waybillapi.HasCode(err, waybillapi.CodeQuoteUnavailable) {
					t.Errorf("the error is %v, want the last answer", err)
				}
				if took := time.Since(begun); len(f.sent) != c.tries || took != time.Duration(c.tries-1)*2*time.Second {
					t.Errorf("sent %d times in %v, want %d", len(f.sent), took, c.tries)
				}
			})
		})
	}
}

func TestAProgramHearsOfEveryPauseBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []waybillapi.Retry
		var at []time.Time
		retries := waybillapi.Retries{Tries: 5, Pause: time.Second, MaxPause: time.Minute, Decide: func(r waybillapi.Retry) bool {
			told, at = append(told, r), append(at, time.Now())
			return r.Safe || errors.Is(r.Cause, waybillapi.ErrNoAnswer)
		}}
		client, f := faulty(t, nil, fault{429, "RATE_LIMIT_EXCEEDED", "20"}, fault{503, "SERVICE_UNAVAILABLE", ""}, fault{},
			fault{422, "VALIDATION_ERROR", ""})
		_, err := client.CreateDelivery(t.Context(), "order-0001", anOrder(), waybillapi.WithCallRetries(retries))
		if !waybillapi.HasCode(err, waybillapi.CodeValidationError) || len(f.sent) != 4 || len(told) != 4 {
			t.Fatalf("%v after %d tries; told were %+v", err, len(f.sent), told)
		}
		for i, r := range told {
			if r.Operation != "CreateDelivery" || r.Tried != i+1 || r.Safe != (i < 3) || errors.Is(r.Cause, waybillapi.ErrNoAnswer) != (i == 2) {
				t.Errorf("told was %+v of try %d", r, i+1)
			}
			if i < 3 && f.at[i+1].Sub(at[i]) != r.Wait {
				t.Errorf("%v went by after a pause of %v was told", f.at[i+1].Sub(at[i]), r.Wait)
			}
		}
		if told[0].Wait != 20*time.Second {
			t.Errorf("the first pause is %v, want what Retry-After says", told[0].Wait)
		}
		// At its own risk, a program sends again what is not safe.
		client, f = faulty(t, nil, fault{})
		if _, err := client.FetchWebhooks(t.Context(), "whe_1", nil, waybillapi.WithCallRetries(retries)); err != nil || len(f.sent) != 2 {
			t.Errorf("sent %d times, then %v", len(f.sent), err)
		}
	})
}

// A try that takes longer than the http.Client lets it is a lost answer; a call
// whose context is over is not made again.
func TestATryThatTakesTooLongIsNotTheEndOfTheCall(t *testing.T) {
	var hung atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hung.CompareAndSwap(false, true) {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"success":true,"statusCode":200,"message":"Done.","data":{"id":"dlv_1"}}`)
	}))
	defer s.Close()
	c, err := waybillapi.New(waybillapi.WithBaseURL(s.URL+"/v1"), waybillapi.WithAPIKey("svc_test_key_1"),
		waybillapi.WithHTTPClient(&http.Client{Timeout: 300 * time.Millisecond}),
		waybillapi.WithRetries(waybillapi.Retries{Tries: 9, Pause: time.Millisecond, MaxPause: time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := c.GetDelivery(t.Context(), "dlv_1"); err != nil || d.ID != "dlv_1" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestAnyCallIsMadeByItsMethodAndPath(t *testing.T) {
	c, f := faulty(t, []waybillapi.Option{waybillapi.WithRetries(waybillapi.Retries{Tries: 2})}, fault{502, "", ""})
	body := json.RawMessage(`{ "a": "<&>" }`)
	var answer waybillapi.Answer
	got, err := c.Do(t.Context(), waybillapi.Request{Method: "POST", Path: "/new-things?x=1", Body: body, IdempotencyKey: "thing-0001"},
		waybillapi.WithAnswer(&answer))
	if err != nil || got.Message != "Done." || string(got.Data) != "{}" || string(got.Meta) != "{}" || answer.Tries != 2 ||
		answer.StatusCode != http.StatusOK {
		t.Errorf("%+v, %+v, %v", got, answer, err)
	}
	if !slices.Equal(f.sent, []string{string(body), string(body)}) || !slices.Equal(f.keys, []string{"thing-0001", "thing-0001"}) {
		t.Errorf("sent were %q under %q", f.sent, f.keys)
	}
	var d waybillapi.Delivery
	if err := got.Decode(&d); err != nil {
		t.Error(err)
	}
	for name, sent := range map[string]struct {
		request waybillapi.Request
		times   int
	}{
		"a read":                    {waybillapi.Request{Method: "GET", Path: "/x"}, 2},
		"a write without a key":     {waybillapi.Request{Method: "POST", Path: "/x"}, 1},
		"a write that may be twice": {waybillapi.Request{Method: "POST", Path: "/x", Repeatable: true}, 2},
		"no path":                   {waybillapi.Request{Method: "GET", Path: "x"}, 0},
		"a path that leads up":      {waybillapi.Request{Method: "GET", Path: "/x/../y"}, 0},
	} {
		c, f := faulty(t, []waybillapi.Option{waybillapi.WithRetries(waybillapi.Retries{Tries: 2})}, fault{502, "", ""})
		if _, err := c.Do(t.Context(), sent.request); len(f.sent) != sent.times || (err == nil) != (sent.times == 2) {
			t.Errorf("%s: sent %d times, then %v", name, len(f.sent), err)
		}
	}
}

func TestAnAnswerOfSomethingElseIsToldApart(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<h1>It works</h1>")
	}))
	defer s.Close()
	c, err := waybillapi.New(waybillapi.WithBaseURL(s.URL+"/v1"), waybillapi.WithAPIKey("svc_test_key_1"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.GetDelivery(t.Context(), "dlv_1")
	if failure := asError(err); failure == nil || failure.Code != "" || failure.StatusCode != http.StatusOK ||
		!strings.Contains(failure.Message, "It works") {
		t.Errorf("%v", err)
	}
}

func TestACallerThatLeavesIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, f := faulty(t, nil, fault{429, "RATE_LIMIT_EXCEEDED", "30"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begun := time.Now()
		if err := calls["read"](ctx, client); !waybillapi.HasCode(err, waybillapi.CodeRateLimitExceeded) || time.Since(begun) != time.Second ||
			len(f.sent) != 1 {
			t.Errorf("after %v and %d tries: %v", time.Since(begun), len(f.sent), err)
		}
	})
}

// A connection that is cut after the request arrived is the reason for keys.
func TestAnAnswerThatIsCutOffIsAskedForAgain(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		cut := len(keys) < 3
		mu.Unlock()
		if cut {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"success":true,`)
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"success":true,"statusCode":201,"message":"Delivery booked.","data":{"id":"dlv_1"}}`)
	}))
	defer s.Close()
	c, err := waybillapi.New(waybillapi.WithBaseURL(s.URL+"/v1"), waybillapi.WithAPIKey("svc_test_key_1"),
		waybillapi.WithRetries(waybillapi.Retries{Tries: 3, Pause: time.Millisecond, MaxPause: time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	var answer waybillapi.Answer
	d, err := c.CreateDelivery(t.Context(), "order-0001", anOrder(), waybillapi.WithAnswer(&answer))
	if err != nil || d.ID != "dlv_1" || answer.Tries != 3 || answer.Message != "Delivery booked." {
		t.Errorf("the delivery is %+v after %d tries: %v", d, answer.Tries, err)
	}
	if want := []string{"order-0001", "order-0001", "order-0001"}; !slices.Equal(keys, want) {
		t.Errorf("the keys were %q, want %q", keys, want)
	}
}

func TestWhatCannotWorkIsRefusedBeforeItIsSent(t *testing.T) {
	c, f := faulty(t, nil)
	for name, err := range map[string]error{
		"an empty key":             second(c.CreateDelivery(t.Context(), "", anOrder())),
		"an empty ID":              second(c.GetDelivery(t.Context(), "")),
		"an ID that leads up":      second(c.GetDelivery(t.Context(), "..")),
		"no API key":               second(waybillapi.New(waybillapi.WithBaseURL("http://api.example/v1"))),
		"an API key of two lines":  second(waybillapi.New(waybillapi.WithBaseURL("http://api.example/v1"), waybillapi.WithAPIKey("svc_\n"))),
		"no base URL":              second(waybillapi.New(waybillapi.WithAPIKey("svc_test_key_1"))),
		"a base URL without host":  second(waybillapi.New(waybillapi.WithBaseURL("api.example/v1"))),
		"a secret that is none":    second(waybillapi.NewVerifier("secret")),
		"no secret to verify with": second(waybillapi.NewVerifier()),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "waybillapi: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(f.sent) != 0 {
		t.Errorf("%d requests were sent", len(f.sent))
	}
}

func second[T any](_ T, err error) error { return err }

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
	c, err := waybillapi.New(append([]waybillapi.Option{waybillapi.WithBaseURL("http://api.example/v1"), waybillapi.WithAPIKey("svc_test_key_1"),
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
		"by default after four tries":         {nil, 0, 4},
		"after as many as was settled":        {[]waybillapi.Option{waybillapi.WithRetries(waybillapi.Retries{Tries: 2, MaxPause: time.Minute})}, 0, 2},
		"at once where they are switched off": {[]waybillapi.Option{waybillapi.WithRetries(waybillapi.NoRetries())}, 0, 1},
		"before a pause beyond the deadline":  {nil, 3 * time.Second, 2},
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

func TestACallerWhoLeavesIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, f := faulty(t, nil, fault{429, "RATE_LIMIT_EXCEEDED", "30"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begun := time.Now()
		if err := calls["read"](ctx, client); !waybillapi.HasCode(err, waybillapi.CodeRateLimitExceeded) || time.Since(begun) != time.Second || len(f.sent) != 1 {
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

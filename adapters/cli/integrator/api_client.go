package integrator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/domain"
)

// How a call is repeated, as the API asks its callers to.
const (
	firstPause   = 500 * time.Millisecond // doubled with every failure
	longestPause = 10 * time.Second
	// perseverance is how long a call is repeated. It covers a window of the
	// rate limit, and the lease of a bulk whose server died.
	perseverance = 2 * time.Minute

	attemptTimeout = 75 * time.Second // longer than a server takes to answer
	maxAnswer      = 16 << 20
)

// apiClient calls the sandbox API as the backend of an integrator does.
type apiClient struct {
	baseURL string // ends in /v1
	key     string
	// Where the two came from, as people are told.
	urlFrom, keyFrom string
	// preparation is the command that gives a shell the key; empty: it has it.
	preparation string
	// flags lead another command to the same sandbox.
	flags string
	http  *http.Client
	// notice hears why the client waits before it repeats a call.
	notice   func(string)
	answered atomic.Bool // a Waybill is there
	repeats  atomic.Int64
}

func newAPIClient(baseURL, urlFrom string) *apiClient {
	return &apiClient{
		baseURL: baseURL, urlFrom: urlFrom,
		http: &http.Client{Timeout: attemptTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the key is for this address only
		}},
		notice: func(string) {},
	}
}

// apiCall is a request; the same one may be sent again.
type apiCall struct {
	method, path   string
	body           []byte // nil: none
	idempotencyKey string // empty: none
	known          string // ETag of what the caller has already; empty: nothing
	// tireless is for what outlives an outage: once somebody has answered, the
	// call is repeated for as long as it takes.
	tireless bool
}

func get(path string) apiCall { return apiCall{method: http.MethodGet, path: path} }

// post is a call that happens once, however often it is sent; without a key it
// must be one that changes nothing.
func post(path, key string, body any) (apiCall, error) {
	encoded, err := json.Marshal(body)
	return apiCall{method: http.MethodPost, path: path, body: encoded, idempotencyKey: key}, err
}

// apiAnswer is a success.
type apiAnswer struct {
	status   int
	message  string
	data     json.RawMessage // nil with 304
	etag     string
	serverAt time.Time // by the clock of the server, to the second; zero: not told
	page     pageMeta  // of a list
}

// pageMeta is where a list goes on.
type pageMeta struct {
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor"` // empty: nowhere
}

// decode reads what the caller is interested in.
func (a apiAnswer) decode(into any) error {
	if err := json.Unmarshal(a.data, into); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// apiError is an answer in the envelope of errors.
type apiError struct {
	status     int
	code       string
	message    string
	details    json.RawMessage
	retryAfter time.Duration // 0: not told
	keyFrom    string
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

// passes reports whether the same call may succeed later. A simulation too
// many is refused until another one has ended, which may take an hour.
func (e *apiError) passes() bool {
	switch e.code {
	case domain.CodeIdempotencyInProgress:
		return true
	case domain.CodeSimulationLimit:
		return false
	}
	return e.status == http.StatusTooManyRequests || e.status >= http.StatusInternalServerError
}

// Complaint tells it as every other error of a command.
func (e *apiError) Complaint() term.Complaint {
	c := term.Complaint{Code: e.code, Message: e.message}
	var told struct {
		Fields []struct{ Field, Message string } `json:"fields"`
	}
	if len(e.details) > 0 {
		c.Details = e.details
		_ = json.Unmarshal(e.details, &told) // other details have no fields
	}
	switch {
	case e.status == http.StatusUnauthorized:
		c.SetIn = e.keyFrom
		if e.code == domain.CodeInvalidAPIKey {
			c.Fix = e.newKey()
		}
	case len(told.Fields) > 0:
		words := make([]string, len(told.Fields))
		for i, f := range told.Fields {
			words[i] = f.Field + ": " + f.Message
		}
		c.Fix = strings.Join(words, "; ")
	case e.retryAfter > 0:
		c.Fix = "try again in " + e.retryAfter.String()
	}
	return c
}

// newKey is how to come by a key that the sandbox knows: one it knew before is
// unknown after its data was wiped.
func (e *apiError) newKey() string {
	reset := "after a --reset of waybill dev there are new keys: "
	if file, ours := strings.CutPrefix(e.keyFrom, TestKeyEnv+" in "); ours {
		return reset + "start this again, and it reads " + file + " again"
	}
	if e.keyFrom == TestKeyEnv {
		return reset + "read them in this shell, . " + term.ShellWord(settings.DataDir(settings.DefaultDataDir).DevEnv()) + ", and start this again"
	}
	return reset + "put that of " + settings.DataDir(settings.DefaultDataDir).DevEnv() + " in the file, and start this again"
}

// send makes a call and repeats it, the same to the byte, where the API lets
// callers do so: while it is busy with the first one, or too many were made, or
// something failed that passes.
func (c *apiClient) send(ctx context.Context, call apiCall) (apiAnswer, error) {
	begun, pause, settled := time.Now(), firstPause, false
	for {
		answer, err := c.attempt(ctx, call)
		if err == nil || ctx.Err() != nil {
			if err == nil && call.tireless && pause > firstPause {
				c.notice("it answers again")
			}
			return answer, err
		}
		wait, why := pause, "no answer"
		var refused *apiError
		var stranger *term.StartError
		switch {
		case errors.As(err, &stranger):
			if !call.tireless || !c.answered.Load() {
				return answer, err
			}
			why = stranger.What // a proxy, say, while the service is away
		case !errors.As(err, &refused):
			err = c.unreachable(err)
			if !c.answered.Load() {
				return answer, err // nobody has ever answered there
			}
		case !refused.passes():
			return answer, err
		default:
			wait, why = max(wait, refused.retryAfter), refused.code
		}
		if !call.tireless && time.Since(begun)+wait > perseverance {
			return answer, err
		}
		c.repeats.Add(1)
		switch {
		case !call.tireless || pause < longestPause:
			c.notice(fmt.Sprintf("%s: trying again in %s", why, wait))
		case !settled:
			settled = true // told once: it may take all night
			c.notice(fmt.Sprintf("%s: trying again every %s", why, longestPause))
		}
		if !sleep(ctx, wait) {
			return answer, ctx.Err()
		}
		pause = min(2*pause, longestPause)
	}
}

// sleep waits; it reports false where ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// attempt sends a call once. An error that is neither an apiError nor a
// startError means that no answer came.
func (c *apiClient) attempt(ctx context.Context, call apiCall) (apiAnswer, error) {
	req, err := http.NewRequestWithContext(ctx, call.method, c.baseURL+call.path, bytes.NewReader(call.body))
	if err != nil {
		return apiAnswer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	for name, value := range map[string]string{"Idempotency-Key": call.idempotencyKey, "If-None-Match": call.known} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if call.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return apiAnswer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return apiAnswer{}, err
	}
	return c.read(res, body)
}

func (c *apiClient) read(res *http.Response, body []byte) (apiAnswer, error) {
	answer := apiAnswer{status: res.StatusCode, etag: res.Header.Get("ETag")}
	answer.serverAt, _ = http.ParseTime(res.Header.Get("Date"))
	if res.StatusCode == http.StatusNotModified {
		return answer, nil
	}
	var envelope struct {
		Success *bool
		Message string
		Data    json.RawMessage
		Meta    pageMeta
		Error   struct {
			Code    string
			Details json.RawMessage
		}
	}
	err := json.Unmarshal(body, &envelope)
	switch {
	case err != nil || envelope.Success == nil || !*envelope.Success && envelope.Error.Code == "":
		if res.StatusCode >= http.StatusInternalServerError && c.answered.Load() {
			// A proxy in front of a server that restarts.
			return answer, &apiError{status: res.StatusCode, code: "HTTP_" + strconv.Itoa(res.StatusCode),
				message: "The answer does not come from the API itself: " + res.Status + "."}
		}
		return answer, c.stranger(res)
	case !*envelope.Success:
		c.answered.Store(true)
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return answer, &apiError{
			status: res.StatusCode, code: envelope.Error.Code, message: envelope.Message, details: envelope.Error.Details,
			retryAfter: time.Duration(seconds) * time.Second, keyFrom: c.keyFrom,
		}
	}
	c.answered.Store(true)
	answer.message, answer.data, answer.page = envelope.Message, envelope.Data, envelope.Meta
	return answer, nil
}

// unreachable tells that no answer came.
func (c *apiClient) unreachable(cause error) error {
	if request := (*url.Error)(nil); errors.As(cause, &request) {
		cause = request.Err // the address is told already
	}
	e := &term.StartError{
		Code: "NO_ANSWER", What: "no answer from " + c.baseURL, Err: cause, UsedFor: "the sandbox API (" + c.urlFrom + ")",
		Fix: "start it with make run or waybill dev, in another terminal; or name another one with --url and --key-file",
	}
	if errors.Is(cause, syscall.ECONNREFUSED) {
		e.What, e.Err = "nothing runs at "+c.baseURL, nil
	}
	return e
}

// stranger tells that something else answered.
func (c *apiClient) stranger(res *http.Response) error {
	kind := res.Header.Get("Content-Type")
	if kind == "" {
		kind = "no Content-Type"
	}
	return &term.StartError{
		Code: "NOT_WAYBILL", What: fmt.Sprintf("what answers at %s is not Waybill: %s, %s", c.baseURL, res.Status, kind), UsedFor: "the sandbox API (" + c.urlFrom + ")",
		Fix: "start Waybill with make run or waybill dev, in another terminal; or name its address with --url, which ends in /v1",
	}
}

// curl is the call as a command for a shell in which the key is a variable.
func (c *apiClient) curl(call apiCall) string {
	command := "curl -s "
	if call.method != http.MethodGet && (call.method != http.MethodPost || call.body == nil) {
		command += "-X " + call.method + " "
	}
	lines := []string{command + term.ShellQuoted(c.baseURL+call.path), `-H "Authorization: Bearer $WAYBILL_TEST_KEY"`}
	if call.idempotencyKey != "" {
		lines = append(lines, `-H "Idempotency-Key: `+call.idempotencyKey+`"`)
	}
	if call.body != nil {
		lines = append(lines, `-H "Content-Type: application/json"`, "-d "+term.ShellQuoted(string(call.body)))
	}
	return strings.Join(lines, " \\\n  ")
}

package integrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
)

// How requests are retried, as the API asks its clients to do.
const (
	firstPause   = 500 * time.Millisecond // doubled with every failure
	longestPause = 10 * time.Second
	// perseverance is how long a request is retried. It covers a window of the rate limit, and
	// the lease of a bulk whose server died.
	perseverance = 2 * time.Minute

	attemptTimeout = 75 * time.Second // longer than a server takes to respond
)

// apiClient calls the sandbox API as an integrator's backend does, with the published Go
// client. It adds what a person at a terminal needs: why a request waits, what to do when no
// server responds, and the request as a curl command.
type apiClient struct {
	baseURL string // ends in /v1
	key     string
	// Where the two came from, for messages.
	urlFrom, keyFrom string
	// preparation is the command that gives a shell the key; empty: the shell has it.
	preparation string
	// portalLink signs a person in once; empty: it is not known.
	portalLink string
	// flags make another command use the same sandbox.
	flags string
	http  *http.Client
	// notice is called with the reason why the client waits before a retry.
	notice   func(string)
	answered atomic.Bool // a Waybill has responded
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

// apiCall is a request that can be shown and sent.
type apiCall struct {
	waybillapi.Request
	known string // ETag of the version that the client has; empty: none
	// tireless is for commands that outlive an outage: once the API has responded, the request
	// is retried for as long as it takes.
	tireless bool
}

func get(path string) apiCall {
	return apiCall{Request: waybillapi.Request{Method: http.MethodGet, Path: path}}
}

// post returns a request that takes effect once, however often it is sent. Without a key it
// must change nothing.
func post(path, key string, body any) apiCall {
	return apiCall{Request: waybillapi.Request{Method: http.MethodPost, Path: path, Body: body, IdempotencyKey: key, Repeatable: true}}
}

func (call apiCall) tirelessly() apiCall {
	call.tireless = true
	return call
}

// apiAnswer is a successful response.
type apiAnswer struct {
	waybillapi.Response
	status   int
	etag     string
	serverAt time.Time // by the clock of the server, to the second; zero: not known
	page     pageMeta  // of a list
}

// pageMeta says where a list continues.
type pageMeta struct {
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor"` // empty: nowhere
	// ResumeCursor is where a feed goes on, now or later.
	ResumeCursor string `json:"resume_cursor"`
}

// changed reports whether there is data: there is none with 304.
func (a *apiAnswer) changed() bool { return a.Data != nil }

// decode decodes the data. An unchanged response has nothing to decode.
func (a *apiAnswer) decode(into any) error {
	if !a.changed() {
		return nil
	}
	if err := json.Unmarshal(a.Data, into); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// ask sends a request and decodes its response.
func ask[T any](ctx context.Context, c *apiClient, call apiCall) (data T, answer apiAnswer, err error) {
	if answer, err = c.send(ctx, call); err == nil {
		err = answer.decode(&data)
	}
	return data, answer, err
}

// refusal is an error response of the API, and where the key of the request came from.
type refusal struct {
	answer  *waybillapi.Error
	keyFrom string
}

func (e *refusal) Error() string { return string(e.answer.Code) + ": " + e.answer.Message }

func (e *refusal) Unwrap() error { return e.answer }

// Complaint returns the error in the form of every other error of a command.
func (e *refusal) Complaint() term.Complaint {
	c := term.Complaint{Code: string(e.answer.Code), Message: e.answer.Message}
	var details waybillapi.ErrorDetails
	if len(e.answer.Details) > 0 {
		c.Details = e.answer.Details
		_ = e.answer.DecodeDetails(&details) // other details have no fields
	}
	switch {
	case e.answer.StatusCode == http.StatusUnauthorized:
		c.SetIn = e.keyFrom
		if e.answer.Code == waybillapi.CodeInvalidAPIKey {
			c.Fix = e.newKey()
		}
	case len(details.Fields) > 0:
		words := make([]string, len(details.Fields))
		for i, f := range details.Fields {
			words[i] = f.Field + ": " + f.Message
		}
		c.Fix = strings.Join(words, "; ")
	case e.answer.RetryAfter > 0:
		c.Fix = "try again in " + e.answer.RetryAfter.String()
	}
	return c
}

// newKey says how to get a key that the sandbox knows: it no longer knows earlier ones after
// its data was wiped.
func (e *refusal) newKey() string {
	reset := "after a --reset of waybill dev there are new keys: "
	if file, ours := strings.CutPrefix(e.keyFrom, TestKeyEnv+" in "); ours {
		return reset + "start this again, and it reads " + file + " again"
	}
	if e.keyFrom == TestKeyEnv {
		return reset + "read them in this shell, . " + term.ShellWord(settings.DataDir(settings.DefaultDataDir).DevEnv()) +
			", and start this again"
	}
	return reset + "put that of " + settings.DataDir(settings.DefaultDataDir).DevEnv() + " in the file, and start this again"
}

// send sends a request and retries it, the same to the byte, when the API allows that: while it
// still handles the first one, after too many requests, or after a temporary failure.
func (c *apiClient) send(ctx context.Context, call apiCall) (apiAnswer, error) {
	retries := waybillapi.Retries{
		Tries: waybillapi.Unlimited, Pause: firstPause, MaxPause: longestPause,
		MaxRetryAfter: perseverance, Within: perseverance, Decide: c.decide(call.tireless),
	}
	if call.tireless {
		retries.MaxRetryAfter, retries.Within = math.MaxInt64, 0
	}
	return c.call(ctx, call, retries)
}

// attempt sends a request once.
func (c *apiClient) attempt(ctx context.Context, call apiCall) (apiAnswer, error) {
	return c.call(ctx, call, waybillapi.NoRetries())
}

func (c *apiClient) call(ctx context.Context, call apiCall, retries waybillapi.Retries) (apiAnswer, error) {
	client, err := waybillapi.New(waybillapi.WithBaseURL(c.baseURL), waybillapi.WithAPIKey(c.key), waybillapi.WithHTTPClient(c.http),
		waybillapi.WithUserAgent("waybill-command"))
	if err != nil {
		return apiAnswer{}, err
	}
	var answered waybillapi.Answer
	options := []waybillapi.CallOption{waybillapi.WithAnswer(&answered), waybillapi.WithCallRetries(retries)}
	if call.known != "" {
		options = append(options, waybillapi.WithIfNoneMatch(call.known))
	}
	response, err := client.Do(ctx, call.Request, options...)
	answer := apiAnswer{status: answered.StatusCode, etag: answered.ETag}
	answer.serverAt, _ = http.ParseTime(answered.Header.Get("Date"))
	if err != nil && !errors.Is(err, waybillapi.ErrNotModified) {
		if ctx.Err() != nil {
			return answer, err
		}
		return answer, c.explained(err, answered)
	}
	c.answered.Store(true)
	if call.tireless && answered.Tries > 1 {
		c.notice("it answers again")
	}
	if response != nil {
		answer.Response = *response
		_ = json.Unmarshal(response.Meta, &answer.page) // only lists have it
	}
	return answer, nil
}

// decide decides whether to retry after a failure, and reports why it waits. An address where
// no Waybill ever responded is a wrong one.
func (c *apiClient) decide(tireless bool) func(waybillapi.Retry) bool {
	settled := false // reported once: it may take all night
	return func(r waybillapi.Retry) bool {
		why, retry := c.whether(r, tireless)
		if !retry {
			return false
		}
		c.repeats.Add(1)
		switch growing := firstPause<<min(r.Tried-1, 10) < longestPause; {
		case !tireless || growing:
			c.notice(fmt.Sprintf("%s: trying again in %s", why, r.Wait.Round(100*time.Millisecond)))
		case !settled:
			settled = true
			c.notice(fmt.Sprintf("%s: trying again every %s", why, longestPause))
		}
		return true
	}
}

func (c *apiClient) whether(r waybillapi.Retry, tireless bool) (why string, again bool) {
	var failed *waybillapi.Error
	switch {
	case !errors.As(r.Cause, &failed):
		return "no answer", r.Safe && c.answered.Load()
	case c.fromProxy(failed):
		return httpCode(failed), r.Safe
	case failed.Code == "":
		return "what answers is not Waybill", tireless && c.answered.Load() // a proxy, say, while the service is away
	}
	c.answered.Store(true)
	// A simulation over the limit is refused until another one has ended, which may take an
	// hour.
	return string(failed.Code), r.Safe && failed.Code != waybillapi.CodeSimulationLimit
}

// fromProxy reports whether a proxy responded for a Waybill that is away, as during a restart.
func (c *apiClient) fromProxy(e *waybillapi.Error) bool {
	return e.Code == "" && e.StatusCode >= http.StatusInternalServerError && c.answered.Load()
}

func httpCode(e *waybillapi.Error) string { return "HTTP_" + strconv.Itoa(e.StatusCode) }

// explained returns the failure of a request in words for the person at the terminal.
func (c *apiClient) explained(err error, answered waybillapi.Answer) error {
	var failed *waybillapi.Error
	switch {
	case errors.Is(err, waybillapi.ErrNoAnswer):
		return c.unreachable(err)
	case !errors.As(err, &failed):
		return err
	case c.fromProxy(failed):
		return &refusal{&waybillapi.Error{
			StatusCode: failed.StatusCode, Code: waybillapi.ErrorCode(httpCode(failed)),
			Message: "The answer does not come from the API itself: " + statusLine(failed.StatusCode) + ".",
		}, c.keyFrom}
	case failed.Code == "":
		return c.unknownServer(failed.StatusCode, answered.Header)
	}
	c.answered.Store(true)
	return &refusal{failed, c.keyFrom}
}

func statusLine(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// sleep waits. It reports false if ctx ended first.
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

// unreachable reports that no response arrived.
func (c *apiClient) unreachable(cause error) error {
	if request := (*url.Error)(nil); errors.As(cause, &request) {
		cause = request.Err // the message has the address already
	} else if inner := errors.Unwrap(cause); inner != nil {
		cause = inner
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

// unknownServer reports that something other than Waybill responded.
func (c *apiClient) unknownServer(status int, header http.Header) error {
	kind := header.Get("Content-Type")
	if kind == "" {
		kind = "no Content-Type"
	}
	return &term.StartError{
		Code: "NOT_WAYBILL", What: fmt.Sprintf("what answers at %s is not Waybill: %s, %s", c.baseURL, statusLine(status), kind),
		UsedFor: "the sandbox API (" + c.urlFrom + ")",
		Fix:     "start Waybill with make run or waybill dev, in another terminal; or name its address with --url, which ends in /v1",
	}
}

// curl returns the request as a shell command in which the key is a variable.
func (c *apiClient) curl(call apiCall) string {
	command := "curl -s "
	if call.Method != http.MethodGet && (call.Method != http.MethodPost || call.Body == nil) {
		command += "-X " + call.Method + " "
	}
	lines := []string{command + term.ShellQuoted(c.baseURL+call.Path), `-H "Authorization: Bearer $WAYBILL_TEST_KEY"`}
	if call.IdempotencyKey != "" {
		lines = append(lines, `-H "Idempotency-Key: `+call.IdempotencyKey+`"`)
	}
	if call.Body != nil {
		body, _ := json.Marshal(call.Body) // as it is sent; an error shows when it is sent
		lines = append(lines, `-H "Content-Type: application/json"`, "-d "+term.ShellQuoted(string(body)))
	}
	return strings.Join(lines, " \\\n  ")
}

package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waybill/adapters/cli/mcp"
)

const (
	patience = 30 * time.Second
	secret   = "svc_test_key_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	delivery = "dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847"
	// requestID is what refuse names a request.
	requestID = "req_0198f3a27c4e7b1d9a6e5c2f10d3b847"
)

// docsText is a documentation in the form of llms-full.txt.
const docsText = "# Webhooks\nSource: http://docs.example/docs/webhooks\n\nSigned events.\n\n" +
	"## Verify the signature\n\nUse the secret.\n\n" +
	"```sh\n# Source of nothing\n## no heading\nSource: nowhere\n```\n\n" +
	"# NOT_FOUND\nSource: http://docs.example/docs/errors/NOT_FOUND\n\nNothing with this ID.\n\n- **Status**: 404 Not Found\n\n" +
	"## Likely causes\n\n- Another environment.\n- A typing error.\n\n## What to do\n\n- Compare.\n\n## Whether to retry\n\nNo.\n"

// api is a public API for tests, which records its requests.
type api struct {
	*httptest.Server
	answer func(w http.ResponseWriter, r *http.Request) bool // false: in the usual way

	mu    sync.Mutex
	asked []*http.Request
}

func newAPI(t *testing.T, answer func(http.ResponseWriter, *http.Request) bool) *api {
	t.Helper()
	a := &api{answer: answer}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is noticed
	a.mu.Lock()
	a.asked = append(a.asked, r.Clone(context.WithoutCancel(r.Context())))
	a.mu.Unlock()
	if a.answer != nil && a.answer(w, r) {
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	switch {
	case path == "/docs/llms-full.txt":
		_, _ = io.WriteString(w, docsText)
	case path == "/openapi.json":
		fmt.Fprintf(w, `{"paths": {"/test-helpers/x": {"servers": [{"url": %q}]}}}`, a.URL+"/v1")
	case path == "/api-key":
		envelope(w, 200, `{"key": {"scopes": ["quotes:read", "deliveries:read", "deliveries:write", "webhooks:read"]}}`)
	case strings.HasSuffix(path, "/events"), strings.HasSuffix(path, "/attempts"):
		envelope(w, 200, `[{"id": "evt_1"}]`)
	case r.Method == http.MethodGet && (path == "/deliveries" || path == "/webhook-endpoints" || strings.HasSuffix(path, "/deliveries")):
		envelope(w, 200, `[{"id": "`+delivery+`"}]`)
	default:
		envelope(w, 200, `{"id": "`+delivery+`"}`)
	}
}

func envelope(w http.ResponseWriter, status int, data string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"success": true, "statusCode": %d, "message": "Fine.", "data": %s}`, status, data)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-ID", requestID)
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"success": false, "statusCode": %d, "message": %q, "error": {"code": %q}}`, status, message, code)
}

// writes returns the requests that may change something.
func (a *api) writes() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.asked {
		if r.Method != http.MethodGet && r.URL.Path != "/v1/quotes" {
			all = append(all, r.Method+" "+r.URL.Path)
		}
	}
	return all
}

func (a *api) keysOf(path string) (keys []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.asked {
		if r.Method == http.MethodPost && r.URL.Path == path {
			keys = append(keys, r.Header.Get("Idempotency-Key"))
		}
	}
	return keys
}

// host runs a server as an agent does, and records its output.
type host struct {
	in   io.WriteCloser
	out  *bufio.Reader
	ends chan error
}

func start(t *testing.T, o mcp.Options) *host {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	h := &host{in: inWrite, out: bufio.NewReader(outRead), ends: make(chan error, 1)}
	go func() {
		err := mcp.Serve(t.Context(), o, inRead, outWrite)
		outWrite.Close()
		h.ends <- err
	}()
	t.Cleanup(func() { inWrite.Close() })
	return h
}

func (h *host) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (h *host) next(t *testing.T) map[string]any {
	t.Helper()
	line, err := h.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the server said nothing: %v", err)
	}
	var message map[string]any
	if err := json.Unmarshal(line, &message); err != nil {
		t.Fatalf("the server wrote %q, which is no message", line)
	}
	return message
}

func (h *host) mustEnd(t *testing.T) {
	t.Helper()
	select {
	case err := <-h.ends:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

// heard is the recorded output of a server.
type heard struct {
	mu sync.Mutex
	bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Buffer.Write(p)
}

func (h *heard) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.String()
}

// connect returns a client of the SDK on a server.
func connect(t *testing.T, o mcp.Options) (*sdk.ClientSession, *heard) {
	t.Helper()
	h := start(t, o)
	said := &heard{}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{
		Reader: io.NopCloser(io.TeeReader(h.out, said)), Writer: h.in,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session, said
}

func (a *api) options() mcp.Options {
	return mcp.Options{BaseURL: a.URL + "/v1", Key: secret, KeyFrom: "WAYBILL_TEST_KEY", Docs: "/docs", Version: "1"}
}

func call(t *testing.T, s *sdk.ClientSession, tool string, arguments any) (text string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := s.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result.Content[0].(*sdk.TextContent).Text, result.IsError
}

type m = map[string]any

func order() m {
	return m{"external_id": "order-1", "recipient_id": "rcp_1", "recipient_address_id": "adr_1", "pickup_location_id": "pkp_1",
		"payment": m{"type": "delivery_only"}, "vehicle_type": "bike"}
}

// useful holds valid arguments for each tool.
func useful() map[string]m {
	return map[string]m{
		"search_docs": {"query": "signature"}, "explain_error": {"code": "NOT_FOUND"},
		"quote": {"pickup": m{"latitude": 5.5, "longitude": -0.1}, "dropoff": m{"latitude": 5.6, "longitude": -0.1},
			"vehicle_type": "bike"},
		"book_delivery": order(), "simulate": {"delivery_id": delivery, "status": "assigned"},
		"get_delivery": {"external_id": "order-1"}, "webhook_attempts": {"delivery_id": delivery},
		"why_did_this_request_fail": {"code": "NOT_FOUND"},
	}
}

func names(t *testing.T, s *sdk.ClientSession) (all []string) {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		all = append(all, tool.Name)
	}
	return all
}

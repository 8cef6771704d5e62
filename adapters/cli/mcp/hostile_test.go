package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestADeadAPIIsToldWithinTheDeadline(t *testing.T) {
	t.Parallel()
	gone := newAPI(t, nil)
	gone.Close()
	s, _ := connect(t, gone.options())
	var all sync.WaitGroup
	for tool, arguments := range useful() {
		if tool == "why_did_this_request_fail" || tool == "explain_error" || tool == "search_docs" {
			continue
		}
		all.Go(func() {
			if text, failed := call(t, s, tool, arguments); !failed || !strings.Contains(text, "NO_ANSWER") ||
				!strings.Contains(text, "waybill dev") {
				t.Errorf("%s: %s", tool, text)
			}
		})
	}
	if text, failed := call(t, s, "search_docs", m{"query": "x"}); !failed || !strings.Contains(text, "DOCS_UNREACHABLE") {
		t.Errorf("search_docs: %s", text)
	}

	hanging := newAPI(t, func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	o := hanging.options()
	o.Timeout = 200 * time.Millisecond
	slow, _ := connect(t, o)
	for tool, arguments := range useful() {
		all.Go(func() {
			if text, failed := call(t, slow, tool, arguments); !failed || !strings.Contains(text, "NO_ANSWER") &&
				!strings.Contains(text, "DOCS_UNREACHABLE") {
				t.Errorf("%s of an API that never answers: %s", tool, text)
			}
		})
	}
	all.Wait()
	if got := names(t, slow); len(got) != 8 {
		t.Errorf("tools of an API that never answers: %q", got)
	}
}

func TestACancelledCallIsCancelledAtTheAPI(t *testing.T) {
	t.Parallel()
	arrived, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	a := newAPI(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/quotes" {
			return false
		}
		arrived <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
		return true
	})
	s, _ := connect(t, a.options())
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "quote", Arguments: useful()["quote"]}); err == nil {
		t.Error("a cancelled call has a result")
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second): // the call itself may take twice as long
		t.Error("the API still works on it")
	}
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"t","version":"1"}}}`

func TestHostileInputIsAnsweredAndTheServerGoesOn(t *testing.T) {
	t.Parallel()
	h := start(t, newAPI(t, nil).options())
	go func() { // what is written is not read at the same time
		for _, line := range []string{"not json", "{", "[]", `"text"`, "null", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"id":1}`, "\x00\xff", "",
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"arguments":"` + strings.Repeat("x", 3<<20) + `"}}`} {
			_, _ = io.WriteString(h.in, line+"\n")
		}
		_, _ = io.WriteString(h.in, hello+"\r\n")
	}()
	for i, want := range []float64{-32700, -32700, -32600, -32600, -32600, -32600, -32600, -32700, -32600} { // all but the empty line
		if code := h.next(t)["error"].(map[string]any)["code"]; code != want {
			t.Errorf("line %d: code %v, want %v", i, code, want)
		}
	}
	if answer := h.next(t); answer["id"] != "hello" || answer["result"] == nil {
		t.Fatalf("after that it answers %v", answer)
	}
	h.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, arguments := range []string{`{"query":5}`, `{"query":"` + strings.Repeat("y", 100_000) + `"}`, `{"query":"x","limit":-1}`,
		`{"query":"x","nonsense":true}`, `null`, `[1]`, `"x"`} {
		h.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search_docs","arguments":%s}}`, i, arguments))
		answer := h.next(t)
		result, _ := answer["result"].(map[string]any)
		if answer["error"] == nil && result["isError"] != true {
			t.Errorf("%.60s: %v", arguments, answer)
		}
		if encoded, err := json.Marshal(answer); err != nil || len(encoded) > 5_000 {
			t.Errorf("%.60s has an answer of %d bytes (%v)", arguments, len(encoded), err)
		}
	}
	for i, call := range []string{`"tools/call","params":{"name":"no_such_tool","arguments":{}}`, `"no/such/method"`, `"tools/call"`,
		`"tools/call","params":{"name":"get_delivery","arguments":{"delivery_id":"../../v1/api-key"}}`} {
		h.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s}`, i, call))
		answer := h.next(t)
		result, _ := answer["result"].(map[string]any)
		if answer["error"] == nil && result["isError"] != true {
			t.Errorf("%s: %v", call, answer)
		}
	}
	h.in.Close()
	h.mustEnd(t)
}

func TestTheEndOfTheInputEndsTheServerEvenDuringACall(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	a := newAPI(t, func(_ http.ResponseWriter, r *http.Request) bool {
		arrived <- struct{}{}
		<-r.Context().Done()
		return true
	})
	h := start(t, a.options())
	h.send(t, hello)
	h.next(t)
	h.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	h.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_delivery","arguments":{"delivery_id":"`+delivery+`"}}}`)
	<-arrived
	begun := time.Now()
	h.in.Close()
	go func() { _, _ = io.Copy(io.Discard, h.out) }()
	h.mustEnd(t)
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s, as long as the call", took)
	}
}

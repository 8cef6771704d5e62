package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"waybill/adapters/httpapi"
	"waybill/test/contract"
)

// sample is one answer, valid until a test changes it.
type sample struct {
	method, path string
	request      http.Header
	status       int
	header       http.Header
	body         map[string]any
	text         string // the body when it is not an object
}

func (s *sample) check(d *contract.Document) error {
	req := httptest.NewRequest(s.method, "http://127.0.0.1:8081/v1"+s.path, nil)
	for name, values := range s.request {
		req.Header[name] = values
	}
	body := []byte(s.text)
	if s.body != nil {
		body, _ = json.Marshal(s.body)
	}
	return d.Check(req, &http.Response{StatusCode: s.status, Header: s.header}, body)
}

// passes ends the test where the document does not allow the answer.
func (s *sample) passes(t *testing.T, d *contract.Document) {
	t.Helper()
	if err := s.check(d); err != nil {
		t.Fatalf("%s %s, %d: %v", s.method, s.path, s.status, err)
	}
}

// fails ends the test where the document allows the answer, or refuses it for another
// reason than this.
func (s *sample) fails(t *testing.T, d *contract.Document, reason string) {
	t.Helper()
	if err := s.check(d); err == nil || !strings.Contains(err.Error(), reason) {
		t.Fatalf("%s %s, %d: %v, want %q in it", s.method, s.path, s.status, err, reason)
	}
}

// set replaces the member a dotted path leads to; nil removes it.
func (s *sample) set(where string, value any) {
	names := strings.Split(where, ".")
	var at any = s.body
	for _, name := range names[:len(names)-1] {
		if i, err := strconv.Atoi(name); err == nil {
			at = at.([]any)[i]
		} else {
			at = at.(map[string]any)[name]
		}
	}
	last := names[len(names)-1]
	if i, err := strconv.Atoi(last); err == nil {
		at.([]any)[i] = value
	} else if value == nil {
		delete(at.(map[string]any), last)
	} else {
		at.(map[string]any)[last] = value
	}
}

// description is shared by all tests: read it, never change it.
func description(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := loadDescription()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

var loadDescription = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(httpapi.OpenAPI.YAML())
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background())
})

// example builds an answer out of a documented example and the examples of
// the documented headers. Conditional headers are left out.
func example(t *testing.T, doc *openapi3.T, method, path string, status int, name string) *sample {
	t.Helper()
	s := &sample{method: method, status: status, header: http.Header{}}
	s.path = strings.NewReplacer(
		"{recipient_id}", "rcp_0198f3a1552f7c60b8d7e4a1930f2c5b",
		"{address_id}", "adr_0198f3a1a8047e92a3c5f6d80b17e24d",
		"{pickup_location_id}", "pkp_0198f3a0c9b17d4e8e2f7a6b5c1d0394",
		"{delivery_id}", "dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847",
		"{webhook_endpoint_id}", "whe_0198f3b0a1c27d33a4f5e6b7c8d90a1b",
		"{webhook_delivery_id}", "whd_0198f3a27c4e7b23a1d4c8e9f0b51a60",
		"{webhook_listener_id}", "whe_0198f3b7204e7c15b0d2a9f46c81e370",
	).Replace(path)
	res := doc.Paths.Value(path).GetOperation(method).Responses.Status(status)
	if res == nil {
		t.Fatalf("%s %s has no %d", method, path, status)
	}
	fill(t, s, res.Value, name)
	return s
}

func fill(t *testing.T, s *sample, res *openapi3.Response, name string) {
	t.Helper()
	for header, ref := range res.Headers {
		if ref.Value.Required || ref.Value.Extensions["x-waybill-required-with"] != nil {
			s.header.Set(header, fmt.Sprint(ref.Value.Example))
		}
	}
	s.header.Set("X-Content-Type-Options", "nosniff")
	s.header.Set("Cache-Control", "private, no-store")
	if s.header.Get("ETag") != "" {
		s.header.Set("Cache-Control", "private, no-cache")
	}
	for mediaType, content := range res.Content {
		s.header.Set("Content-Type", mediaType)
		if ref := content.Examples[name]; ref != nil {
			// Through JSON, so that a test may change it without changing the document.
			text, err := json.Marshal(ref.Value.Value)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &s.body); err != nil {
				t.Fatal(err)
			}
		}
	}
}

package traces

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector takes spans over OTLP/HTTP, as any collector does.
type collector struct {
	*httptest.Server

	mu       sync.Mutex
	spans    []*span
	resource map[string]string
	bytes    bytes.Buffer // everything that was sent, unpacked
}

// span is one as the collector shows it.
type span struct {
	name, trace, id, parent string
	kind                    tracepb.Span_SpanKind
	failed                  bool
	attributes              map[string]string
	links                   []link
}

type link struct {
	trace, span string
	attributes  map[string]string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.take(r); err != nil {
			t.Error("collector:", err)
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(r *http.Request) error {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		return fmt.Errorf("%s %s of %q is no export of traces", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	if got := r.Header.Get("X-Tenant"); got != "the company" {
		return fmt.Errorf("the header of OTEL_EXPORTER_OTLP_HEADERS is %q", got)
	}
	if r.Header.Get("Content-Encoding") != "gzip" {
		return fmt.Errorf("the body is not packed, and OTEL_EXPORTER_OTLP_COMPRESSION is gzip")
	}
	unpacked, err := gzip.NewReader(r.Body)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(unpacked)
	if err != nil {
		return err
	}
	var data tracepb.TracesData
	if err := proto.Unmarshal(body, &data); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes.Write(body)
	for _, resource := range data.ResourceSpans {
		c.resource = attributes(resource.Resource.Attributes)
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, spanOf(s))
			}
		}
	}
	return nil
}

func spanOf(s *tracepb.Span) *span {
	out := &span{
		name: s.Name, trace: hex.EncodeToString(s.TraceId), id: hex.EncodeToString(s.SpanId), parent: hex.EncodeToString(s.ParentSpanId),
		kind: s.Kind, failed: s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR, attributes: attributes(s.Attributes),
	}
	for _, l := range s.Links {
		out.links = append(out.links, link{hex.EncodeToString(l.TraceId), hex.EncodeToString(l.SpanId), attributes(l.Attributes)})
	}
	return out
}

func attributes(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			out[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[kv.Key] = fmt.Sprint(v.IntValue)
		default:
			out[kv.Key] = kv.Value.String()
		}
	}
	return out
}

// find lists the spans of a name that have the attributes.
func (c *collector) find(name string, want ...string) []*span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*span
	for _, s := range c.spans {
		fits := s.name == name
		for _, w := range want {
			key, value, _ := strings.Cut(w, "=")
			fits = fits && s.attributes[key] == value
		}
		if fits {
			found = append(found, s)
		}
	}
	return found
}

// one is the only such span.
func (c *collector) one(t *testing.T, name string, want ...string) *span {
	t.Helper()
	found := c.find(name, want...)
	if len(found) != 1 {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.spans {
			t.Logf("%s/%s below %q: %s %v %v", s.trace, s.id, s.parent, s.name, s.attributes, s.links)
		}
		t.Fatalf("%d spans %q with %q, want 1", len(found), name, want)
	}
	return found[0]
}

package traces

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// One create is followed from the request through the price and the booking to
// the second attempt to send its webhook, and nothing of it names a person.
func TestACollectorSeesOneCreateFromRequestToWebhook(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	var mu sync.Mutex
	var pricing, received []http.Header
	prices := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		pricing = append(pricing, r.Header)
		fmt.Fprint(w, `{"currency":"GHS","fee":24.5,"distance_km":5.3,"distance_source":"road","requires_custom_quote":false}`)
	}))
	defer prices.Close()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if received = append(received, r.Header); len(received) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer receiver.Close()
	s := start(t, "WAYBILL_PRICING_URL="+prices.URL, "WAYBILL_WEBHOOK_RETRY_SCHEDULE=100ms,100ms,1s",
		"OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=X-Tenant=the%20company", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test", "OTEL_BSP_SCHEDULE_DELAY=3600000")
	s.post("/webhook-endpoints", "endpoint-1", map[string]any{"url": receiver.URL + "/secret-path"})
	delivery := s.post("/deliveries", "create-1", s.order("order-of-ama"),
		"Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	s.eventually("the webhook arrived at its second attempt", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(received) == 2
	})
	s.stop() // flushes

	id := delivery["id"].(string)
	if got := c.resource["service.name"]; got != "waybill" {
		t.Fatalf("c.resource[service.name]: %q, want waybill", got)
	}
	if got := c.resource["deployment.environment"]; got != "test" {
		t.Fatalf("c.resource[deployment.environment]: %q, want test", got)
	}

	request := c.one(t, "POST /v1/deliveries")
	if request.kind != tracepb.Span_SPAN_KIND_SERVER {
		t.Fatalf("request.kind: %v, want %v", request.kind, tracepb.Span_SPAN_KIND_SERVER)
	}
	if request.parent != "" {
		t.Fatalf("a caller does not choose our traces: %q, want none", request.parent)
	}
	if request.trace == "0af7651916cd43dd8448eb211c80319c" {
		t.Fatalf("request.trace: %q, want another", request.trace)
	}
	caller := []link{{"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", map[string]string{"waybill.link": "caller"}}}
	if diff := cmp.Diff(caller, request.links, cmp.AllowUnexported(link{})); diff != "" {
		t.Fatalf("request.links (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"http.request.method": "POST", "http.route": "/v1/deliveries", "http.response.status_code": "201",
		"waybill.environment": "sandbox", "waybill.application_id": s.Vars["WAYBILL_APP_ID"],
	} {
		if got := request.attributes[name]; got != want {
			t.Fatalf("%s: %q, want %q", name, got, want)
		}
	}
	if id := request.attributes["waybill.request_id"]; !regexp.MustCompile("^req_[0-9a-f]{32}$").MatchString(id) {
		t.Fatalf("the request is named %q, want the ID in our log and not the caller's", id)
	}

	price := c.one(t, "price")
	book := c.one(t, "book", "waybill.delivery_id="+id)
	for _, child := range []*span{price, book} {
		if child.trace != request.trace {
			t.Fatalf("%s: %q, want %q", child.name, child.trace, request.trace)
		}
		if child.parent != request.id {
			t.Fatalf("%s: %q, want %q", child.name, child.parent, request.id)
		}
		if child.failed {
			t.Fatalf("%s: child.failed is true", child.name)
		}
	}
	if len(pricing) != 1 {
		t.Fatalf("pricing: %v, want 1 of them", pricing)
	}
	if got := pricing[0].Get("Traceparent"); got != "00-"+price.trace+"-"+price.id+"-01" {
		t.Fatalf("what the pricing service was told: %q, want %q", got, "00-"+price.trace+"-"+price.id+"-01")
	}

	event := c.one(t, "event", "waybill.delivery_id="+id)
	if event.parent != "" {
		t.Fatalf("event.parent: %q, want none", event.parent)
	}
	if diff := cmp.Diff([]link{{book.trace, book.id, map[string]string{"waybill.link": "cause"}}}, event.links,
		cmp.AllowUnexported(link{})); diff != "" {
		t.Fatalf("event.links (-want +got):\n%s", diff)
	}
	if len(book.links) != 1 {
		t.Fatalf("book.links: %v, want 1 of them", book.links)
	}
	if diff := cmp.Diff([2]string{event.trace, event.id}, [2]string{book.links[0].trace, book.links[0].span}); diff != "" {
		t.Fatalf("[2]string{book.links[0].trace, book.links[0].span} (-want +got):\n%s", diff)
	}

	for attempt, status := range map[string]string{"1": "503", "2": "200"} {
		sent := c.one(t, "webhook attempt", "waybill.attempt="+attempt)
		if diff := cmp.Diff([2]string{event.trace, event.id}, [2]string{sent.trace, sent.parent}); diff != "" {
			t.Fatalf("attempt %s (-want +got):\n%s", attempt, diff)
		}
		if got := sent.attributes["waybill.event_id"]; got != event.attributes["waybill.event_id"] {
			t.Fatalf("sent.attributes[waybill.event_id]: %q, want %q", got, event.attributes["waybill.event_id"])
		}
		if got := sent.attributes["http.response.status_code"]; got != status {
			t.Fatalf("sent.attributes[http.response.status_code]: %q, want %q", got, status)
		}
		if sent.failed != (attempt == "1") {
			t.Fatalf("sent.failed: %v, want %v", sent.failed, attempt == "1")
		}
	}
	for _, h := range received {
		if got := h.Get("Traceparent"); got != "" {
			t.Fatalf("receivers are third parties: %q, want none", got)
		}
	}

	all := c.bytes.String()
	for _, secret := range []string{
		"Ama Mensah", "Mensah", "244123456", "412 3456", "Independence", "order-of-ama", "5.6037", "secret-path",
		s.Vars["WAYBILL_TEST_KEY"], s.Vars["WAYBILL_LIVE_KEY"], "key-of-create-1", strings.TrimPrefix(receiver.URL, "http://"),
	} {
		if strings.Contains(all, secret) {
			t.Fatalf("a span names what it must not: %q has %q", all, secret)
		}
	}
}

// What a request does not cause is no trace: sweepers and schedulers ask the
// database several times a second.
func TestAnIdleServerSendsNothing(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	s := start(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=X-Tenant=the company",
		"OTEL_EXPORTER_OTLP_COMPRESSION=gzip")
	<-time.After(time.Second) // in which the sweepers have looked
	s.stop()
	if len(c.spans) != 0 {
		t.Fatalf("c.spans: %v, want none", c.spans)
	}
}

// The sampler of the variables decides, for requests and for events.
func TestWhatTheSamplerLeavesOutIsNotSent(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	s := start(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_TRACES_SAMPLER=always_off")
	s.post("/deliveries", "create-1", s.order("order-1"))
	s.stop()
	if len(c.spans) != 0 {
		t.Fatalf("c.spans: %v, want none", c.spans)
	}
}

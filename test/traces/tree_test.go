package traces

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// One create is followed from the request through the price and the booking to
// the second attempt to send its webhook, and nothing of it names a person.
func TestACollectorSeesOneCreateFromRequestToWebhook(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a real server; left out in short mode")
	}
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
	require.Equal(t, "waybill", c.resource["service.name"])
	require.Equal(t, "test", c.resource["deployment.environment"])

	request := c.one(t, "POST /v1/deliveries")
	require.Equal(t, tracepb.Span_SPAN_KIND_SERVER, request.kind)
	require.Empty(t, request.parent, "a caller does not choose our traces")
	require.NotEqual(t, "0af7651916cd43dd8448eb211c80319c", request.trace)
	require.Equal(t, []link{{"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", map[string]string{"waybill.link": "caller"}}}, request.links)
	for name, want := range map[string]string{
		"http.request.method": "POST", "http.route": "/v1/deliveries", "http.response.status_code": "201",
		"waybill.environment": "sandbox", "waybill.application_id": s.vars["WAYBILL_APP_ID"],
	} {
		require.Equal(t, want, request.attributes[name], name)
	}
	require.Regexp(t, "^req_[0-9a-f]{32}$", request.attributes["waybill.request_id"], "as in our log, not as the caller calls it")

	price := c.one(t, "price")
	book := c.one(t, "book", "waybill.delivery_id="+id)
	for _, child := range []*span{price, book} {
		require.Equal(t, request.trace, child.trace, child.name)
		require.Equal(t, request.id, child.parent, child.name)
		require.False(t, child.failed, child.name)
	}
	require.Len(t, pricing, 1)
	require.Equal(t, "00-"+price.trace+"-"+price.id+"-01", pricing[0].Get("Traceparent"), "what the pricing service was told")

	event := c.one(t, "event", "waybill.delivery_id="+id)
	require.Empty(t, event.parent)
	require.Equal(t, []link{{book.trace, book.id, map[string]string{"waybill.link": "cause"}}}, event.links)
	require.Len(t, book.links, 1)
	require.Equal(t, [2]string{event.trace, event.id}, [2]string{book.links[0].trace, book.links[0].span})

	for attempt, status := range map[string]string{"1": "503", "2": "200"} {
		sent := c.one(t, "webhook attempt", "waybill.attempt="+attempt)
		require.Equal(t, [2]string{event.trace, event.id}, [2]string{sent.trace, sent.parent}, "attempt %s", attempt)
		require.Equal(t, event.attributes["waybill.event_id"], sent.attributes["waybill.event_id"])
		require.Equal(t, status, sent.attributes["http.response.status_code"])
		require.Equal(t, attempt == "1", sent.failed)
	}
	for _, h := range received {
		require.Empty(t, h.Get("Traceparent"), "receivers are strangers")
	}

	all := c.bytes.String()
	for _, secret := range []string{
		"Ama Mensah", "Mensah", "244123456", "412 3456", "Independence", "order-of-ama", "5.6037", "secret-path",
		s.vars["WAYBILL_TEST_KEY"], s.vars["WAYBILL_LIVE_KEY"], "key-of-create-1", strings.TrimPrefix(receiver.URL, "http://"),
	} {
		require.NotContains(t, all, secret, "a span names what it must not")
	}
}

// What a request does not cause is no trace: sweepers and schedulers ask the
// database several times a second.
func TestAnIdleServerSendsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a real server; left out in short mode")
	}
	t.Parallel()
	c := newCollector(t)
	s := start(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=X-Tenant=the company", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip")
	<-time.After(time.Second) // in which the sweepers have looked
	s.stop()
	require.Empty(t, c.spans)
}

// The sampler of the variables decides, for requests and for events.
func TestWhatTheSamplerLeavesOutIsNotSent(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a real server; left out in short mode")
	}
	t.Parallel()
	c := newCollector(t)
	s := start(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_TRACES_SAMPLER=always_off")
	s.post("/deliveries", "create-1", s.order("order-1"))
	s.stop()
	require.Empty(t, c.spans)
}

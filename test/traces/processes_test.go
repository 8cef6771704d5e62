package traces

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The server that books and the worker that sends tell each other nothing of
// traces, and what they write is one.
func TestAServerAndAWorkerWriteOneTraceOfAnEvent(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer receiver.Close()
	dev := start(t) // makes the data directory
	dev.post("/webhook-endpoints", "endpoint-1", map[string]any{"url": receiver.URL})
	dev.stop()

	toServer, toWorker := newCollector(t), newCollector(t)
	variables := func(c *collector) []string {
		return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_HEADERS=X-Tenant=the company",
			"OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
			"WAYBILL_WEBHOOK_ALLOW_PRIVATE=true"}
	}
	server := launch(t, "serve", dev.dir, variables(toServer)...)
	worker := launch(t, "worker", dev.dir, variables(toWorker)...)
	server.post("/deliveries", "create-1", server.order("order-1"))
	server.eventually("the webhook arrived", func() bool { return arrived.Load() == 1 })
	server.stop()
	worker.stop()

	event := toServer.one(t, "event")
	attempt := toWorker.one(t, "webhook attempt")
	if diff := cmp.Diff([2]string{event.trace, event.id}, [2]string{attempt.trace, attempt.parent}); diff != "" {
		t.Fatalf("[2]string{attempt.trace, attempt.parent} (-want +got):\n%s", diff)
	}
	if got := toServer.find("webhook attempt"); len(got) != 0 {
		t.Fatalf("toServer.find(webhook attempt): %v, want none", got)
	}
	if got := toWorker.find("event"); len(got) != 0 {
		t.Fatalf("the root is written once: %v, want none", got)
	}
}

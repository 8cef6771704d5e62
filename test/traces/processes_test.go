package traces

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The server that books and the worker that sends tell each other nothing of
// traces, and what they write is one.
func TestAServerAndAWorkerWriteOneTraceOfAnEvent(t *testing.T) {
	if testing.Short() {
		t.Skip("drives real processes; left out in short mode")
	}
	t.Parallel()
	var arrived atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer receiver.Close()
	dev := start(t) // makes the data directory
	dev.post("/webhook-endpoints", "endpoint-1", map[string]any{"url": receiver.URL})
	dev.stop()

	toServer, toWorker := newCollector(t), newCollector(t)
	variables := func(c *collector) []string {
		return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_HEADERS=X-Tenant=the company", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
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
	require.Equal(t, [2]string{event.trace, event.id}, [2]string{attempt.trace, attempt.parent})
	require.Empty(t, toServer.find("webhook attempt"))
	require.Empty(t, toWorker.find("event"), "the root is written once")
}

package traces

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// A collector that refuses, and one that takes connections and says nothing:
// creates do not wait for it, the spans are counted, one line of log tells,
// and the end of the process does not wait for long.
func TestACollectorThatIsGoneSlowsNothing(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for name, address := range map[string]string{"refuses": "127.0.0.1:1", "is silent": silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address,
				"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BSP_MAX_QUEUE_SIZE=8", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=4", "OTEL_EXPORTER_OTLP_TIMEOUT=60000",
				"OTEL_BSP_EXPORT_TIMEOUT=60000")
			var slowest time.Duration
			for i := range 30 {
				begun := time.Now()
				s.post("/deliveries", fmt.Sprintf("create-%d", i), s.order(fmt.Sprintf("order-%d", i)))
				slowest = max(slowest, time.Since(begun))
			}
			t.Log("slowest create:", slowest)
			const most = 30 * time.Second // half of what the collector may take
			if slowest >= most {
				t.Fatalf("a create waited for the collector: %v, want less than %v", slowest, most)
			}
			s.eventually("dropped spans are counted", func() bool {
				dropped := s.metric("waybill_trace_spans_dropped_total")
				return dropped != "" && dropped != "0"
			})
			if took := s.stop(); took > most {
				t.Errorf("the process took %v to end", took)
			}
			if told := strings.Count(s.log(), "traces are dropped until"); told > 1 || told == 0 && name == "refuses" {
				t.Errorf("the log tells %d times that the collector is gone, want once\n%s", told, s.log())
			}
		})
	}
}

// A variable that cannot be used is named in the log, without its value, and the server
// works without traces.
func TestAVariableThatCannotBeUsedIsAWarning(t *testing.T) {
	t.Parallel()
	s := start(t, "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization")
	s.post("/deliveries", "create-1", s.order("order-1"))
	s.stop()
	for _, part := range []string{"no traces are sent", "OTEL_EXPORTER_OTLP_ENDPOINT is no address", `OTEL_EXPORTER_OTLP_PROTOCOL is`,
		"OTEL_EXPORTER_OTLP_HEADERS cannot be read"} {
		if !strings.Contains(s.log(), part) {
			t.Errorf("the log lacks %q:\n%s", part, s.log())
		}
	}
	if strings.Contains(s.log(), "authorization") {
		t.Errorf("the log shows the header:\n%s", s.log())
	}
}

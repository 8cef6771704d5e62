package traces

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A collector that refuses, and one that takes connections and says nothing:
// creates are as quick as ever, the spans are counted, one line of log tells,
// and the end of the process waits five seconds at most.
func TestACollectorThatIsGoneSlowsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a real server; left out in short mode")
	}
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
			if slowest >= 5*time.Second {
				t.Fatalf("a create waited for the collector: %v, want less than %v", slowest, 5*time.Second)
			}
			s.eventually("dropped spans are counted", func() bool {
				dropped := s.metric("waybill_trace_spans_dropped_total")
				return dropped != "" && dropped != "0"
			})
			if took := s.stop(); took > 15*time.Second {
				t.Errorf("the process took %v to end", took)
			}
			if told := strings.Count(s.log(), "traces are dropped until"); told > 1 || told == 0 && name == "refuses" {
				t.Errorf("the log tells %d times that the collector is gone, want once\n%s", told, s.log())
			}
		})
	}
}

// A variable that cannot be meant stops the start, and is named.
func TestAVariableThatCannotBeMeantStopsTheStart(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a real server; left out in short mode")
	}
	t.Parallel()
	cmd := exec.Command(binary, "dev", "--data-dir", t.TempDir())
	cmd.Env = append(cmd.Environ(), "WAYBILL_LIVE_ADDR=127.0.0.1:0", "WAYBILL_SANDBOX_ADDR=127.0.0.1:0", "WAYBILL_OPS_ADDR=127.0.0.1:0",
		"WAYBILL_PORTAL_ADDR=127.0.0.1:0",
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_HEADERS=authorization")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("err: no error")
	}
	for _, part := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT is no address", `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"`,
		"OTEL_EXPORTER_OTLP_HEADERS cannot be read", "fix:"} {
		if !strings.Contains(string(out), part) {
			t.Fatalf("string(out): %q lacks %q", string(out), part)
		}
	}
	if strings.Contains(string(out), "authorization") {
		t.Fatalf("string(out): %q has authorization", string(out))
	}
}

package telemetry

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestTracesAreWantedWhereACollectorIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{nil, false},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT="}, false},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT= "}, false},
		{[]string{"OTEL_SERVICE_NAME=x", "OTEL_TRACES_SAMPLER=always_on"}, false},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"}, true},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:4318/x"}, true},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "OTEL_SDK_DISABLED=TRUE"}, false},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "OTEL_TRACES_EXPORTER=none"}, false},
	} {
		if got := TracingWanted(c.environ); got != c.want {
			t.Fatalf("%q: %v, want %v", c.environ, got, c.want)
		}
	}
}

func TestSpansGoWhereTheVariablesSay(t *testing.T) {
	got := make(chan *http.Request, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r }))
	defer collector.Close()
	for variable, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL + "/base/", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
		"OTEL_EXPORTER_OTLP_HEADERS": " authorization=Bearer%20x%3D , x-b=2", "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
		"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "gzip", "OTEL_BSP_MAX_QUEUE_SIZE": "100",
	} {
		t.Setenv(variable, value)
	}
	tracing, err := OpenTracing(t.Context(), TracingOptions{Environ: os.Environ(), Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	spans(t, tracing, 1)
	if err := tracing.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	request := <-got
	if got := request.URL.Path; got != "/base/v1/traces" {
		t.Fatalf("request.URL.Path: %q, want /base/v1/traces", got)
	}
	if got := request.Header.Get("Authorization"); got != "Bearer x=" {
		t.Fatalf("request.Header.Get(Authorization): %q, want Bearer x=", got)
	}
	if got := request.Header.Get("X-B"); got != "2" {
		t.Fatalf("request.Header.Get(X-B): %q, want 2", got)
	}
	if got := request.Header.Get("Content-Encoding"); got != "gzip" {
		t.Fatalf("what is said for traces wins: %q, want gzip", got)
	}
}

func TestAVariableThatIsWrongIsNamedWithoutItsSecret(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"
	for variable, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=c:4318":                        "OTEL_EXPORTER_OTLP_ENDPOINT is no address",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://user:hidden@c":    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no address",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                          "only http/protobuf",
		"OTEL_EXPORTER_OTLP_HEADERS=hidden":                         "OTEL_EXPORTER_OTLP_HEADERS cannot be read",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=hidden%zz": "OTEL_EXPORTER_OTLP_TRACES_HEADERS cannot be read",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/xml":               `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "http/xml"`,
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS=hid den=x":               "OTEL_EXPORTER_OTLP_TRACES_HEADERS cannot be read",
		"OTEL_EXPORTER_OTLP_HEADERS=x-key=hidden%0d%0ax":            "OTEL_EXPORTER_OTLP_HEADERS cannot be read",
	} {
		err := check(variables([]string{endpoint, variable}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%s: %v, want %q in it", variable, err, want)
		}
		if strings.Contains(err.Error(), "hidden") {
			t.Fatalf("err.Error(): %q has hidden", err.Error())
		}
	}
}

func TestTheQueueIsAsLongAsTheVariableSays(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"100": 100, "0": 2048, "many": 2048, "": 2048, "18446744073710": 2048} {
		if got := queueSize(variables([]string{"OTEL_BSP_MAX_QUEUE_SIZE=" + value})); got != want {
			t.Errorf("%q: %d, want %d", value, got, want)
		}
	}
}

package otlp

import (
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		if got := Wanted(c.environ); got != c.want {
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
	s, err := read(variables(os.Environ()))
	if err != nil {
		t.Fatal(err)
	}
	if s.queue != 100 {
		t.Fatalf("s.queue: %d, want 100", s.queue)
	}
	tracing, err := Open(t.Context(), Options{Environ: os.Environ(), Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
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
		"OTEL_EXPORTER_OTLP_COMPRESSION=lz4":                        "none, gzip",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere":                   "OTEL_EXPORTER_OTLP_CERTIFICATE",
		"OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE=settings.go":  "certificate",
		"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE=settings_test.go":    "holds no certificate",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=hidden%zz": "OTEL_EXPORTER_OTLP_TRACES_HEADERS cannot be read",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/xml":               `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "http/xml"`,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://me:hidden@c":     "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT holds a name",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS=hid den=x":               "OTEL_EXPORTER_OTLP_TRACES_HEADERS cannot be read",
		"OTEL_EXPORTER_OTLP_HEADERS=x-key=hidden%0d%0ax":            "OTEL_EXPORTER_OTLP_HEADERS cannot be read",
	} {
		_, err := read(variables([]string{endpoint, variable}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%s: %v, want %q in it", variable, err, want)
		}
		if strings.Contains(err.Error(), "hidden") {
			t.Fatalf("err.Error(): %q has hidden", err.Error())
		}
	}
}

func TestANumberThatCannotBeReadIsIgnoredWithAWarning(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=-1", "OTEL_BSP_MAX_QUEUE_SIZE=0",
		"OTEL_EXPORTER_OTLP_TIMEOUT=18446744073710", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=many", "OTEL_BSP_SCHEDULE_DELAY=5s"} {
		s, err := read(variables([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", variable}))
		if err != nil || s.timeout != 10*time.Second || s.queue != 2048 {
			t.Errorf("%s: %v, time-out %v, queue %d, want what is standard", variable, err, s.timeout, s.queue)
		}
		if name, _, _ := strings.Cut(variable, "="); len(s.ignored) != 1 || !strings.HasPrefix(s.ignored[0], name+" is ") {
			t.Errorf("%s: warnings %q", variable, s.ignored)
		}
	}
}

func TestAnAddressForTracesIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://c:4318":            "https://c:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/":          "http://c/",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:4318/in/v": "http://c:4318/in/v",
	} {
		s, err := read(variables([]string{variable}))
		if err != nil || s.url != want || s.timeout != 10*time.Second || s.header.Get("Content-Encoding") != "" || s.tls != nil {
			t.Errorf("%s: %+v, %v, want %s, 10 s, not packed and as ever", variable, s, err, want)
		}
	}
}

func TestACollectorIsTrustedByTheCertificateThatIsNamed(t *testing.T) {
	t.Parallel()
	collector := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	collector.Config.ErrorLog = log.New(io.Discard, "", 0)
	file := filepath.Join(t.TempDir(), "collector.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: collector.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	for named, trusted := range map[string]bool{file: true, "": false} {
		s, err := read(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE": named})
		if err != nil {
			t.Fatal(err)
		}
		if err := newClient(s).UploadTraces(t.Context(), nil); (err == nil) != trusted {
			t.Errorf("with the certificate %q: %v", named, err)
		}
	}
}

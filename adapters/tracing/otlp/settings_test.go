package otlp

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
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
		require.Equal(t, c.want, Wanted(c.environ), "%q", c.environ)
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
	size, err := check(variables(os.Environ()))
	require.NoError(t, err)
	require.Equal(t, 100, size)
	tracing, err := Open(t.Context(), Options{Environ: os.Environ(), Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	spans(t, tracing, 1)
	require.NoError(t, tracing.Close(t.Context()))
	request := <-got
	require.Equal(t, "/base/v1/traces", request.URL.Path)
	require.Equal(t, "Bearer x=", request.Header.Get("Authorization"))
	require.Equal(t, "2", request.Header.Get("X-B"))
	require.Equal(t, "gzip", request.Header.Get("Content-Encoding"), "what is said for traces wins")
}

func TestAVariableThatIsWrongIsNamedWithoutItsSecret(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"
	for variable, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=c:4318":                        "OTEL_EXPORTER_OTLP_ENDPOINT is no address",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://user:hidden@c":    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no address",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                          "only http/protobuf and http/json",
		"OTEL_EXPORTER_OTLP_HEADERS=hidden":                         "OTEL_EXPORTER_OTLP_HEADERS cannot be read",
		"OTEL_EXPORTER_OTLP_COMPRESSION=lz4":                        "none, gzip",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s":                            `OTEL_EXPORTER_OTLP_TIMEOUT is "10s"`,
		"OTEL_BSP_MAX_QUEUE_SIZE=0":                                 "OTEL_BSP_MAX_QUEUE_SIZE",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere":                   "OTEL_EXPORTER_OTLP_CERTIFICATE",
		"OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE=settings.go":  "certificate",
		"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE=settings_test.go":    "holds no certificate",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=hidden%zz": "OTEL_EXPORTER_OTLP_TRACES_HEADERS cannot be read",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/xml":               `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "http/xml"`,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://me:hidden@c":     "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT holds a name",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS=hid den=x":               "OTEL_EXPORTER_OTLP_TRACES_HEADERS cannot be read",
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=many":                       `"many"`,
		"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=-1":                      "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
	} {
		_, err := check(variables([]string{endpoint, variable}))
		require.ErrorContains(t, err, want, variable)
		require.NotContains(t, err.Error(), "hidden")
	}
}

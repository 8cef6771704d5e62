package otlp

import (
	"net/http"
	"testing"
	"time"

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

func TestTheVariablesOfTheExporterAreRead(t *testing.T) {
	t.Parallel()
	s, err := read(variables([]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://collector.example:4318/base/", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_EXPORTER_OTLP_HEADERS= authorization=Bearer%20x%3D , x-b=2,", "OTEL_EXPORTER_OTLP_COMPRESSION=none", "OTEL_EXPORTER_OTLP_TIMEOUT=1500",
		"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=gzip", "OTEL_BSP_MAX_QUEUE_SIZE=100", "OTEL_BSP_SCHEDULE_DELAY=250", "OTEL_BSP_EXPORT_TIMEOUT=2000",
	}))
	require.NoError(t, err)
	require.Equal(t, "https://collector.example:4318/base/v1/traces", s.endpoint)
	require.Equal(t, http.Header{"Authorization": {"Bearer x="}, "X-B": {"2"}}, s.header)
	require.True(t, s.gzip, "what is said for traces wins")
	require.Equal(t, 1500*time.Millisecond, s.timeout)
	require.Equal(t, queueSettings{size: 100, batch: 100, every: 250 * time.Millisecond, export: 2 * time.Second}, s.queue)

	s, err = read(variables([]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:4318/as/it/is"}))
	require.NoError(t, err)
	require.Equal(t, "http://c:4318/as/it/is", s.endpoint)
	require.Equal(t, queueSettings{size: 2048, batch: 512, every: 5 * time.Second, export: 30 * time.Second}, s.queue)
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
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s":                            `OTEL_EXPORTER_OTLP_TIMEOUT is "10s"`,
		"OTEL_BSP_MAX_QUEUE_SIZE=0":                                 "OTEL_BSP_MAX_QUEUE_SIZE",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere":                   "OTEL_EXPORTER_OTLP_CERTIFICATE",
		"OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE=settings.go":  "certificate",
		"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE=settings_test.go":    "holds no certificate",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=hidden%zz": "OTEL_EXPORTER_OTLP_TRACES_HEADERS cannot be read",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json":              `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "http/json"`,
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=many":                       `"many"`,
		"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=-1":                      "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
	} {
		_, err := read(variables([]string{endpoint, variable}))
		require.ErrorContains(t, err, want, variable)
		require.NotContains(t, err.Error(), "hidden")
	}
}

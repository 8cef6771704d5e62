package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// What counts where no variable says otherwise, by the specification of OpenTelemetry.
const (
	standardQueue   = 2048   // spans
	standardTimeout = 10_000 // ms
)

const protobufType = "application/x-protobuf"

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// variables is an environment by name, without what is empty.
func variables(environ []string) map[string]string {
	v := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, "OTEL_") && strings.TrimSpace(value) != "" {
			v[name] = strings.TrimSpace(value)
		}
	}
	return v
}

// settings are what the variables say of sending.
type settings struct {
	queue   int // spans that may wait
	url     string
	header  http.Header
	timeout time.Duration // of a request
	tls     *tls.Config   // nil: as ever
	ignored []string      // what is wrong with variables that have no effect
}

// read reads the variables. A number that it cannot read is ignored, as OpenTelemetry's
// specification says. Anything else would keep spans from the collector: that is an error, which
// names the variable and never its value where that may be a secret.
func read(v map[string]string) (settings, error) {
	var problems []error
	bad := func(variable, what string) { problems = append(problems, errors.New(variable+" "+what)) }
	exporter := func(name string) (value, variable string) { // the one for traces wins
		for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if v[variable] != "" {
				return v[variable], variable
			}
		}
		return "", "OTEL_EXPORTER_OTLP_" + name
	}

	if protocol, variable := exporter("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		bad(variable, fmt.Sprintf("is %q; only http/protobuf is spoken here, on the collector's port 4318", protocol))
	}
	endpoint, variable := exporter("ENDPOINT")
	collector, err := url.Parse(endpoint)
	switch {
	case err != nil || collector.Scheme != "http" && collector.Scheme != "https" || collector.Host == "":
		bad(variable, "is no address of a collector; write http://host:4318")
	case collector.User != nil || collector.RawQuery != "":
		bad(variable, "holds a name, a password or a query, which would not be sent; OTEL_EXPORTER_OTLP_HEADERS is")
	case variable == "OTEL_EXPORTER_OTLP_ENDPOINT":
		collector = collector.JoinPath("v1", "traces")
	}
	header := http.Header{"User-Agent": {"waybill"}}
	headers, variable := exporter("HEADERS")
	for pair := range strings.SplitSeq(headers, ",") {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok && name != "" || ok && !headerName.MatchString(name) || err != nil || strings.ContainsFunc(value, unicode.IsControl) {
			bad(variable, "cannot be read; write name=value,name=value")
			break
		}
		if ok {
			header.Set(name, value)
		}
	}
	header.Set("Content-Type", protobufType)
	compression, variable := exporter("COMPRESSION")
	switch compression {
	case "", "none":
	case "gzip":
		header.Set("Content-Encoding", "gzip")
	default:
		bad(variable, "is none of the values there are: none, gzip")
	}

	var ignored []string
	number := func(variable string, standard int) int {
		text := v[variable]
		if text == "" {
			return standard
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > math.MaxInt32 {
			ignored = append(ignored, fmt.Sprintf("%s is %q and is ignored; it is a whole number above 0, and at most %d", variable, text, math.MaxInt32))
			return standard
		}
		return n
	}
	for _, variable := range []string{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT"} {
		number(variable, 0)
	}
	_, variable = exporter("TIMEOUT")
	timeout := time.Duration(number(variable, standardTimeout)) * time.Millisecond
	queue := number("OTEL_BSP_MAX_QUEUE_SIZE", standardQueue)

	authorities, variable := exporter("CERTIFICATE")
	certificate, _ := exporter("CLIENT_CERTIFICATE")
	key, _ := exporter("CLIENT_KEY")
	encryption, err := encryptionOf(authorities, certificate, key)
	if err != nil {
		bad(variable, "or the client's certificate or key cannot be used: "+err.Error())
	}
	if len(problems) > 0 {
		return settings{}, errors.Join(problems...)
	}
	return settings{queue: queue, url: collector.String(), header: header, timeout: timeout, tls: encryption, ignored: ignored}, nil
}

// encryptionOf reads the files; empty names none. It is nil where none is named.
func encryptionOf(authorities, certificate, key string) (*tls.Config, error) {
	if authorities == "" && certificate == "" && key == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		pem, err := os.ReadFile(authorities) //nolint:gosec // the file that the variable names
		if err != nil {
			return nil, err
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", authorities)
		}
	}
	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// settings are where spans go and how.
type settings struct {
	endpoint string
	header   http.Header
	gzip     bool
	timeout  time.Duration
	tls      *tls.Config
	queue    queueSettings
}

// queueSettings are those of OTEL_BSP_*.
type queueSettings struct {
	size, batch   int
	every, export time.Duration
}

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

// read reads the variables of the exporter. Errors name the variable and never
// its value: a header is a secret.
func read(v map[string]string) (settings, error) {
	exporter := func(name string) (value, variable string) { // the one for traces wins
		for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if v[variable] != "" {
				return v[variable], variable
			}
		}
		return "", "OTEL_EXPORTER_OTLP_" + name
	}
	s := settings{header: http.Header{}, timeout: 10 * time.Second,
		queue: queueSettings{size: 2048, batch: 512, every: 5 * time.Second, export: 30 * time.Second}}
	var problems []error
	bad := func(variable, what string) { problems = append(problems, errors.New(variable+" "+what)) }

	if protocol, variable := exporter("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		bad(variable, fmt.Sprintf("is %q; only http/protobuf is spoken here, on the collector's port 4318", protocol))
	}
	endpoint, variable := exporter("ENDPOINT")
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		bad(variable, "is no address of a collector; write http://host:4318")
	} else {
		if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			u = u.JoinPath("v1/traces")
		}
		s.endpoint = u.String()
	}
	headers, variable := exporter("HEADERS")
	for pair := range strings.SplitSeq(headers, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			bad(variable, "cannot be read; write name=value,name=value")
			break
		}
		s.header.Set(name, value)
	}
	switch compression, variable := exporter("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		bad(variable, "is none of the values there are: none, gzip")
	}
	number := func(variable string, to *int) {
		if text := v[variable]; text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				bad(variable, fmt.Sprintf("is %q; it is a whole number above 0", text))
				return
			}
			*to = n
		}
	}
	milliseconds := func(variable string, to *time.Duration) {
		n := int(*to / time.Millisecond)
		number(variable, &n)
		*to = time.Duration(n) * time.Millisecond
	}
	_, variable = exporter("TIMEOUT")
	milliseconds(variable, &s.timeout)
	number("OTEL_BSP_MAX_QUEUE_SIZE", &s.queue.size)
	number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", &s.queue.batch)
	milliseconds("OTEL_BSP_SCHEDULE_DELAY", &s.queue.every)
	milliseconds("OTEL_BSP_EXPORT_TIMEOUT", &s.queue.export)
	s.queue.batch = min(s.queue.batch, s.queue.size)

	file, variable := exporter("CERTIFICATE")
	certificate, _ := exporter("CLIENT_CERTIFICATE")
	key, _ := exporter("CLIENT_KEY")
	if s.tls, err = secured(file, certificate, key); err != nil {
		bad(variable, "or the client's certificate or key cannot be used: "+err.Error())
	}
	return s, errors.Join(problems...)
}

// secured trusts the authorities of the file instead of the host's, and shows
// the client's certificate where there is one.
func secured(authorities, certificate, key string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		pem, err := os.ReadFile(authorities) //nolint:gosec // the file that the variable names
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
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

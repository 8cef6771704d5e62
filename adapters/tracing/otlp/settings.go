package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// standardQueue is how many spans wait where OTEL_BSP_MAX_QUEUE_SIZE says nothing.
const standardQueue = 2048

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

// check refuses the variables that OpenTelemetry would pass over, with a line on
// stderr that shows their values, and returns the size of the queue. Errors name
// the variable and never its value where that may be a secret.
func check(v map[string]string) (queue int, err error) {
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

	if protocol, variable := exporter("PROTOCOL"); !slices.Contains([]string{"", "http/protobuf", "http/json"}, protocol) {
		bad(variable, fmt.Sprintf("is %q; only http/protobuf and http/json are spoken here, on the collector's port 4318", protocol))
	}
	endpoint, variable := exporter("ENDPOINT")
	switch u, err := url.Parse(endpoint); {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		bad(variable, "is no address of a collector; write http://host:4318")
	case u.User != nil || u.RawQuery != "":
		bad(variable, "holds a name, a password or a query, which would not be sent; OTEL_EXPORTER_OTLP_HEADERS is")
	}
	headers, variable := exporter("HEADERS")
	for pair := range strings.SplitSeq(headers, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); !ok && strings.TrimSpace(pair) != "" || ok && !headerName.MatchString(strings.TrimSpace(name)) ||
			err != nil {
			bad(variable, "cannot be read; write name=value,name=value")
			break
		}
	}
	if compression, variable := exporter("COMPRESSION"); !slices.Contains([]string{"", "none", "gzip"}, compression) {
		bad(variable, "is none of the values there are: none, gzip")
	}

	number := func(variable string, standard int) int {
		text := v[variable]
		if text == "" {
			return standard
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			bad(variable, fmt.Sprintf("is %q; it is a whole number above 0", text))
		}
		return n
	}
	_, variable = exporter("TIMEOUT")
	for _, variable := range []string{variable, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT"} {
		number(variable, 0)
	}
	queue = number("OTEL_BSP_MAX_QUEUE_SIZE", standardQueue)

	authorities, variable := exporter("CERTIFICATE")
	certificate, _ := exporter("CLIENT_CERTIFICATE")
	key, _ := exporter("CLIENT_KEY")
	if err := readable(authorities, certificate, key); err != nil {
		bad(variable, "or the client's certificate or key cannot be used: "+err.Error())
	}
	return queue, errors.Join(problems...)
}

// readable reports whether the files hold what they should; empty names no file.
func readable(authorities, certificate, key string) error {
	if authorities != "" {
		pem, err := os.ReadFile(authorities) //nolint:gosec // the file that the variable names
		if err != nil {
			return err
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s holds no certificate", authorities)
		}
	}
	if certificate != "" || key != "" {
		if _, err := tls.LoadX509KeyPair(certificate, key); err != nil {
			return err
		}
	}
	return nil
}

package telemetry

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// standardQueue is the number of spans that may wait if no variable sets another, by the
// specification of OpenTelemetry.
const standardQueue = 2048

// variables returns an environment by name, without empty values.
func variables(environ []string) map[string]string {
	v := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, "OTEL_") && strings.TrimSpace(value) != "" {
			v[name] = strings.TrimSpace(value)
		}
	}
	return v
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// check finds values that the exporter treats as not set. It would then send in its own protocol,
// or to this machine, or log a malformed header, which may be a secret. The exporter reads the
// other variables itself and reports errors in them.
func check(v map[string]string) error {
	exporter := func(name string) (value, variable string) { // the one for traces takes precedence
		for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if v[variable] != "" {
				return v[variable], variable
			}
		}
		return "", ""
	}
	var problems []error
	if protocol, variable := exporter("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		problems = append(problems,
			fmt.Errorf("%s is %q; only http/protobuf is spoken here, on the collector's port 4318", variable, protocol))
	}
	endpoint, variable := exporter("ENDPOINT")
	if collector, err := url.Parse(endpoint); err != nil || collector.Scheme != "http" && collector.Scheme != "https" || collector.Host == "" {
		problems = append(problems, errors.New(variable+" is no address of a collector; write http://host:4318"))
	}
	headers, variable := exporter("HEADERS")
	for pair := range strings.SplitSeq(headers, ",") {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok && name != "" || ok && !headerName.MatchString(name) || err != nil || strings.ContainsFunc(value, unicode.IsControl) {
			problems = append(problems, errors.New(variable+" cannot be read; write name=value,name=value"))
			break
		}
	}
	return errors.Join(problems...)
}

// queueSize returns how many spans may wait. It ignores a number that cannot be read, as the
// specification says.
func queueSize(v map[string]string) int {
	if n, err := strconv.ParseInt(v["OTEL_BSP_MAX_QUEUE_SIZE"], 10, 32); err == nil && n > 0 {
		return int(n)
	}
	return standardQueue
}

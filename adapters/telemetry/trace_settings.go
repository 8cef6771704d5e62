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

// standardQueue is how many spans may wait where no variable says otherwise, by the
// specification of OpenTelemetry.
const standardQueue = 2048

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

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// check finds what the exporter takes for not set: then it would send in its own protocol, or to
// this machine, or write a header that it cannot read, which may be a secret, to the log. It
// reads the other variables itself and tells of what is wrong with them.
func check(v map[string]string) error {
	exporter := func(name string) (value, variable string) { // the one for traces wins
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

// queueSize is how many spans may wait; a number that cannot be read is ignored, as the
// specification says.
func queueSize(v map[string]string) int {
	if n, err := strconv.ParseInt(v["OTEL_BSP_MAX_QUEUE_SIZE"], 10, 32); err == nil && n > 0 {
		return int(n)
	}
	return standardQueue
}

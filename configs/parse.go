package configs

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// assign reads a value into its field. The error is Problems.
func (c *Config) assign(name string, value any, source string) error {
	f, ok := fieldNamed(name)
	if !ok {
		panic("there is no setting " + name)
	}
	parsed, err := f.parse(value)
	if err != nil {
		return Problems{f.problem(value, source, err)}
	}
	reflect.ValueOf(c).Elem().Field(f.index).Set(reflect.ValueOf(parsed).Convert(f.kind))
	if source != sourceDefault {
		c.sources[name] = source
	}
	return nil
}

// problem describes a bad value, with the setting's name as its source writes it.
func (f field) problem(value any, source string, cause error) Problem {
	called := f.env()
	if !f.inEnvironment() {
		called = f.name
	}
	shown := " "
	if s, ok := value.(string); ok && f.secret == "" && s != "" {
		shown = " is " + Quoted(s) + " and "
	}
	var bad *badValue
	if !errors.As(cause, &bad) {
		bad = &badValue{what: "cannot be used", fix: cause.Error()}
	}
	return Problem{What: called + shown + bad.what, SetIn: source, Fix: bad.fix}
}

// badValue describes what is wrong with a value, without repeating it.
type badValue struct{ what, fix string }

func (b *badValue) Error() string { return b.what + ": " + b.fix }

func bad(what, fix string) error { return &badValue{what: what, fix: fix} }

// parse reads a value by the type of its field and applies the field's rule.
func (f field) parse(value any) (any, error) {
	if f.kind == reflect.TypeFor[Tariff]() {
		return parseTariff(value)
	}
	s, ok := value.(string)
	if !ok {
		return nil, bad("is a table", "give it one value")
	}
	s = strings.TrimSpace(s)
	if s == "" && f.standard != "" && !f.mayEmpty {
		return nil, bad("is empty", "such as "+f.standard)
	}
	if s != "" && f.check != "" {
		if err := checks[f.check](s); err != nil {
			return nil, err
		}
	}
	switch f.kind {
	case reflect.TypeFor[int]():
		return f.parseInt(s)
	case reflect.TypeFor[time.Duration]():
		return f.parseDuration(s)
	case reflect.TypeFor[Rate]():
		rate, err := ParseRate(s)
		if err != nil {
			return nil, bad("is no rate", err.Error())
		}
		return rate, nil
	case reflect.TypeFor[Waits]():
		waits, err := ParseWaits(s)
		if err != nil {
			return nil, bad("is no list of waits", err.Error())
		}
		return waits, nil
	case reflect.TypeFor[StaffRoles]():
		roles, err := ParseStaffRoles(s)
		if err != nil {
			return nil, bad("is no list of roles", err.Error())
		}
		return roles, nil
	case reflect.TypeFor[bool]():
		return parseBool(s)
	case reflect.TypeFor[slog.Level]():
		return parseLevel(s)
	case reflect.TypeFor[[]netip.Prefix]():
		return parsePrefixes(s)
	case reflect.TypeFor[[]string]():
		return parseNames(s), nil
	case reflect.TypeFor[[]Secret]():
		return parseSecrets(s)
	case reflect.TypeFor[[]URL]():
		return parseReplicas(s)
	}
	return s, nil
}

func (f field) parseInt(s string) (int, error) {
	least, _ := strconv.Atoi(f.min)
	most, _ := strconv.Atoi(f.max)
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, bad("is not within "+f.min+" to "+f.max, fmt.Sprintf("a whole number, such as %s", f.standard))
	}
	return n, nil
}

func (f field) parseDuration(s string) (time.Duration, error) {
	least, _ := time.ParseDuration(f.min)
	most, _ := time.ParseDuration(f.max)
	d, err := time.ParseDuration(s)
	if err != nil || d < least || d > most {
		return 0, bad("is not within "+f.min+" to "+f.max, "a number and a unit, such as "+f.standard)
	}
	return d, nil
}

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, bad("is neither true nor false", "true or false")
}

func parseLevel(s string) (slog.Level, error) {
	switch strings.ToLower(s) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, bad("is no level", "debug, info, warn or error")
}

func parseSecrets(s string) ([]Secret, error) {
	var all []Secret
	if s == "" {
		return all, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if checkSecret(part) != nil {
			return nil, bad("holds one that is too short", "comma-separated secrets, each of at least 32 characters")
		}
		all = append(all, Secret(part))
	}
	return all, nil
}

// parseReplicas reads the URLs of Postgres servers.
func parseReplicas(s string) (all []URL, err error) {
	const fix = "comma-separated postgres://user:password@host:5432/name, one server each" //nolint:gosec // an example
	for _, part := range parseNames(s) {
		if scheme, rest, _ := strings.Cut(part, "://"); rest == "" || scheme != "postgres" && scheme != "postgresql" {
			return nil, bad("holds what is no address of a Postgres", fix)
		}
		if err := checkCredentials(part); err != nil {
			return nil, err
		}
		all = append(all, URL(part))
	}
	return all, nil
}

func parseNames(s string) []string {
	if s == "" {
		return nil
	}
	all := strings.Split(s, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

func parsePrefixes(s string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	if s == "" {
		return all, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		prefix, err := netip.ParsePrefix(part)
		if address, addressErr := netip.ParseAddr(part); err != nil && addressErr == nil {
			prefix, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return nil, bad("holds "+quotedPart(s, part)+", which is no network",
				"comma-separated networks, such as 10.0.0.0/8,192.168.1.7")
		}
		if tooWide(prefix) {
			return nil, bad("holds "+part+", which trusts nearly every address there is: any client could then call itself as it likes",
				"the networks of your own proxies, such as 10.0.0.0/8,192.168.1.7")
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

// tooWide reports whether a network is wider than 10.0.0.0/8, or than fc00::/7, all private
// addresses of IPv6. Proxies have no wider ones.
func tooWide(p netip.Prefix) bool {
	if p.Addr().Is4In6() {
		return p.Bits() < 96+8
	}
	if p.Addr().Is4() {
		return p.Bits() < 8
	}
	return p.Bits() < 7
}

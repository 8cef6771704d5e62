package web

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/domain"
)

// Query holds the query parameters of a request. Reading a parameter records its errors, so
// that one response lists them all.
type Query struct {
	values url.Values
	noted  *[]domain.FieldError
}

// ParseQuery parses a query. It refuses unknown, repeated and empty parameters.
func ParseQuery(raw string, known []string) (Query, error) {
	q := Query{noted: &[]domain.FieldError{}}
	if raw == "" {
		return q, nil
	}
	var err error
	if q.values, err = url.ParseQuery(withSemicolons(raw)); err != nil {
		return q, malformed("The query string cannot be read: it has a % that is no escape.", nil)
	}
	names := make([]string, 0, len(q.values))
	for name := range q.values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return q, unknownParameter(name, known)
		}
	}
	for _, name := range names {
		switch sent := q.values[name]; {
		case len(sent) > 1:
			q.Reject(name, domain.FieldInvalidFormat, "the parameter was sent "+strconv.Itoa(len(sent))+" times; send it once")
		case sent[0] == "":
			q.Reject(name, domain.FieldTooShort, "the parameter is empty; leave it out instead")
		case !utf8.ValidString(sent[0]) || strings.ContainsRune(sent[0], 0):
			q.Reject(name, domain.FieldInvalidFormat, "the parameter is not valid UTF-8 text; encode it as UTF-8, then with %")
		default:
			continue
		}
		q.values.Del(name) // reported already
	}
	return q, nil
}

// withSemicolons escapes the semicolons of a query. Package net/url refuses them, because some
// servers take one for a separator; to us it is an ordinary character.
func withSemicolons(raw string) string { return strings.ReplaceAll(raw, ";", "%3B") }

func unknownParameter(name string, known []string) error {
	takes := "This call takes none."
	if len(known) > 0 {
		takes = "This call takes " + strings.Join(known, ", ") + "."
	}
	if name == "" { // the form ?=5 has no name
		return malformed("A query parameter has no name. "+takes, nil)
	}
	shown := Shown(name)
	return malformed("Unknown query parameter "+strings.TrimSuffix(shown, ".")+". "+takes, map[string]any{"field": shown})
}

// Get returns the parameter as it was sent. It returns "" when it was not sent or is invalid.
func (q Query) Get(name string) string { return q.values.Get(name) }

// Has reports whether the parameter was sent and is valid.
func (q Query) Has(name string) bool { return q.values.Has(name) }

// Filters returns all parameters that decide which records a list has and in which order, for
// the binding of its cursors. The limit may change between pages.
func (q Query) Filters() string {
	filters := url.Values{}
	for name, sent := range q.values {
		if name != "cursor" && name != "limit" {
			filters[name] = sent
		}
	}
	return filters.Encode()
}

// Reject records an error of a parameter.
func (q Query) Reject(name, code, message string) {
	*q.noted = append(*q.noted, domain.FieldError{Field: name, Code: code, Message: message})
}

// Err returns the 422 that lists every error, or nil.
func (q Query) Err() error {
	if len(*q.noted) == 0 {
		return nil
	}
	return domain.Invalid(*q.noted...)
}

// Text returns a parameter of at most most characters, or "" when it was not sent.
func (q Query) Text(name string, most int) string {
	value := strings.TrimSpace(q.Get(name))
	switch {
	case q.Has(name) && value == "":
		q.Reject(name, domain.FieldTooShort, "the parameter is blank; leave it out instead")
	case utf8.RuneCountInString(value) > most: // it may be personal, so the message does not repeat it
		q.Reject(name, domain.FieldTooLong, fmt.Sprintf("the parameter has %d characters; it may have %d", utf8.RuneCountInString(value), most))
	default:
		return value
	}
	return ""
}

// OneOf returns one of the allowed values, or "" when it was not sent.
func (q Query) OneOf(name string, allowed ...string) string {
	value := q.Get(name)
	if value != "" && !slices.Contains(allowed, value) {
		q.Reject(name, domain.FieldNotAllowed, "must be one of "+strings.Join(allowed, ", ")+ItIs(value))
		return ""
	}
	return value
}

// ID returns the ID of a record. It does not check whether the record exists, and whose it is.
func (q Query) ID(name string, prefix domain.Prefix) domain.ID {
	if !q.Has(name) {
		return ""
	}
	id, err := domain.ParseID(prefix, q.Get(name))
	if err != nil {
		q.Reject(name, domain.FieldInvalidFormat, "must be an ID: "+string(prefix)+" and 32 lowercase hex characters"+ItIs(q.Get(name)))
	}
	return id
}

// Limit returns how many records a page has.
func (q Query) Limit() int {
	if !q.Has("limit") {
		return domain.DefaultPage
	}
	sent := q.Get("limit")
	n, err := strconv.Atoi(sent)
	switch {
	case err != nil || strings.Trim(sent, "0123456789") != "":
		q.Reject("limit", domain.FieldInvalidType, fmt.Sprintf("must be a whole number from 1 to %d", domain.MaxPage)+ItIs(sent))
	case n < 1 || n > domain.MaxPage:
		q.Reject("limit", domain.FieldOutOfRange, fmt.Sprintf("must be from 1 to %d", domain.MaxPage)+ItIs(sent))
	default:
		return n
	}
	return domain.DefaultPage
}

// rfc3339 is stricter than time.Parse, which accepts 1:00:00 and 01:00:00,5.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// Time returns an RFC 3339 time. Records are stored in whole milliseconds, so a finer bound is
// rounded up: that changes no comparison.
func (q Query) Time(name string) *time.Time {
	if !q.Has(name) {
		return nil
	}
	// An unencoded + arrives as a space.
	t, ok := ParseTime(strings.Replace(q.Get(name), " ", "+", 1))
	if !ok {
		q.Reject(name, domain.FieldInvalidFormat, WantedTime+ItIs(q.Get(name)))
		return nil
	}
	return &t
}

// WantedTime says what ParseTime reads.
const WantedTime = "must be an RFC 3339 time such as 2026-11-21T10:00:00Z"

// ParseTime reads an RFC 3339 time as a bound in whole milliseconds.
func ParseTime(sent string) (time.Time, bool) {
	sent = strings.ToUpper(sent)
	t, err := time.Parse(time.RFC3339Nano, sent)
	if err != nil || !rfc3339.MatchString(sent) {
		return time.Time{}, false
	}
	up := domain.Millis(t.Add(time.Millisecond - 1))
	if up.Before(earliest) {
		up = earliest
	} else if up.After(latest) {
		up = latest
	}
	return up, true
}

// Duration returns a duration such as 10m or 2d, or zero when it was not sent.
func (q Query) Duration(name string) time.Duration {
	if !q.Has(name) {
		return 0
	}
	d, err := domain.ParseLifetime(q.Get(name))
	if err != nil {
		q.Reject(name, domain.FieldInvalidFormat, "must be a number and a unit, such as 90s, 10m, 2h or 3d"+ItIs(q.Get(name)))
	}
	return d
}

// No record is outside these times. Databases differ on what lies beyond.
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

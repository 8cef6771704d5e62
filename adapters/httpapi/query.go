package httpapi

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/adapters/web/strictjson"
	"waybill/domain"
)

const defaultLimit = 25

// query is the parameters of a request. Reading one notes what is wrong with
// it, so that all problems are told at once.
type query struct {
	values url.Values
	noted  *[]domain.FieldError
}

// parseQuery refuses parameters the operation does not take, and repeated
// and empty ones.
func parseQuery(raw string, known []string) (query, error) {
	q := query{noted: &[]domain.FieldError{}}
	var err error
	if q.values, err = url.ParseQuery(raw); err != nil {
		return q, &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeInvalidRequest,
			Message: "The query string cannot be read: " + queryFault(err) + "."}
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
			q.reject(name, domain.FieldInvalidFormat, "the parameter was sent "+strconv.Itoa(len(sent))+" times; send it once")
		case sent[0] == "":
			q.reject(name, domain.FieldTooShort, "the parameter is empty; leave it out instead")
		case !utf8.ValidString(sent[0]) || strings.ContainsRune(sent[0], 0):
			q.reject(name, domain.FieldInvalidFormat, "the parameter is not valid UTF-8 text; encode it as UTF-8, then with %")
		default:
			continue
		}
		q.values.Del(name) // told already
	}
	return q, nil
}

func queryFault(err error) string {
	if strings.Contains(err.Error(), "semicolon") {
		return "it has a semicolon; separate parameters with &"
	}
	return "it has a % that is no escape"
}

func unknownParameter(name string, known []string) error {
	takes := "This call takes none."
	if len(known) > 0 {
		takes = "This call takes " + strings.Join(known, ", ") + "."
	}
	e := &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeInvalidRequest,
		Message: "A query parameter has no name. " + takes}
	if name != "" { // ?=5 has none
		shown := shown(name)
		e.Message = "Unknown query parameter " + strings.TrimSuffix(shown, ".") + ". " + takes
		e.Details = map[string]any{"field": shown}
	}
	return e
}

// shown is a text of the caller as it may be repeated to people: short and
// printable, and no API key that ended up in the wrong place.
func shown(text string) string {
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		if strings.Contains(text, domain.KeyPrefix(e)) {
			return domain.KeyPrefix(e) + "..."
		}
	}
	return strictjson.Shown(text)
}

// itIs ends a message with the value that it is about.
func itIs(sent string) string { return `; it is "` + shown(sent) + `"` }

func (q query) reject(name, code, message string) {
	*q.noted = append(*q.noted, domain.FieldError{Field: name, Code: code, Message: message})
}

// err is the 422 that lists every problem, or nil.
func (q query) err() error {
	if len(*q.noted) == 0 {
		return nil
	}
	return domain.Invalid(*q.noted...)
}

// text is a parameter of at most most characters; empty: not sent.
func (q query) text(name string, most int) string {
	value := strings.TrimSpace(q.values.Get(name))
	switch {
	case q.values.Has(name) && value == "":
		q.reject(name, domain.FieldTooShort, "the parameter is blank; leave it out instead")
	case utf8.RuneCountInString(value) > most: // whose it is, a name say, is not repeated
		q.reject(name, domain.FieldTooLong, fmt.Sprintf("the parameter has %d characters; it may have %d", utf8.RuneCountInString(value), most))
	default:
		return value
	}
	return ""
}

func (q query) oneOf(name string, allowed ...string) string {
	value := q.values.Get(name)
	if value != "" && !slices.Contains(allowed, value) {
		q.reject(name, domain.FieldNotAllowed, "must be one of "+strings.Join(allowed, ", ")+itIs(value))
		return ""
	}
	return value
}

// id is the ID of a record; whether there is one, and whose, is not looked at.
func (q query) id(name string, prefix domain.Prefix) domain.ID {
	if !q.values.Has(name) {
		return ""
	}
	id, err := domain.ParseID(prefix, q.values.Get(name))
	if err != nil {
		q.reject(name, domain.FieldInvalidFormat, "must be an ID: "+string(prefix)+" and 32 lowercase hex characters"+itIs(q.values.Get(name)))
	}
	return id
}

func (q query) limit() int {
	if !q.values.Has("limit") {
		return defaultLimit
	}
	sent := q.values.Get("limit")
	n, err := strconv.Atoi(sent)
	switch {
	case err != nil || strings.Trim(sent, "0123456789") != "":
		q.reject("limit", domain.FieldInvalidType, "must be a whole number from 1 to 100"+itIs(sent))
	case n < 1 || n > 100:
		q.reject("limit", domain.FieldOutOfRange, "must be from 1 to 100"+itIs(sent))
	default:
		return n
	}
	return defaultLimit
}

// rfc3339 is what time.Parse is lenient about: 1:00:00 and 01:00:00,5.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// time is an RFC 3339 time. Records are kept in whole milliseconds, so a
// finer bound is moved up to the next one: that changes no comparison.
func (q query) time(name string) *time.Time {
	if !q.values.Has(name) {
		return nil
	}
	// A + that came unencoded reads as a space.
	t, ok := parseTime(strings.Replace(q.values.Get(name), " ", "+", 1))
	if !ok {
		q.reject(name, domain.FieldInvalidFormat, wantedTime+itIs(q.values.Get(name)))
		return nil
	}
	return &t
}

const wantedTime = "must be an RFC 3339 time such as 2026-11-21T10:00:00Z"

// parseTime reads an RFC 3339 time as a bound in whole milliseconds.
func parseTime(sent string) (time.Time, bool) {
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

// No record is older or younger; databases differ on what lies beyond.
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

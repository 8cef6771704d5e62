package opsapi

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

const (
	defaultLimit = 25
	maxLimit     = 100
)

// query is the parameters of a request. Reading one notes what is wrong with
// it, so that all problems are told at once.
type query struct {
	values url.Values
	noted  *[]domain.FieldError
}

// parseQuery refuses parameters the operation does not take; repeated and empty
// ones it notes.
func parseQuery(raw string, known []string) (query, error) {
	q := query{noted: &[]domain.FieldError{}}
	malformed := func(message string, details map[string]any) (query, error) {
		return q, &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeInvalidRequest, Message: message, Details: details}
	}
	var err error
	if q.values, err = url.ParseQuery(raw); err != nil {
		return malformed("The query string cannot be read: it has a semicolon, or a % that is no escape.", nil)
	}
	names := make([]string, 0, len(q.values))
	for name := range q.values {
		names = append(names, name)
	}
	slices.Sort(names)
	takes := "This call takes none."
	if len(known) > 0 {
		takes = "This call takes " + strings.Join(known, ", ") + "."
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return malformed("Unknown query parameter "+strconv.Quote(shown(name))+". "+takes, map[string]any{"field": shown(name)})
		}
	}
	for _, name := range names {
		switch sent := q.values[name]; {
		case len(sent) > 1:
			q.reject(name, domain.FieldInvalidFormat, "the parameter was sent "+strconv.Itoa(len(sent))+" times; send it once")
		case strings.TrimSpace(sent[0]) == "":
			q.reject(name, domain.FieldTooShort, "the parameter is empty; leave it out instead")
		case !utf8.ValidString(sent[0]) || strings.ContainsRune(sent[0], 0):
			q.reject(name, domain.FieldInvalidFormat, "the parameter is not valid UTF-8 text")
		default:
			continue
		}
		q.values.Del(name) // told already
	}
	return q, nil
}

// shown is a text of the caller as it may be repeated: short, printable, and no
// secret that ended up in the wrong place.
func shown(text string) string {
	for _, prefix := range []string{domain.KeyPrefix(domain.Live), domain.KeyPrefix(domain.Sandbox), domain.OperatorTokenPrefix} {
		if strings.Contains(text, prefix) {
			return prefix + "..."
		}
	}
	return strictjson.Shown(text)
}

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
	if n := utf8.RuneCountInString(value); n > most {
		q.reject(name, domain.FieldTooLong, fmt.Sprintf("the parameter has %d characters; it may have %d", n, most))
		return ""
	}
	return value
}

func (q query) oneOf(name string, allowed ...string) string {
	value := q.values.Get(name)
	if value != "" && !slices.Contains(allowed, value) {
		q.reject(name, domain.FieldNotAllowed, "must be one of "+strings.Join(allowed, ", ")+`; it is "`+shown(value)+`"`)
		return ""
	}
	return value
}

// id is the ID of a record; whether there is one is not looked at.
func (q query) id(name string, prefix domain.Prefix) domain.ID {
	if !q.values.Has(name) {
		return ""
	}
	id, err := domain.ParseID(prefix, q.values.Get(name))
	if err != nil {
		q.reject(name, domain.FieldInvalidFormat, "must be an ID: "+string(prefix)+" and 32 lowercase hex characters")
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
		q.reject("limit", domain.FieldInvalidType, "must be a whole number from 1 to 100")
	case n < 1 || n > maxLimit:
		q.reject("limit", domain.FieldOutOfRange, "must be from 1 to 100")
	default:
		return n
	}
	return defaultLimit
}

// rfc3339 is what time.Parse is lenient about: 1:00:00 and 01:00:00,5.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// time is an RFC 3339 time.
func (q query) time(name string) *time.Time {
	if !q.values.Has(name) {
		return nil
	}
	// A + that came unencoded reads as a space.
	sent := strings.ToUpper(strings.Replace(q.values.Get(name), " ", "+", 1))
	t, err := time.Parse(time.RFC3339Nano, sent)
	if err != nil || !rfc3339.MatchString(sent) {
		q.reject(name, domain.FieldInvalidFormat, "must be an RFC 3339 time such as 2026-11-21T10:00:00Z")
		return nil
	}
	return &t
}

// duration is a length of time, such as 10m or 2d; zero: not sent.
func (q query) duration(name string) time.Duration {
	if !q.values.Has(name) {
		return 0
	}
	d, err := domain.ParseLifetime(q.values.Get(name))
	if err != nil {
		q.reject(name, domain.FieldInvalidFormat, "must be a number and a unit, such as 90s, 10m, 2h or 3d")
	}
	return d
}

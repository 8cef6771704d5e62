package web

import (
	"maps"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waybill/domain"
)

// JSONType holds the Content-Type of JSON responses.
const JSONType = "application/json; charset=utf-8"

type success struct {
	Success    bool   `json:"success"`
	StatusCode int    `json:"statusCode"`
	Message    string `json:"message"`
	Data       any    `json:"data,omitzero"`
	Meta       *Meta  `json:"meta,omitempty"`
}

// Meta describes a page of a list.
type Meta struct {
	Limit      int     `json:"limit"`
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"`
	// ResumeCursor holds the position from which a feed goes on, also where there is no next page yet.
	ResumeCursor *string `json:"resume_cursor,omitempty"`
	// CreatedAfter holds the start of the search period, when the search sets one itself.
	CreatedAfter *string `json:"created_after,omitempty"`
}

type failure struct {
	Success    bool        `json:"success"`
	StatusCode int         `json:"statusCode"`
	Message    string      `json:"message"`
	Error      failureBody `json:"error"`
}

type failureBody struct {
	Code    string         `json:"code"`
	Details map[string]any `json:"details,omitempty"`
}

// Render returns a view as JSON. It is deterministic: replays and ETags compare bytes. Raw
// values, such as published events, stay unchanged.
func Render(v any) []byte {
	body, err := json.Marshal(v, json.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		panic(err) // all values were validated as input
	}
	return body
}

// Success returns the envelope of data. nil shows none. Pass the address of a large value: a
// value in an interface is copied again for rendering.
func Success(status int, message string, data any) []byte {
	return Render(success{true, status, message, data, nil})
}

// List returns the envelope of a page of records.
func List(status int, message string, data any, m Meta) []byte {
	return Render(success{true, status, message, data, &m})
}

// Failure returns the envelope of an error. Its details link to docURL, the page about the
// code, if there is one. An error without details needs no link.
func Failure(status int, e *domain.Error, docURL string) []byte {
	details := maps.Clone(e.Details) // copy: the error may be shared
	if len(e.Fields) > 0 {
		fields := Each(e.Fields, func(f domain.FieldError) map[string]any {
			return map[string]any{"field": f.Field, "code": f.Code, "message": f.Message}
		})
		details = map[string]any{"fields": fields}
	}
	if len(details) > 0 && docURL != "" {
		details["doc_url"] = docURL
	}
	return Render(failure{false, status, e.Message, failureBody{e.Code, details}})
}

// Seconds returns the whole seconds of a header, rounded up, so that a client that waits that
// long has waited long enough. It ignores less than a microsecond, which passes before the
// response arrives.
func Seconds(d time.Duration, least int) string {
	return strconv.Itoa(max(least, int((d-time.Microsecond+time.Second-1)/time.Second)))
}

// Each converts all records of a list. No records give [].
func Each[T, V any](records []T, view func(T) V) []V {
	out := make([]V, 0, len(records))
	for _, r := range records {
		out = append(out, view(r))
	}
	return out
}

// Texts returns the values of an enumeration as strings.
func Texts[T ~string](values []T) []string {
	return Each(values, func(v T) string { return string(v) })
}

package web

import (
	"maps"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waybill/domain"
)

// JSONType is the Content-Type of answers.
const JSONType = "application/json; charset=utf-8"

type success struct {
	Success    bool   `json:"success"`
	StatusCode int    `json:"statusCode"`
	Message    string `json:"message"`
	Data       any    `json:"data,omitzero"`
	Meta       *Meta  `json:"meta,omitempty"`
}

// Meta tells where a page of a list stands.
type Meta struct {
	Limit      int     `json:"limit"`
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"`
	// CreatedAfter is since when records were looked for, where the search has a
	// bound of its own.
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

// Render is a view as JSON. It is deterministic: replays and ETags compare bytes.
// Raw values, such as published events, stay as they are.
func Render(v any) []byte {
	body, err := json.Marshal(v, json.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		panic(err) // all we show was checked when it came in
	}
	return body
}

// Success is the envelope of data; nil shows none. A large value goes by its
// address, as what an interface holds is copied once more to be rendered.
func Success(status int, message string, data any) []byte {
	return Render(success{true, status, message, data, nil})
}

// List is the envelope of a page of records.
func List(status int, message string, data any, m Meta) []byte {
	return Render(success{true, status, message, data, &m})
}

// Failure is the envelope of an error. Details lead on to docURL, the page about
// the code, where there is one; an error without them says all there is to say.
func Failure(status int, e *domain.Error, docURL string) []byte {
	details := maps.Clone(e.Details) // an error may be shared
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

// Seconds is a header's whole seconds, rounded up, so that a client that waits as
// told has waited long enough. Less than a microsecond has passed before the
// answer arrives.
func Seconds(d time.Duration, least int) string {
	return strconv.Itoa(max(least, int((d-time.Microsecond+time.Second-1)/time.Second)))
}

// Each shows all records of a list; none are [].
func Each[T, V any](records []T, view func(T) V) []V {
	out := make([]V, 0, len(records))
	for _, r := range records {
		out = append(out, view(r))
	}
	return out
}

// Texts are the values of an enumeration.
func Texts[T ~string](values []T) []string {
	return Each(values, func(v T) string { return string(v) })
}

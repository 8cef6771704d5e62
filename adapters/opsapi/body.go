package opsapi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"waybill/adapters/web/strictjson"
	"waybill/application/pickuplocations"
	"waybill/domain"
)

// maxBody is how large a body of JSON may be.
const maxBody = 64 << 10

func read(c *call, most int64) ([]byte, error) {
	tooLarge := &domain.Error{Kind: kindTooLarge, Code: "PAYLOAD_TOO_LARGE",
		Message: fmt.Sprintf("The body is larger than %d KiB, the most this call takes. Send less in one request.", most>>10)}
	if c.Request.ContentLength > most {
		return nil, tooLarge
	}
	raw, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, most))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case err != nil:
		return nil, &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeInvalidRequest,
			Message: "The body did not arrive whole. Send the request again.", Err: err}
	}
	return raw, nil
}

// readBody reads and checks the body against the names the shape declares. A
// nil shape means the call takes none: then nothing and {} are fine.
func readBody(c *call, shape strictjson.Shape) (*strictjson.Value, error) {
	if err := notEncoded(c.Request.Header); err != nil {
		return nil, err
	}
	raw, err := read(c, maxBody)
	if err != nil || len(raw) == 0 && shape == nil {
		return nil, err
	}
	if sent := c.Request.Header.Values("Content-Type"); len(sent) > 0 {
		if err := wantType(c.Request.Header, "application/json"); err != nil {
			return nil, err
		}
	}
	if shape == nil {
		shape = strictjson.Object{}
	}
	root, bad := strictjson.Parse(raw, shape)
	if bad == nil {
		return root, nil
	}
	details := map[string]any{"line": bad.Line, "column": bad.Column}
	if bad.Field != "" {
		details = map[string]any{"field": bad.Field}
	}
	if bad.Suggestion != "" {
		details["suggestion"] = bad.Suggestion
	}
	return nil, &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeInvalidRequest, Message: bad.Message, Details: details}
}

// readTable reads a table as it is; what is in it is judged later.
func readTable(c *call) ([]byte, error) {
	if err := notEncoded(c.Request.Header); err != nil {
		return nil, err
	}
	if err := wantType(c.Request.Header, "text/csv"); err != nil {
		return nil, err
	}
	return read(c, pickuplocations.MaxTableBytes)
}

func unsupported(message string) error {
	return &domain.Error{Kind: kindUnsupported, Code: "UNSUPPORTED_MEDIA_TYPE", Message: message}
}

// notEncoded refuses a body that is not what it stands for, with or without a
// Content-Type.
func notEncoded(h http.Header) error {
	for _, encoding := range h.Values("Content-Encoding") {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return unsupported("A Content-Encoding is not supported; send the body as it is.")
		}
	}
	return nil
}

func wantType(h http.Header, want string) error {
	sent := h.Values("Content-Type")
	if len(sent) == 1 {
		mediaType, params, err := mime.ParseMediaType(sent[0])
		if err == nil && mediaType == want && (params["charset"] == "" || strings.EqualFold(params["charset"], "utf-8")) {
			return nil
		}
	}
	return unsupported("Send Content-Type: " + want + ", once, in UTF-8.")
}

// problems turns what a form noted into the 422 that lists it all.
func problems(r *strictjson.Reader) error {
	var fields []domain.FieldError
	for _, p := range r.Problems() {
		fields = append(fields, domain.FieldError{Field: cmp.Or(p.Field, "body"), Code: string(p.Code), Message: p.Message})
	}
	if len(fields) > 0 {
		return domain.Invalid(fields...)
	}
	return nil
}

// given refuses a change that names none of its fields.
func given(r *strictjson.Reader, fields ...string) {
	for _, field := range fields {
		if r.Has(field) {
			return
		}
	}
	r.Reject("", strictjson.CodeRequired, "send at least one of "+strings.Join(fields, ", "))
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func each[T, V any](records []T, view func(T) V) []V {
	out := make([]V, 0, len(records))
	for _, r := range records {
		out = append(out, view(r))
	}
	return out
}

package web

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/web/server"
	"waybill/adapters/web/strictjson"
	"waybill/domain"
)

// MaxBody limits the bytes of the body of one record.
const MaxBody = 64 << 10

// Body says what body a request takes.
type Body struct {
	Shape      strictjson.Shape // nil: none, so an empty body, {} and [] are fine
	MayBeEmpty bool             // an empty body counts as {}
	Most       int64            // bytes
}

// Read reads the body and checks its names against the shape. It returns nil when there is no
// body.
func (b Body) Read(w http.ResponseWriter, r *http.Request) (*strictjson.Value, error) {
	if r.Body == http.NoBody && (b.Shape == nil || b.MayBeEmpty) {
		return nil, nil
	}
	raw, err := readAll(w, r, b.Most)
	if err != nil || len(raw) == 0 && (b.Shape == nil || b.MayBeEmpty) {
		return nil, err
	}
	if err := checkMediaType(r.Header); err != nil {
		return nil, err
	}
	shape := b.Shape
	if shape == nil {
		if isEmptyArray(raw) {
			return nil, nil
		}
		shape = strictjson.Object{}
	}
	root, bad := strictjson.Parse(raw, shape)
	switch {
	case bad == nil:
		return root, nil
	case bad.TooMany:
		return nil, domain.Invalid(domain.FieldError{Field: "body", Code: domain.FieldTooLong, Message: bad.Message})
	}
	details := map[string]any{"line": bad.Line, "column": bad.Column}
	if bad.Field != "" {
		details = map[string]any{"field": bad.Field}
	}
	if bad.Suggestion != "" {
		details["suggestion"] = bad.Suggestion
	}
	return nil, malformed(bad.Message, details)
}

// isEmptyArray reports whether a body is [], which PHP writes for an object without members.
func isEmptyArray(raw []byte) bool {
	const spaces = " \t\r\n" // of JSON
	inner, array := bytes.CutPrefix(bytes.Trim(raw, spaces), []byte("["))
	return array && bytes.Equal(bytes.Trim(inner, spaces), []byte("]"))
}

// ReadText reads a text body of the media type unchanged, such as a CSV table. Its charset may be
// one of those that pickupcsv.Text reads. The program judges it by the text: clients that send a
// file often declare UTF-8, whatever is in it.
func ReadText(w http.ResponseWriter, r *http.Request, mediaType string, most int64) ([]byte, error) {
	if err := checkEncoding(r.Header); err != nil {
		return nil, err
	}
	sent := r.Header.Values("Content-Type")
	if len(sent) != 1 || !isText(sent[0], mediaType) {
		return nil, unsupported("Send Content-Type: " + mediaType + ", once, in UTF-8, UTF-16 or windows-1252.")
	}
	return readAll(w, r, most)
}

func isText(sent, mediaType string) bool {
	got, params, err := mime.ParseMediaType(sent)
	return err == nil && got == mediaType && slices.Contains([]string{"", "utf-8", "utf-16", "windows-1252"}, strings.ToLower(params["charset"]))
}

// readAll reads the body, up to so many bytes.
func readAll(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(most)
	case errors.Is(err, server.ErrBodiesArriving):
		return nil, &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: time.Second, Err: err,
			Message: "Too many requests are sending their bodies at the moment, so this one was not read. Nothing was changed; " +
				"send the same request again in a few seconds."}
	case err != nil:
		e := malformed("The body did not arrive whole. Send the request again.", nil)
		e.Err = err
		return nil, e
	}
	return body, nil
}

// checkEncoding refuses a compressed or encoded body.
func checkEncoding(h http.Header) error {
	for _, encoding := range h.Values("Content-Encoding") {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return unsupported("Content-Encoding " + Shown(encoding) + " is not supported; leave it out and send the body as it is.")
		}
	}
	return nil
}

func checkMediaType(h http.Header) error {
	if err := checkEncoding(h); err != nil {
		return err
	}
	declared := h.Values("Content-Type")
	if len(declared) == 0 || len(declared) == 1 && declared[0] == "application/json" {
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(declared[0]) // JSON is UTF-8, whatever the parameters say
	switch {
	case mediaType == "application/x-www-form-urlencoded":
		return unsupported("Send Content-Type: application/json. The request has a form's type, which curl -d sends by itself.")
	case len(declared) > 1:
		return unsupported("Content-Type was sent " + strconv.Itoa(len(declared)) + " times. Send it once: application/json.")
	case err != nil, mediaType != "application/json":
		return unsupported("Send Content-Type: application/json" + ItIs(declared[0]) + ".")
	}
	return nil
}

// Problems returns the 422 that lists all errors that a form recorded.
func Problems(r *strictjson.Reader) error {
	if fields := FieldErrors(r, "body"); len(fields) > 0 {
		return domain.Invalid(fields...)
	}
	return nil
}

// FieldErrors returns the recorded errors. whole names what is read, for errors that belong to
// no single field.
func FieldErrors(r *strictjson.Reader, whole string) []domain.FieldError {
	var fields []domain.FieldError
	for _, p := range r.Problems() {
		fields = append(fields, domain.FieldError{Field: cmp.Or(p.Field, whole), Code: string(p.Code), Message: p.Message})
	}
	return fields
}

// NeedOne refuses a change that names no field.
func NeedOne(r *strictjson.Reader, fields ...string) {
	if !slices.ContainsFunc(fields, r.Has) {
		r.Reject("", strictjson.CodeRequired, "send at least one of "+strings.Join(fields, ", ")+"; null counts as not sent")
	}
}

package httpapi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"waybill/adapters/web/strictjson"
	"waybill/domain"
)

// How large a request body may be: that of one record, and that of many.
const (
	maxBody     = 64 << 10
	maxBulkBody = 1 << 20
)

// readBody reads and checks the body against the names the shape declares. A
// nil shape means the call takes none: then nothing and {} are fine, as they are
// where the body may be empty.
func readBody(c *call, shape strictjson.Shape, mayBeEmpty bool, maxBody int64) (*strictjson.Value, error) {
	if c.Request.ContentLength > maxBody {
		return nil, tooLarge(maxBody)
	}
	buffer := buffers.Get().(*bytes.Buffer)
	defer func() {
		buffer.Reset()
		buffers.Put(buffer)
	}()
	// What is parsed keeps none of it.
	raw, err := readAll(buffer, http.MaxBytesReader(c.Writer, c.Request.Body, maxBody), c.Request.ContentLength)
	if err != nil {
		var over *http.MaxBytesError
		if errors.As(err, &over) {
			return nil, tooLarge(maxBody)
		}
		return nil, &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeInvalidRequest,
			Message: "The body did not arrive whole. Send the request again.", Err: err}
	}
	if len(raw) == 0 && (shape == nil || mayBeEmpty) {
		return nil, nil
	}
	if err := checkMediaType(c.Request.Header); err != nil {
		return nil, err
	}
	if shape == nil {
		shape = strictjson.Object{}
	}
	root, bad := strictjson.Parse(raw, shape)
	switch {
	case bad == nil:
		return root, nil
	case bad.TooMany:
		return nil, domain.Invalid(domain.FieldError{Field: "body", Code: domain.FieldTooLong, Message: bad.Message})
	}
	return nil, malformed(bad)
}

// buffers saves what bodies are read into for the next ones.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readAll reads what is announced to be so long, which is below 0 where it is not.
func readAll(into *bytes.Buffer, from io.Reader, announced int64) ([]byte, error) {
	if announced > 0 {
		// What comes is not known yet to be as much. It looks for the end behind it.
		into.Grow(int(min(announced, 8<<10)) + bytes.MinRead)
	}
	_, err := into.ReadFrom(from)
	return into.Bytes(), err
}

func checkMediaType(h http.Header) error {
	for _, encoding := range h.Values("Content-Encoding") {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return unsupported("Content-Encoding " + shown(encoding) + " is not supported; leave it out and send the JSON as it is.")
		}
	}
	declared := h.Values("Content-Type")
	if len(declared) == 0 || len(declared) == 1 && declared[0] == "application/json" {
		return nil
	}
	mediaType, params, err := mime.ParseMediaType(declared[0])
	charset := params["charset"]
	switch {
	case mediaType == "application/x-www-form-urlencoded":
		return unsupported("Send Content-Type: application/json. The request has a form's type, which curl -d sends by itself.")
	case len(declared) > 1:
		return unsupported("Content-Type was sent " + strconv.Itoa(len(declared)) + " times. Send it once: application/json.")
	case err != nil, mediaType != "application/json":
		return unsupported("Send Content-Type: application/json" + itIs(declared[0]) + ".")
	case charset != "" && !strings.EqualFold(charset, "utf-8"):
		return unsupported("JSON is UTF-8; send Content-Type: application/json without charset " + shown(charset) + ".")
	}
	return nil
}

func tooLarge(maxBody int64) error {
	most := fmt.Sprintf("%d KiB", maxBody>>10)
	if maxBody >= 1<<20 {
		most = fmt.Sprintf("%d MiB", maxBody>>20)
	}
	return &domain.Error{Kind: kindTooLarge, Code: codePayloadTooLarge,
		Message: "The body is larger than " + most + ", the most this call takes. Send less in one request."}
}

func unsupported(message string) error {
	return &domain.Error{Kind: kindUnsupported, Code: codeUnsupportedMediaType, Message: message}
}

func malformed(bad *strictjson.SyntaxError) error {
	details := map[string]any{"line": bad.Line, "column": bad.Column}
	if bad.Field != "" {
		details = map[string]any{"field": bad.Field}
	}
	if bad.Suggestion != "" {
		details["suggestion"] = bad.Suggestion
	}
	return &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeInvalidRequest, Message: bad.Message, Details: details}
}

// problems turns what a form noted into the 422 that lists it all.
func problems(r *strictjson.Reader) error {
	if fields := fieldErrors(r, "body"); len(fields) > 0 {
		return domain.Invalid(fields...)
	}
	return nil
}

// fieldErrors are the problems noted; whole names what is read, for those that
// no single field is to blame for.
func fieldErrors(r *strictjson.Reader, whole string) []domain.FieldError {
	var fields []domain.FieldError
	for _, p := range r.Problems() {
		fields = append(fields, domain.FieldError{Field: cmp.Or(p.Field, whole), Code: string(p.Code), Message: p.Message})
	}
	return fields
}

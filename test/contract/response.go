package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"waybill/domain"
)

// response is one documented answer, ready to check real ones.
type response struct {
	headers []header
	bodies  map[string]*jsonschema.Schema // by media type; empty: no body at all
}

type header struct {
	name     string
	required bool
	with     []string // error codes that make it required
	kind     string   // JSON type its text stands for
	schema   *jsonschema.Schema
}

// sandboxOnly marks an operation of the document that the live host has not.
const sandboxOnly = "x-waybill-sandbox-only"

func (c *compiler) operation(op *openapi3.Operation, at string) (operation, error) {
	statuses := map[int]*response{}
	for text, ref := range op.Responses.Map() {
		status, err := strconv.Atoi(text)
		if err != nil {
			return operation{}, fmt.Errorf("%s: response %q: name each status, so that no other passes", op.OperationID, text)
		}
		if statuses[status], err = c.response(ref, at+text); err != nil {
			return operation{}, err
		}
	}
	only, _ := op.Extensions[sandboxOnly].(bool)
	return operation{answers: statuses, sandboxOnly: only}, nil
}

func (c *compiler) response(ref *openapi3.ResponseRef, at string) (*response, error) {
	if ref.Ref != "" {
		at = ref.Ref
	}
	if r := c.done[at]; r != nil {
		return r, nil
	}
	r := &response{bodies: map[string]*jsonschema.Schema{}}
	for name, h := range ref.Value.Headers {
		built, err := c.header(name, h, at)
		if err != nil {
			return nil, err
		}
		r.headers = append(r.headers, built)
	}
	slices.SortFunc(r.headers, func(a, b header) int { return strings.Compare(a.name, b.name) })
	for mediaType := range ref.Value.Content {
		schema, err := c.compile(at + "/content/" + escape(mediaType) + "/schema")
		if err != nil {
			return nil, err
		}
		r.bodies[mediaType] = schema
	}
	c.done[at] = r
	return r, nil
}

// requiredWith names, in a header of the document, the error codes it is
// required with where it is not always.
const requiredWith = "x-waybill-required-with"

func (c *compiler) header(name string, ref *openapi3.HeaderRef, at string) (header, error) {
	at += "/headers/" + escape(name)
	if ref.Ref != "" {
		at = ref.Ref
	}
	schema, err := c.compile(at + "/schema")
	if err != nil {
		return header{}, err
	}
	h := header{name: name, required: ref.Value.Required, kind: "string", schema: schema}
	if types := ref.Value.Schema.Value.Type.Slice(); len(types) == 1 {
		h.kind = types[0]
	}
	codes, _ := ref.Value.Extensions[requiredWith].([]any)
	for _, code := range codes {
		h.with = append(h.with, fmt.Sprint(code))
	}
	return h, nil
}

func (r *response) checkHeaders(got http.Header, body []byte) error {
	var problems []error
	for _, h := range r.headers {
		problems = append(problems, h.check(got.Values(h.name), body))
	}
	return errors.Join(problems...)
}

func (h header) check(values []string, body []byte) error {
	switch {
	case len(values) > 1:
		return fmt.Errorf("header %s is there %d times", h.name, len(values))
	case len(values) == 1:
		if err := h.schema.Validate(decode(h.kind, values[0])); err != nil {
			return fmt.Errorf("header %s: %q: %w", h.name, values[0], err)
		}
	case h.required:
		return fmt.Errorf("header %s is missing", h.name)
	case slices.Contains(h.with, parseBody(body).Error.Code):
		return fmt.Errorf("header %s is missing, which %s needs", h.name, parseBody(body).Error.Code)
	}
	return nil
}

// decode reads header text as the JSON value it stands for; text that does
// not fit stays a string, which the schema then refuses.
func decode(kind, text string) any {
	switch kind {
	case "integer":
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return json.Number(text)
		}
	case "boolean":
		if b, err := strconv.ParseBool(text); err == nil && strconv.FormatBool(b) == text {
			return b
		}
	}
	return text
}

func (r *response) checkBody(contentType string, body []byte) error {
	if len(r.bodies) == 0 {
		if len(body) > 0 {
			return fmt.Errorf("a body where none is documented: %s", excerpt(body))
		}
		return nil
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("Content-Type %q: %w", contentType, err)
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return fmt.Errorf("Content-Type %q: the charset must be utf-8", contentType)
	}
	schema := r.bodies[mediaType]
	if schema == nil {
		return fmt.Errorf("Content-Type %q is not documented", contentType)
	}
	var value any = string(body)
	if mediaType == "application/json" {
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(body)); err != nil {
			return fmt.Errorf("the body is not JSON: %w: %s", err, excerpt(body))
		}
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%w\nbody: %s", err, excerpt(body))
	}
	return nil
}

func excerpt(body []byte) string {
	const most = 2000
	if len(body) > most {
		return string(body[:most]) + "..."
	}
	return string(body)
}

var requestID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

func checkRequestID(req *http.Request, res *http.Response) error {
	sent := req.Header.Values("X-Request-ID")
	if len(sent) != 1 || !requestID.MatchString(sent[0]) || domain.HoldsSecret(sent[0]) {
		return nil
	}
	if got := res.Header.Get("X-Request-ID"); got != sent[0] {
		return fmt.Errorf("X-Request-ID %q came back as %q", sent[0], got)
	}
	return nil
}

// checkCaching holds what the document says once for all answers.
func checkCaching(res *http.Response) error {
	if got := res.Header.Values("X-Content-Type-Options"); len(got) != 1 || got[0] != "nosniff" {
		return fmt.Errorf("X-Content-Type-Options is %q, not nosniff", got)
	}
	want := "private, no-store"
	if res.Header.Get("ETag") != "" {
		want = "private, no-cache"
	}
	if got := res.Header.Values("Cache-Control"); len(got) != 1 || got[0] != want {
		return fmt.Errorf("Cache-Control is %q, not %q", got, want)
	}
	return nil
}

func checkRemaining(res *http.Response) error {
	limit, err1 := strconv.Atoi(res.Header.Get("RateLimit-Limit"))
	remaining, err2 := strconv.Atoi(res.Header.Get("RateLimit-Remaining"))
	if err1 == nil && err2 == nil && remaining > limit {
		return fmt.Errorf("RateLimit-Remaining %d is over RateLimit-Limit %d", remaining, limit)
	}
	return nil
}

func checkLocation(res *http.Response, body []byte) error {
	location, id := res.Header.Get("Location"), parseBody(body).Data.ID
	if id != "" && !strings.HasSuffix(location, "/"+id) {
		return fmt.Errorf("Location %q does not lead to %s", location, id)
	}
	return nil
}

func checkAllow(req *http.Request, res *http.Response, known []string) error {
	var allowed []string
	for method := range strings.SplitSeq(res.Header.Get("Allow"), ",") {
		allowed = append(allowed, strings.TrimSpace(method))
	}
	for _, method := range known {
		if !slices.Contains(allowed, method) {
			return fmt.Errorf("Allow %q lacks %s", res.Header.Get("Allow"), method)
		}
	}
	if slices.Contains(allowed, req.Method) {
		return fmt.Errorf("Allow %q has the method that was refused", res.Header.Get("Allow"))
	}
	return nil
}

// checkStatusCode compares the status with what the body says it is.
func checkStatusCode(res *http.Response, body []byte) error {
	if said := parseBody(body).StatusCode; said != nil && *said != res.StatusCode {
		return fmt.Errorf("statusCode is %d", *said)
	}
	return nil
}

// parsed is the little of a body that the header rules depend on.
type parsed struct {
	StatusCode *int
	Data       struct{ ID string }
	Error      struct{ Code string }
}

// parseBody answers zero values for a body of another shape; the schema is
// what judges bodies.
func parseBody(body []byte) parsed {
	var p parsed
	_ = json.Unmarshal(body, &p)
	return p
}

// Package contract checks HTTP answers against the description of their API,
// openapi.yaml in adapters/httpapi or adapters/opsapi: what the document does
// not say, a server under test must not do. It is for tests only, and judges
// responses, never requests: tests send wrong ones on purpose.
//
// The published description of the public API leaves its answers open, so that
// clients survive a new field or code. This package closes them before it
// judges, and adds what rules.yaml says of our answers.
//
// The document is loaded and judged by kin-openapi. Bodies and headers are
// checked by its JSON Schema library directly: kin-openapi compiles a schema
// again for each answer and falls back in silence to OpenAPI 3.0 rules when
// that fails, while here every schema is compiled once, or Load fails.
//
// The document is read from the source tree rather than from package httpapi,
// so that tests inside that package can use this one.
package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"waybill/adapters/web"
)

// Operation is one documented call; Path has its parameters in braces and is
// relative to a base address ending in /v1.
type Operation struct {
	Method, Path string
	SandboxOnly  bool // the live host has no such call
}

// Document is a loaded API description. It is safe for concurrent use.
type Document struct {
	paths  []path
	shared map[string]*response // components/responses by name
	forced map[string]Forced    // by the value of X-Sandbox-Error
}

// Forced is the answer that a value of X-Sandbox-Error brings about in the sandbox,
// on every call that needs a key.
type Forced struct {
	Status   int
	Response string // in components/responses
}

// Forced lists the answers that the document says can be forced, by the value.
func (d *Document) Forced() map[string]Forced { return maps.Clone(d.forced) }

type path struct {
	template   string
	segments   []string
	operations map[string]operation // by method
}

// operation is what a call may answer, by HTTP status.
type operation struct {
	answers     map[int]*response
	sandboxOnly bool
}

// Load reads the description of the public API, once per test binary. A
// document that is not valid, or has a schema that does not compile, fails the test.
func Load(t testing.TB) *Document { return loaded(t, public) }

// LoadOperations is Load for the operations API.
func LoadOperations(t testing.TB) *Document { return loaded(t, operations) }

func loaded(t testing.TB, load func() (*Document, error)) *Document {
	t.Helper()
	d, err := load()
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	return d
}

var public, operations = load("httpapi", narrow), load("opsapi", func(any) error { return nil })

func load(adapter string, narrow func(description any) error) func() (*Document, error) {
	return sync.OnceValues(func() (*Document, error) {
		text, err := readDescription(adapter)
		if err != nil {
			return nil, err
		}
		return parse(text, narrow)
	})
}

// readDescription finds the module's root from the directory of the test,
// which is always inside it.
func readDescription(adapter string) ([]byte, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return os.ReadFile(filepath.Join(dir, "adapters", adapter, "openapi.yaml"))
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}

func parse(text []byte, narrow func(description any) error) (*Document, error) {
	api, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if err := api.Validate(context.Background()); err != nil {
		return nil, err
	}
	c, err := newCompiler(text, narrow)
	if err != nil {
		return nil, err
	}
	d := &Document{shared: map[string]*response{}}
	for name, ref := range api.Components.Responses {
		if d.shared[name], err = c.response(ref, "#/components/responses/"+name); err != nil {
			return nil, err
		}
	}
	for template, item := range api.Paths.Map() {
		p := path{template: template, segments: strings.Split(template, "/"), operations: map[string]operation{}}
		for method, op := range item.Operations() {
			at := "#/paths/" + escape(template) + "/" + strings.ToLower(method) + "/responses/"
			if p.operations[method], err = c.operation(op, at); err != nil {
				return nil, err
			}
		}
		d.paths = append(d.paths, p)
	}
	if d.forced, err = readForced(api, d.shared); err != nil {
		return nil, err
	}
	slices.SortFunc(d.paths, func(a, b path) int { return strings.Compare(a.template, b.template) })
	return d, nil
}

// readForced reads which answers the header of the sandbox forces.
func readForced(api *openapi3.T, shared map[string]*response) (map[string]Forced, error) {
	raw, err := json.Marshal(api.Extensions["x-waybill-sandbox-errors"])
	if err != nil {
		return nil, err
	}
	var forced struct{ Values map[string]Forced }
	if err := json.Unmarshal(raw, &forced); err != nil {
		return nil, fmt.Errorf("x-waybill-sandbox-errors: %w", err)
	}
	for value, f := range forced.Values {
		if shared[f.Response] == nil {
			return nil, fmt.Errorf("x-waybill-sandbox-errors: %s leads to no response", value)
		}
	}
	return forced.Values, nil
}

// Operations lists what is documented, by path and then method.
func (d *Document) Operations() []Operation {
	var all []Operation
	for _, p := range d.paths {
		for _, method := range p.methods() {
			all = append(all, Operation{Method: method, Path: p.template, SandboxOnly: p.operations[method].sandboxOnly})
		}
	}
	return all
}

// Check tells in what way a response breaks the description, or nil. body is
// the whole body; res.Body is not touched.
//
// A request to an address or with a method that is not documented has to be
// refused in the documented way: the shared responses NotFound, or
// MethodNotAllowed with all methods of the address in Allow.
func (d *Document) Check(req *http.Request, res *http.Response, body []byte) error {
	if err := d.check(req, res, body); err != nil {
		return fmt.Errorf("%s %s answered %d: %w", req.Method, req.URL.Path, res.StatusCode, err)
	}
	return nil
}

func (d *Document) check(req *http.Request, res *http.Response, body []byte) error {
	want, known := d.expected(req, res.StatusCode)
	if want == nil {
		return errors.New("the status is not documented for this call")
	}
	problems := []error{want.checkHeaders(res.Header, body), checkRequestID(req, res), checkCaching(res), checkRemaining(res), checkStatusCode(res, body)}
	if req.Method != http.MethodHead {
		problems = append(problems, want.checkBody(res.Header.Get("Content-Type"), body))
	}
	if res.StatusCode == http.StatusCreated {
		problems = append(problems, checkLocation(res, body))
	}
	if res.StatusCode == http.StatusMethodNotAllowed {
		problems = append(problems, checkAllow(req, res, known))
	}
	return errors.Join(problems...)
}

// expected finds the response the document has for a request and a status, or
// nil; and the methods documented for the address.
func (d *Document) expected(req *http.Request, status int) (*response, []string) {
	method := req.Method
	if method == http.MethodHead { // answered wherever GET is, and not described apart
		method = http.MethodGet
	}
	p, found := d.match(method, req.URL.EscapedPath()) // an escaped slash divides nothing
	if !found {
		return d.outside(status, http.StatusNotFound, "NotFound"), nil
	}
	op, found := p.operations[method]
	switch {
	case found:
	case status == http.StatusNotFound && p.sandboxOnly():
		// On the live host it is no address at all, and which host this is
		// cannot be told from here.
		return d.shared["NotFound"], nil
	default:
		return d.outside(status, http.StatusMethodNotAllowed, "MethodNotAllowed"), p.methods()
	}
	// The answer that was asked for, where the call documents none of that status,
	// or one for the lack of data alone, as most do.
	want := op.answers[status]
	if f, known := d.forced[req.Header.Get("X-Sandbox-Error")]; known && f.Status == status &&
		(want == nil || status == http.StatusServiceUnavailable) {
		return d.shared[f.Response], p.methods()
	}
	if want != nil {
		return want, p.methods()
	}
	return d.shared[inPreface(req, status)], p.methods()
}

// inPreface names the shared response that the document promises in its
// preface, for every call; repeating it for each would be noise.
func inPreface(req *http.Request, status int) string {
	if carriesBody(req) {
		switch status {
		case http.StatusRequestEntityTooLarge:
			return "PayloadTooLarge"
		case http.StatusUnsupportedMediaType:
			return "UnsupportedMediaType"
		}
	}
	if req.Header.Values("X-Sandbox-Error") != nil && status == http.StatusUnprocessableEntity { // of the header itself
		return "ValidationFailed"
	}
	return ""
}

// outside is the answer to a call that is not documented: refused, unless the
// server broke down over it.
func (d *Document) outside(status, refusal int, name string) *response {
	switch status {
	case refusal:
		return d.shared[name]
	case http.StatusInternalServerError:
		return d.shared["InternalServerError"]
	}
	return nil
}

func carriesBody(req *http.Request) bool {
	return req.ContentLength != 0 || req.Header.Get("Content-Type") != "" || req.Header.Get("Content-Encoding") != ""
}

// match finds the documented path of a call. One that has the method wins, and
// then literal segments over parameters: GET /deliveries/bulk asks for a
// delivery with an odd ID. A parameter is never empty.
func (d *Document) match(method, address string) (path, bool) {
	rest, ok := relative(address)
	if !ok {
		return path{}, false
	}
	segments := strings.Split(rest, "/")
	best, most := path{}, -1
	for _, p := range d.paths {
		n, ok := p.matches(segments)
		if _, known := p.operations[method]; known {
			n += len(segments) + 1
		}
		if ok && n > most {
			best, most = p, n
		}
	}
	return best, most >= 0
}

// relative cuts everything up to and including the base's /v1.
func relative(address string) (string, bool) {
	_, rest, ok := strings.Cut(address, "/v1/")
	return "/" + rest, ok
}

func (p path) matches(segments []string) (literals int, ok bool) {
	if len(segments) != len(p.segments) {
		return 0, false
	}
	for i, want := range p.segments {
		switch {
		case strings.HasPrefix(want, "{"):
			if segments[i] == "" {
				return 0, false
			}
		case want != segments[i]:
			return 0, false
		default:
			literals++
		}
	}
	return literals, true
}

func (p path) sandboxOnly() bool {
	for _, op := range p.operations {
		if !op.sandboxOnly {
			return false
		}
	}
	return true
}

func (p path) methods() []string {
	var methods []string
	for method := range p.operations {
		methods = append(methods, method)
	}
	slices.Sort(methods)
	return methods
}

// compiler turns the schemas of one document into validators.
type compiler struct {
	schemas *jsonschema.Compiler
	raw     any
	done    map[string]*response
}

const documentURL = "https://waybill.invalid/openapi.json"

func newCompiler(text []byte, narrow func(description any) error) (*compiler, error) {
	asJSON, err := web.JSONOf(text)
	if err != nil {
		return nil, err
	}
	raw, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
	if err != nil {
		return nil, err
	}
	if err := narrow(raw); err != nil {
		return nil, err
	}
	c := &compiler{schemas: jsonschema.NewCompiler(), raw: raw, done: map[string]*response{}}
	c.schemas.DefaultDraft(jsonschema.Draft2020)
	c.schemas.AssertFormat()
	return c, c.schemas.AddResource(documentURL, raw)
}

// compile takes a JSON pointer into the document.
func (c *compiler) compile(pointer string) (*jsonschema.Schema, error) {
	return c.schemas.Compile(documentURL + pointer)
}

// escape makes a map key a token of a JSON pointer in a URL fragment.
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
}

package docsite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// description holds what the pages use of the description of the API.
type description struct {
	codes      map[string]*errorCode
	scopes     map[string]string   // what each allows
	calls      map[string][]string // that require a scope
	vector     vector
	limit      struct{ Maximum, Default int } // of a page of a list
	forced     []string                       // accepted values of X-Sandbox-Error
	operations int
}

// errorCode holds what the description says about a code.
type errorCode struct {
	Name     string
	Status   int
	Calls    []string // METHOD /path of the calls that can return it
	Examples []example
	ItemOnly bool // only for an item of a bulk, never for a whole response

	withItem []example // responses that contain it for an item
}

// example is an indented response of the API.
type example struct {
	Summary string
	Body    string
}

// vector is the published example of a signed webhook.
type vector struct {
	Secret    string `json:"secret"`
	ID        string `json:"webhook-id"`
	Timestamp string `json:"webhook-timestamp"`
	Body      string `json:"body"`
	Signature string `json:"webhook-signature"`
}

type openAPI struct {
	SandboxErrors sandboxErrors `json:"x-waybill-sandbox-errors"`
	Paths         map[string]map[string]json.RawMessage
	Webhooks      map[string]struct {
		Post struct {
			Vector vector `json:"x-waybill-test-vector"`
		}
	}
	Components struct {
		Responses  map[string]json.RawMessage
		Parameters struct {
			Limit struct {
				Schema struct{ Maximum, Default int }
			}
		}
		SecuritySchemes struct{ ApiKey struct{ Description string } }
	}
}

// sandboxErrors are the values of the header that forces errors in the sandbox.
type sandboxErrors struct {
	Values map[string]struct{ Status int }
}

var (
	methods  = []string{"get", "post", "put", "patch", "delete"}
	reScopes = regexp.MustCompile("(?m)^Scopes?: .+$")
	reScope  = regexp.MustCompile("`([a-z]+:[a-z]+)`")
	reAllows = regexp.MustCompile("(?m)^\\| `([a-z]+:[a-z]+)` \\| (.+) \\|$")
)

func readDescription(text []byte) (*description, error) {
	var doc openAPI
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("the description of the API: %w", err)
	}
	d := &description{
		codes: map[string]*errorCode{}, scopes: map[string]string{}, calls: map[string][]string{},
		vector: doc.Webhooks["event"].Post.Vector,
	}
	d.limit = doc.Components.Parameters.Limit.Schema
	d.forced = slices.Sorted(maps.Keys(doc.SandboxErrors.Values))
	for _, row := range reAllows.FindAllStringSubmatch(doc.Components.SecuritySchemes.ApiKey.Description, -1) {
		d.scopes[row[1]] = row[2]
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range methods {
			if raw := doc.Paths[path][method]; raw != nil {
				if err := d.readOperation(&doc, strings.ToUpper(method)+" "+path, raw); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Responses)) {
		if err := d.readResponse(&doc, "", doc.Components.Responses[name]); err != nil {
			return nil, fmt.Errorf("response %s: %w", name, err)
		}
	}
	for _, c := range d.codes {
		if c.ItemOnly && len(c.withItem) > 0 {
			c.show(http.StatusUnprocessableEntity, c.withItem[0])
		}
	}
	return d, nil
}

func (d *description) readOperation(doc *openAPI, call string, raw json.RawMessage) error {
	var op struct {
		Description string
		Responses   map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &op); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	d.operations++
	for _, scope := range reScope.FindAllStringSubmatch(reScopes.FindString(op.Description), -1) {
		d.calls[scope[1]] = append(d.calls[scope[1]], call)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if err := d.readResponse(doc, call, op.Responses[status]); err != nil {
			return fmt.Errorf("%s %s: %w", call, status, err)
		}
	}
	return nil
}

// readResponse records the codes that a response can have, and its examples of them. An empty call
// means the responses of every address.
func (d *description) readResponse(doc *openAPI, call string, raw json.RawMessage) error {
	var res struct {
		Ref       string   `json:"$ref"`
		Codes     []string `json:"x-waybill-codes"`
		ItemCodes []string `json:"x-waybill-item-codes"`
		Content   map[string]struct {
			Examples map[string]struct {
				Summary string
				Value   json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		return err
	}
	if res.Ref != "" {
		return d.readResponse(doc, call, doc.Components.Responses[strings.TrimPrefix(res.Ref, "#/components/responses/")])
	}
	content := res.Content["application/json"]
	for _, code := range res.ItemCodes {
		d.note(code, call)
	}
	for _, code := range res.Codes {
		d.note(code, call).ItemOnly = false
	}
	for _, name := range slices.Sorted(maps.Keys(content.Examples)) {
		if err := d.readExample(content.Examples[name].Summary, content.Examples[name].Value); err != nil {
			return fmt.Errorf("example %s: %w", name, err)
		}
	}
	return nil
}

func (d *description) note(code, call string) *errorCode {
	c := d.codes[code]
	if c == nil {
		c = &errorCode{Name: code, ItemOnly: true} // until a whole response has it
		d.codes[code] = c
	}
	if call != "" && !slices.Contains(c.Calls, call) {
		c.Calls = append(c.Calls, call)
	}
	return c
}

// mostExamples limits the responses that the page about a code shows.
const mostExamples = 3

func (d *description) readExample(summary string, value json.RawMessage) error {
	var answer struct {
		StatusCode int
		Error      struct {
			Code    string
			Details struct{ Errors []struct{ Code string } }
		}
	}
	if err := json.Unmarshal(value, &answer); err != nil {
		return err
	}
	if answer.Error.Code == "" {
		return nil
	}
	var body bytes.Buffer
	if err := json.Indent(&body, value, "", "  "); err != nil {
		return err
	}
	shown := example{Summary: summary, Body: body.String()}
	d.note(answer.Error.Code, "").show(answer.StatusCode, shown)
	for _, problem := range answer.Error.Details.Errors {
		c := d.note(problem.Code, "")
		c.withItem = append(c.withItem, shown)
	}
	return nil
}

// exampleOf returns the first example of a code, or an empty text.
func (d *description) exampleOf(code string) string {
	if c := d.codes[code]; c != nil && len(c.Examples) > 0 {
		return c.Examples[0].Body
	}
	return ""
}

func (c *errorCode) show(status int, e example) {
	c.Status = status
	known := slices.ContainsFunc(c.Examples, func(o example) bool { return o.Body == e.Body || o.Summary == e.Summary })
	if !known && len(c.Examples) < mostExamples {
		c.Examples = append(c.Examples, e)
	}
}

package contract_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"waybill/adapters/httpapi"
	"waybill/domain"
)

func TestTheDocumentIsValid(t *testing.T) {
	t.Parallel()
	doc := description(t)
	if doc.OpenAPI != "3.1.0" {
		t.Fatalf("doc.OpenAPI: %q, want 3.1.0", doc.OpenAPI)
	}
	if got := doc.Info.Version; got != "1.0.0" {
		t.Fatalf("doc.Info.Version: %q, want 1.0.0", got)
	}
	if !strings.Contains(doc.Info.Description, "## Release notes") {
		t.Fatalf("doc.Info.Description: %q lacks ## Release notes", doc.Info.Description)
	}
}

func TestTheJSONFormSaysWhatTheYAMLSays(t *testing.T) {
	t.Parallel()
	var fromYAML any
	if err := yaml.Unmarshal(httpapi.OpenAPI.YAML(), &fromYAML); err != nil { // as values, where the server goes by what is written
		t.Fatal(err)
	}
	want, err := json.Marshal(fromYAML)
	if err != nil {
		t.Fatal(err)
	}
	var asYAML, asJSON any
	if err := errors.Join(json.Unmarshal(want, &asYAML), json.Unmarshal(httpapi.OpenAPI.JSON(), &asJSON)); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(asYAML, asJSON); diff != "" {
		t.Fatalf("the JSON differs (-YAML +JSON):\n%s", diff)
	}
	if !bytes.HasPrefix(httpapi.OpenAPI.JSON(), []byte(`{"openapi":"3.1.0","info":{"title":`)) {
		t.Fatal("the order is not that of the YAML")
	}
	if !bytes.Equal(httpapi.OpenAPI.JSON(), httpapi.OpenAPI.JSON()) {
		t.Fatal("two calls give different bytes")
	}
}

func TestEveryOperationIsDescribed(t *testing.T) {
	t.Parallel()
	doc := description(t)
	lowerCamel := regexp.MustCompile(`^[a-z]+([A-Z][a-z]+)*$`)
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			call := method + " " + path
			if !lowerCamel.MatchString(op.OperationID) {
				t.Fatalf("%s: the operation ID %q is not like %v", call, op.OperationID, lowerCamel)
			}
			if ids[op.OperationID] {
				t.Fatalf("%s: the operation ID %s was there before", call, op.OperationID)
			}
			ids[op.OperationID] = true
			if op.Summary == "" {
				t.Fatalf("%s: no summary", call)
			}
			if op.Description == "" {
				t.Fatalf("%s: no description", call)
			}
			if len(op.Tags) != 1 {
				t.Fatalf("%s: %v, want 1 of them", call, op.Tags)
			}
			if doc.Tags.Get(op.Tags[0]) == nil {
				t.Fatalf("%s: the tag %s is not listed", call, op.Tags[0])
			}
			if body := op.RequestBody; body != nil {
				if len(body.Value.Content.Get("application/json").Examples) == 0 {
					t.Fatalf("%s: no example of the body", call)
				}
			}
			for status, ref := range op.Responses.Map() {
				requireCommonHeaders(t, ref.Value, call+" "+status)
			}
			if strings.HasPrefix(path, "/openapi.") {
				if got := *op.Security; len(got) != 0 {
					t.Fatalf("%s: %v, want none", call, got)
				}
				continue
			}
			if op.Security != nil {
				t.Fatalf("%s: %v, want nil", call, op.Security)
			}
			for _, status := range []string{"400", "401", "429", "500"} {
				if op.Responses.Value(status) == nil {
					t.Fatalf("%s has no %s", call, status)
				}
			}
			names := strings.Contains(path, "{") || call == "POST /deliveries" || call == "POST /webhook-listeners"
			if got := op.Responses.Value("404") != nil; got != names {
				t.Fatalf("%s: 404 is documented: %v, want %v", call, got, names)
			}
			if got := op.Responses.Value("403") != nil; got != (path != "/api-key") {
				t.Fatalf("%s: 403 is documented: %v, want %v", call, got, !got)
			}
		}
	}
	for name, ref := range doc.Components.Responses {
		requireCommonHeaders(t, ref.Value, name)
	}
}

// The routes are what the server checks; this is what callers read.
func TestTheScopesOfTheDescriptionAreThoseOfTheRoutes(t *testing.T) {
	t.Parallel()
	doc := description(t)
	for _, r := range httpapi.Routes() {
		var want string
		switch {
		case len(r.Scopes) == 1:
			want = fmt.Sprintf("Scope: `%s`", r.Scopes[0])
		case len(r.Scopes) == 2:
			want = fmt.Sprintf("Scopes: `%s` and `%s`", r.Scopes[0], r.Scopes[1])
		}
		for field, scope := range r.FieldScopes {
			want += fmt.Sprintf("; with `%s` also `%s`", field, scope)
		}
		said := regexp.MustCompile("(?m)^Scopes?: .*$").FindString(doc.Paths.Value(r.Path).GetOperation(r.Method).Description)
		if reason := regexp.MustCompile(`(\.|: payloads|, as payloads).*$`).FindStringIndex(said); reason != nil {
			said = said[:reason[0]]
		}
		if said != want {
			t.Fatalf("%s %s: %q, want %q", r.Method, r.Path, said, want)
		}
	}
}

func requireCommonHeaders(t *testing.T, res *openapi3.Response, where string) {
	t.Helper()
	for _, name := range []string{"X-Request-ID", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		if res.Headers[name] == nil {
			t.Fatalf("%s lacks %s", where, name)
		}
		if !res.Headers[name].Value.Required {
			t.Fatalf("%s: %s is not required", where, name)
		}
	}
}

func TestAdditionsSaySo(t *testing.T) {
	t.Parallel()
	doc := description(t)
	schemas, responses := doc.Components.Schemas, doc.Components.Responses
	for what, extensions := range map[string]map[string]any{
		"createPickupLocation":  doc.Paths.Value("/pickup-locations").Post.Extensions,
		"getPickupLocation":     doc.Paths.Value("/pickup-locations/{pickup_location_id}").Get.Extensions,
		"updatePickupLocation":  doc.Paths.Value("/pickup-locations/{pickup_location_id}").Patch.Extensions,
		"getApiKey":             doc.Paths.Value("/api-key").Get.Extensions,
		"startSimulation":       doc.Paths.Value("/test-helpers/deliveries/{delivery_id}/simulation").Post.Extensions,
		"order":                 doc.Paths.Value("/deliveries").Get.Parameters.GetByInAndName("query", "order").Extensions,
		"If-None-Match":         doc.Components.Parameters["IfNoneMatch"].Value.Extensions,
		"ETag":                  doc.Components.Headers["ETag"].Value.Extensions,
		"reason_code":           schemas["ReasonCode"].Value.Extensions,
		"field":                 schemas["BulkProblem"].Value.Properties["field"].Value.Extensions,
		"doc_url":               schemas["DocUrl"].Value.Extensions,
		"304":                   responses["NotModified"].Value.Extensions,
		"listEvents":            doc.Paths.Value("/events").Get.Extensions,
		"createWebhookEndpoint": doc.Paths.Value("/webhook-endpoints").Post.Extensions,
		"createWebhookListener": doc.Paths.Value("/webhook-listeners").Post.Extensions,
		"receiveEvent":          doc.Webhooks["event"].Post.Extensions,
		"405":                   responses["MethodNotAllowed"].Value.Extensions,
		"413":                   responses["PayloadTooLarge"].Value.Extensions,
		"415":                   responses["UnsupportedMediaType"].Value.Extensions,
		"503":                   responses["ServiceUnavailable"].Value.Extensions,
	} {
		if got := extensions["x-waybill-addition"]; got != true {
			t.Errorf("%s: x-waybill-addition: %v, want true", what, got)
		}
	}
}

func TestWhatOnlyTheSandboxHasSaysSo(t *testing.T) {
	t.Parallel()
	doc := description(t)
	for path, item := range doc.Paths.Map() {
		helper := strings.HasPrefix(path, "/test-helpers/")
		sandboxOnly := helper || strings.HasPrefix(path, "/webhook-listeners")
		for method, op := range item.Operations() {
			call := method + " " + path
			if got := op.Extensions["x-waybill-sandbox-only"] == true; got != sandboxOnly {
				t.Fatalf("%s: x-waybill-sandbox-only: %v, want %v", call, got, sandboxOnly)
			}
			if got := op.Tags[0] == "Test helpers"; got != helper {
				t.Fatalf("%s: tagged as a test helper: %v, want %v", call, got, helper)
			}
			if sandboxOnly {
				const note = "Only the sandbox has this call: the live host answers `404 NOT_FOUND`."
				if got := strings.Join(strings.Fields(op.Description), " "); !strings.Contains(got, note) {
					t.Fatalf("%s: %q lacks %q", call, got, note)
				}
			}
		}
		if sandboxOnly {
			if len(item.Servers) != 1 {
				t.Fatalf("%s: %v, want 1 of them", path, item.Servers)
			}
			if !strings.Contains(item.Servers[0].Description, "Sandbox") {
				t.Fatalf("%s: %q lacks Sandbox", path, item.Servers[0].Description)
			}
		}
	}
}

// TestTheTableOfScenariosIsWhatTheyDo reads the table in the preface and holds
// every row against the scenario of that name.
func TestTheTableOfScenariosIsWhatTheyDo(t *testing.T) {
	t.Parallel()
	doc := description(t)
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (.+) \\| (\\d) \\| (any|`cod`) \\|$")
	step := regexp.MustCompile("(?:after (\\d) x `step_seconds` )?`([a-z_]+)`(?: \\(`([a-z_]+)`\\))?(?:,|$)")
	var documented []any
	for _, cells := range row.FindAllStringSubmatch(doc.Info.Description, -1) {
		scenario, steps := domain.Scenario(cells[1]), []domain.ScenarioStep(nil)
		documented = append(documented, cells[1])
		for _, s := range step.FindAllStringSubmatch(cells[2], -1) {
			wait, _ := strconv.Atoi(cmp.Or(s[1], "1"))
			steps = append(steps, domain.ScenarioStep{To: domain.Status(s[2]), Reason: domain.ReasonCode(s[3]), Wait: wait})
		}
		if diff := gocmp.Diff(scenario.Steps(), steps); diff != "" {
			t.Fatalf("%s: %s (-want +got):\n%s", scenario, cells[2], diff)
		}
		if got := cells[3]; got != strconv.Itoa(len(steps)) {
			t.Fatalf("%s: %q, want %q", scenario, got, strconv.Itoa(len(steps)))
		}
		misfit := domain.Plan{Scenario: scenario}.Fits(domain.DeliveryOnly)
		if got := misfit == nil; got != (cells[4] == "any") {
			t.Fatalf("%s: fits any payment: %v, want %v", scenario, got, !got)
		}
		if err := (domain.Plan{Scenario: scenario}).Fits(domain.CashOnDelivery); err != nil {
			t.Fatalf("%s: %v", scenario, err)
		}
	}
	if len(documented) != len(domain.Scenarios()) {
		t.Fatalf("documented: %v, want %d of them", documented, len(domain.Scenarios()))
	}
	if diff := gocmp.Diff(documented, doc.Components.Schemas["Scenario"].Value.Enum); diff != "" {
		t.Fatalf("doc.Components.Schemas[Scenario].Value.Enum (-want +got):\n%s", diff)
	}
}

// A client that is generated from the description has to survive what answers get later, and its
// mistakes in requests have to show before they are sent.
func TestRequestsAreClosedAndAnswersAreOpen(t *testing.T) {
	t.Parallel()
	doc := raw(t)
	requests, answers := map[string]bool{}, map[string]bool{}
	walk(doc, "", func(at string, node map[string]any) {
		if body := node["requestBody"]; body != nil && !strings.HasPrefix(at, "/webhooks") {
			reach(doc, body, "", requests)
		}
		if strings.HasPrefix(at, "/webhooks/event/post/requestBody") || strings.HasSuffix(at, "/responses") {
			reach(doc, node, "", answers)
		}
	})
	objects := 0
	for name := range requests {
		walk(schemaOf(doc, name), name, func(at string, node map[string]any) {
			if node["properties"] != nil && node["additionalProperties"] != false {
				t.Errorf("%s, of a request, is open", at)
			}
		})
	}
	for name := range answers {
		walk(schemaOf(doc, name), name, func(at string, node map[string]any) {
			if node["additionalProperties"] == false || node["unevaluatedProperties"] == false {
				t.Errorf("%s, of an answer, is closed", at)
			}
			if node["properties"] != nil {
				objects++
			}
		})
	}
	for _, name := range []string{"EventType", "DeliveryEventType", "ReasonCode", "FieldErrorCode", "ErrorCode"} {
		if schema := schemaOf(doc, name); schema["enum"] != nil || schema["examples"] == nil {
			t.Errorf("%s takes only some values, or names none", name)
		}
	}
	if len(requests) < 15 || objects < 40 {
		t.Fatalf("looked at %d schemas of requests and %d objects of answers", len(requests), objects)
	}
}

// What the rules here forbid has each broken a generator in common use: `make generators` runs them.
func TestTheDescriptionHasNothingThatGeneratorsMisread(t *testing.T) {
	t.Parallel()
	doc := raw(t)
	components := doc.(map[string]any)["components"].(map[string]any)
	for name := range components["schemas"].(map[string]any) {
		if components["parameters"].(map[string]any)[name] != nil {
			t.Errorf("%s is a schema and a parameter", name)
		}
	}
	numbers := 0
	walk(doc, "", func(at string, node map[string]any) {
		if strings.Contains(at, "/examples/") || strings.HasSuffix(at, "/properties") {
			return
		}
		kinds, several := node["type"].([]any)
		if !several {
			kinds = []any{node["type"]}
		}
		if slices.Contains(kinds, any("number")) || slices.Contains(kinds, any("integer")) {
			numbers++
			if format := node["format"]; format != "double" && format != "int32" && format != "int64" {
				t.Errorf("%s: the number has the format %v", at, format)
			}
		}
		for _, word := range []string{"multipleOf", "exclusiveMinimum", "exclusiveMaximum", "allOf", "not", "if", "dependentRequired"} {
			if node[word] != nil {
				t.Errorf("%s has %s", at, word)
			}
		}
		if node["enum"] != nil && path.Dir(at) != "/components/schemas" {
			t.Errorf("%s: the enum has no schema of its own", at)
		}
		if node["in"] == "header" && node["name"] == "X-Sandbox-Error" {
			t.Errorf("%s: tools that fill in every parameter would force errors", at)
		}
		if responses, is := node["responses"].(map[string]any); is && node["operationId"] != nil {
			bodies := map[string]bool{}
			for status, response := range responses {
				if status < "3" {
					reach(nil, response, "", bodies)
				}
			}
			if len(bodies) > 1 {
				t.Errorf("%s: its successes have different schemas: %v", at, bodies)
			}
		}
	})
	if numbers < 40 {
		t.Fatalf("looked at %d numbers", numbers)
	}
	if strings.Contains(string(httpapi.OpenAPI.YAML()), "original contract") {
		t.Error("the text tells callers which contract they first had")
	}
	if first := description(t).Servers[0].Description; !strings.Contains(first, "Sandbox") {
		t.Errorf("the first server is %s: a tool would try calls on live", first)
	}
}

// reach finds the schemas that a part of the document leads to; without the document those that it
// names itself.
func reach(doc, part any, at string, found map[string]bool) {
	walk(part, at, func(_ string, node map[string]any) {
		ref, _ := node["$ref"].(string)
		if response, is := strings.CutPrefix(ref, "#/components/responses/"); is && doc != nil {
			reach(doc, doc.(map[string]any)["components"].(map[string]any)["responses"].(map[string]any)[response], at, found)
		}
		name, is := strings.CutPrefix(ref, "#/components/schemas/")
		if !is || found[name] {
			return
		}
		found[name] = true
		if doc != nil {
			reach(doc, schemaOf(doc, name), at, found)
		}
	})
}

func schemaOf(doc any, name string) map[string]any {
	schema, _ := doc.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)[name].(map[string]any)
	return schema
}

// TestEveryExampleFitsItsSchema covers requests, parameters and headers too,
// with a validator of its own beside the one of kin-openapi.
func TestEveryExampleFitsItsSchema(t *testing.T) {
	t.Parallel()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	const base = "https://waybill.invalid/doc.json"
	doc := raw(t)
	if err := c.AddResource(base, doc); err != nil {
		t.Fatal(err)
	}
	checked := 0
	walk(doc, "", func(at string, node map[string]any) {
		if node["schema"] == nil {
			return
		}
		samples := map[string]any{}
		if one, ok := node["example"]; ok {
			samples["example"] = one
		}
		many, _ := node["examples"].(map[string]any)
		for name, example := range many {
			samples[name] = example.(map[string]any)["value"]
		}
		if len(samples) == 0 {
			return
		}
		schema, err := c.Compile(base + "#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(at) + "/schema")
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		for name, value := range samples {
			if err := schema.Validate(value); err != nil {
				t.Fatalf("%s %s: %v", at, name, err)
			}
			checked++
		}
	})
	if checked <= 90 {
		t.Fatalf("checked: %v, want more than 90", checked)
	}
}

func raw(t *testing.T) any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(httpapi.OpenAPI.JSON()))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// walk visits every object of a JSON value with its pointer, in a fixed order.
func walk(value any, at string, visit func(at string, node map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		visit(at, v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walk(v[key], at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), visit)
		}
	case []any:
		for i, item := range v {
			walk(item, fmt.Sprintf("%s/%d", at, i), visit)
		}
	}
}

func TestTheDocumentNamesEveryVehicle(t *testing.T) {
	t.Parallel()
	var documented []any
	for _, v := range domain.VehicleTypes() {
		documented = append(documented, string(v))
	}
	if diff := gocmp.Diff(documented, description(t).Components.Schemas["VehicleType"].Value.Enum); diff != "" {
		t.Errorf("VehicleType (-program +document):\n%s", diff)
	}
}

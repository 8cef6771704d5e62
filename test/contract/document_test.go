package contract_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"waybill/adapters/httpapi"
	"waybill/domain"
)

func TestTheDocumentIsValid(t *testing.T) {
	t.Parallel()
	doc := description(t)
	require.Equal(t, "3.1.0", doc.OpenAPI)
	require.Equal(t, "1.0.0", doc.Info.Version)
	require.Contains(t, doc.Info.Description, "## Release notes")
}

func TestTheJSONFormSaysWhatTheYAMLSays(t *testing.T) {
	t.Parallel()
	var fromYAML any
	require.NoError(t, yaml.Unmarshal(httpapi.OpenAPIYAML, &fromYAML)) // another parser than the server's
	want, err := json.Marshal(fromYAML)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(httpapi.OpenAPIJSON()))
	require.True(t, bytes.HasPrefix(httpapi.OpenAPIJSON(), []byte(`{"openapi":"3.1.0","info":{"title":`)), "the order of the YAML")
	require.Equal(t, httpapi.OpenAPIJSON(), httpapi.OpenAPIJSON())
}

func TestEveryOperationIsDescribed(t *testing.T) {
	t.Parallel()
	doc := description(t)
	lowerCamel := regexp.MustCompile(`^[a-z]+([A-Z][a-z]+)*$`)
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			call := method + " " + path
			require.Regexp(t, lowerCamel, op.OperationID, call)
			require.False(t, ids[op.OperationID], call)
			ids[op.OperationID] = true
			require.NotEmpty(t, op.Summary, call)
			require.NotEmpty(t, op.Description, call)
			require.Len(t, op.Tags, 1, call)
			require.NotNil(t, doc.Tags.Get(op.Tags[0]), call)
			if body := op.RequestBody; body != nil {
				require.NotEmpty(t, body.Value.Content.Get("application/json").Examples, call)
			}
			for status, ref := range op.Responses.Map() {
				requireCommonHeaders(t, ref.Value, call+" "+status)
			}
			if strings.HasPrefix(path, "/openapi.") {
				require.Empty(t, *op.Security, call)
				continue
			}
			require.Nil(t, op.Security, call)
			for _, status := range []string{"400", "401", "429", "500"} {
				require.NotNil(t, op.Responses.Value(status), "%s has no %s", call, status)
			}
			require.Equal(t, strings.Contains(path, "{") || call == "POST /deliveries" || call == "POST /webhook-listeners", op.Responses.Value("404") != nil, call)
			require.Equal(t, path != "/api-key", op.Responses.Value("403") != nil, call)
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
		require.Equal(t, want, said, "%s %s", r.Method, r.Path)
	}
}

func requireCommonHeaders(t *testing.T, res *openapi3.Response, where string) {
	t.Helper()
	for _, name := range []string{"X-Request-ID", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		require.NotNil(t, res.Headers[name], "%s lacks %s", where, name)
		require.True(t, res.Headers[name].Value.Required, where)
	}
}

func TestAdditionsSaySo(t *testing.T) {
	t.Parallel()
	doc := description(t)
	for _, c := range []struct {
		what        string
		extensions  map[string]any
		description string
	}{
		{"createPickupLocation", doc.Paths.Value("/pickup-locations").Post.Extensions, doc.Paths.Value("/pickup-locations").Post.Description},
		{"getPickupLocation", doc.Paths.Value("/pickup-locations/{pickup_location_id}").Get.Extensions, doc.Paths.Value("/pickup-locations/{pickup_location_id}").Get.Description},
		{"updatePickupLocation", doc.Paths.Value("/pickup-locations/{pickup_location_id}").Patch.Extensions, doc.Paths.Value("/pickup-locations/{pickup_location_id}").Patch.Description},
		{"getApiKey", doc.Paths.Value("/api-key").Get.Extensions, doc.Paths.Value("/api-key").Get.Description},
		{"startSimulation", doc.Paths.Value("/test-helpers/deliveries/{delivery_id}/simulation").Post.Extensions, doc.Paths.Value("/test-helpers/deliveries/{delivery_id}/simulation").Post.Description},
		{"X-Sandbox-Error", doc.Components.Parameters["SandboxError"].Value.Extensions, doc.Components.Parameters["SandboxError"].Value.Description},
		{"order", doc.Paths.Value("/deliveries").Get.Parameters.GetByInAndName("query", "order").Extensions, doc.Paths.Value("/deliveries").Get.Parameters.GetByInAndName("query", "order").Description},
		{"If-None-Match", doc.Components.Parameters["IfNoneMatch"].Value.Extensions, doc.Components.Parameters["IfNoneMatch"].Value.Description},
		{"ETag", doc.Components.Headers["ETag"].Value.Extensions, doc.Components.Headers["ETag"].Value.Description},
		{"reason_code", doc.Components.Schemas["ReasonCode"].Value.Extensions, doc.Components.Schemas["ReasonCode"].Value.Description},
		{"field", doc.Components.Schemas["BulkProblem"].Value.Properties["field"].Value.Extensions, doc.Components.Schemas["BulkProblem"].Value.Properties["field"].Value.Description},
		{"doc_url", doc.Components.Schemas["DocUrl"].Value.Extensions, doc.Components.Schemas["DocUrl"].Value.Description},
		{"304", doc.Components.Responses["NotModified"].Value.Extensions, *doc.Components.Responses["NotModified"].Value.Description},
		{"listEvents", doc.Paths.Value("/events").Get.Extensions, doc.Paths.Value("/events").Get.Description},
		{"createWebhookEndpoint", doc.Paths.Value("/webhook-endpoints").Post.Extensions, doc.Paths.Value("/webhook-endpoints").Post.Description},
		{"createWebhookListener", doc.Paths.Value("/webhook-listeners").Post.Extensions, doc.Paths.Value("/webhook-listeners").Post.Description},
		{"receiveEvent", doc.Webhooks["event"].Post.Extensions, doc.Webhooks["event"].Post.Description},
		{"405", doc.Components.Responses["MethodNotAllowed"].Value.Extensions, *doc.Components.Responses["MethodNotAllowed"].Value.Description},
		{"413", doc.Components.Responses["PayloadTooLarge"].Value.Extensions, *doc.Components.Responses["PayloadTooLarge"].Value.Description},
		{"415", doc.Components.Responses["UnsupportedMediaType"].Value.Extensions, *doc.Components.Responses["UnsupportedMediaType"].Value.Description},
	} {
		require.Equal(t, true, c.extensions["x-waybill-addition"], c.what)
		require.Contains(t, strings.Join(strings.Fields(c.description), " "), "addition to the original contract", c.what)
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
			require.Equal(t, sandboxOnly, op.Extensions["x-waybill-sandbox-only"] == true, call)
			require.Equal(t, helper, op.Tags[0] == "Test helpers", call)
			if sandboxOnly {
				require.Contains(t, strings.Join(strings.Fields(op.Description), " "), "Only the sandbox has this call: the live host answers `404 NOT_FOUND`.", call)
			}
		}
		if sandboxOnly {
			require.Len(t, item.Servers, 1, path)
			require.Contains(t, item.Servers[0].Description, "Sandbox", path)
		}
		// Every call that needs a key can be made to fail.
		require.Equal(t, !strings.HasPrefix(path, "/openapi."), item.Parameters.GetByInAndName("header", "X-Sandbox-Error") != nil, path)
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
		require.Equal(t, scenario.Steps(), steps, "%s: %s", scenario, cells[2])
		require.Equal(t, strconv.Itoa(len(steps)), cells[3], scenario)
		misfit := domain.Plan{Scenario: scenario}.Fits(domain.DeliveryOnly)
		require.Equal(t, cells[4] == "any", misfit == nil, scenario)
		require.NoError(t, domain.Plan{Scenario: scenario}.Fits(domain.CashOnDelivery), scenario)
	}
	require.Len(t, documented, len(domain.Scenarios()))
	require.Equal(t, documented, doc.Components.Schemas["Scenario"].Value.Enum)
}

// TestEveryObjectIsClosed walks the raw document: a schema that names
// properties must refuse all others, or be a base that a closed schema extends.
func TestEveryObjectIsClosed(t *testing.T) {
	t.Parallel()
	bases := []string{"/components/schemas/Ok", "/components/schemas/Created", "/components/schemas/Accepted", "/components/schemas/MultiStatus", "/components/schemas/Failure",
		"/components/schemas/WebhookEndpointFields", "/components/schemas/WebhookListenerFields"}
	closed := 0
	walk(raw(t), "", func(at string, node map[string]any) {
		isSchema := node["type"] == "object" && node["properties"] != nil
		if !isSchema || slices.Contains(bases, at) || strings.HasPrefix(at, "/paths/~1openapi.json") {
			return
		}
		if node["additionalProperties"] != false && node["unevaluatedProperties"] != false {
			t.Errorf("%s is open", at)
		}
		closed++
	})
	require.Greater(t, closed, 60)
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
	require.NoError(t, c.AddResource(base, doc))
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
		require.NoError(t, err, at)
		for name, value := range samples {
			require.NoError(t, schema.Validate(value), "%s %s", at, name)
			checked++
		}
	})
	require.Greater(t, checked, 90)
}

func raw(t *testing.T) any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(httpapi.OpenAPIJSON()))
	require.NoError(t, err)
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

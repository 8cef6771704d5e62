package contract

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"waybill/adapters/web"
)

//go:embed rules.yaml
var rulesOfAnswers []byte

type object = map[string]any

// narrow makes the description of the public API as strict as our own answers have to be. The
// published one is open, so that a new field or code breaks no client: here every object takes only
// the fields it lists, every open list of values only those it names, and rules.yaml adds the rest.
func narrow(description any) error {
	asJSON, err := web.JSONOf(rulesOfAnswers)
	if err != nil {
		return fmt.Errorf("rules.yaml: %w", err)
	}
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
	if err != nil {
		return fmt.Errorf("rules.yaml: %w", err)
	}
	rules := parsed.(object)
	components := description.(object)["components"].(object)
	schemas := components["schemas"].(object)
	closeSchemas(schemas)

	byCode := rules["errors"].(object)
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		add(schemas["Error"].(object), object{"if": within("code", object{"const": code}), "then": byCode[code]})
	}
	for name, rule := range rules["schemas"].(object) {
		schema, known := schemas[name].(object)
		if !known {
			return fmt.Errorf("rules.yaml: %s is no schema", name)
		}
		add(schema, rule)
	}
	for _, response := range components["responses"].(object) {
		narrowCodes(response.(object))
	}
	answers := maps.Clone(rules["answers"].(object))
	for _, item := range description.(object)["paths"].(object) {
		for _, operation := range item.(object) {
			operation, _ := operation.(object)
			responses, _ := operation["responses"].(object)
			for status, response := range responses {
				narrowCodes(response.(object))
				call := fmt.Sprint(operation["operationId"], " ", status)
				if rule, there := answers[call]; there {
					narrowBody(response.(object), within("data", rule))
					delete(answers, call)
				}
			}
		}
	}
	for call := range answers {
		return fmt.Errorf("rules.yaml: %s is no answer", call)
	}
	return nil
}

// closeSchemas refuses fields and values that the schemas do not list.
func closeSchemas(value any) {
	switch v := value.(type) {
	case object:
		if v["properties"] != nil && v["additionalProperties"] == nil && v["type"] == "object" {
			v["additionalProperties"] = false
		}
		if v["examples"] != nil && v["type"] == "string" {
			v["enum"] = v["examples"]
		}
		for _, inner := range v {
			closeSchemas(inner)
		}
	case []any:
		for _, inner := range v {
			closeSchemas(inner)
		}
	}
}

// narrowCodes allows only the error codes that the response lists, for itself and for items of a bulk.
func narrowCodes(response object) {
	if codes := response["x-waybill-codes"]; codes != nil {
		narrowBody(response, within("error", within("code", object{"enum": codes})))
	}
	if codes := response["x-waybill-item-codes"]; codes != nil {
		code := within("code", object{"enum": codes})
		narrowBody(response, within("error", within("details", within("errors", object{"items": code}))))
		narrowBody(response, within("data", within("results", object{"items": within("error", code)})))
	}
}

func narrowBody(response object, rule any) {
	content := response["content"].(object)["application/json"].(object)
	content["schema"] = object{"allOf": []any{content["schema"], rule}}
}

func add(schema object, rule any) {
	all, _ := schema["allOf"].([]any)
	schema["allOf"] = append(all, rule)
}

func within(property string, schema any) object {
	return object{"properties": object{property: schema}}
}

package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"waybill/domain"
)

// Operation holds what the OpenAPI description says about a route, in its order.
type Operation struct {
	Route   string // as in the request log: POST /v1/deliveries
	Summary string
	Scopes  []domain.Scope
	Sample  string // an example request body, indented; empty: no body, or no example
}

// Operations returns the operations of the description. Treat the result as read-only.
var Operations = sync.OnceValue(func() []Operation {
	operations, err := readOperations(OpenAPI.JSON())
	if err != nil {
		panic(fmt.Errorf("openapi.yaml: %w", err)) // the file is embedded, and the tests read it
	}
	return operations
})

func readOperations(description []byte) (all []Operation, err error) {
	var doc struct{ Paths ordered }
	if err := json.Unmarshal(description, &doc); err != nil {
		return nil, err
	}
	for _, path := range doc.Paths {
		var methods ordered
		if err := json.Unmarshal(path.value, &methods); err != nil {
			return nil, err
		}
		for _, m := range methods {
			if m.name == "parameters" || m.name == "servers" {
				continue
			}
			var op struct {
				Summary     string
				Description string
				RequestBody struct {
					Content map[string]struct{ Examples ordered }
				}
			}
			if err := json.Unmarshal(m.value, &op); err != nil {
				return nil, fmt.Errorf("%s %s: %w", m.name, path.name, err)
			}
			o := Operation{Route: strings.ToUpper(m.name) + " /v1" + path.name, Summary: op.Summary, Scopes: scopesIn(op.Description)}
			if examples := op.RequestBody.Content["application/json"].Examples; len(examples) > 0 {
				var first struct{ Value json.RawMessage }
				var body bytes.Buffer
				if err := json.Unmarshal(examples[0].value, &first); err != nil {
					return nil, err
				}
				if err := json.Indent(&body, first.Value, "", "  "); err != nil {
					return nil, err
				}
				o.Sample = body.String()
			}
			all = append(all, o)
		}
	}
	return all, nil
}

// scopesIn returns the scopes that the description of an operation says it needs.
func scopesIn(description string) (all []domain.Scope) {
	for _, sentence := range scopeSentence.FindAllString(description, 1) {
		for _, s := range domain.AllScopes() {
			if strings.Contains(sentence, "`"+string(s)+"`") {
				all = append(all, s)
			}
		}
	}
	return all
}

var scopeSentence = regexp.MustCompile(`Scopes?: [^.]*\.`)

// ordered is a JSON object whose members keep their order.
type ordered []member

type member struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON reads an object.
func (o *ordered) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		m := member{name: fmt.Sprint(name)}
		if err := d.Decode(&m.value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

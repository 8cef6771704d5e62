package httpapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"waybill/domain"
)

// OpenAPIYAML is the description of the public API; under /v1/openapi.yaml it is
// served with the addresses of the servers it is about. Treat it as read-only.
//
//go:embed openapi.yaml
var OpenAPIYAML []byte

// OpenAPIJSON is the same document in JSON, its members in the order of the
// YAML. The conversion happens on the first call; treat the result as read-only.
func OpenAPIJSON() []byte { return openAPIJSON() }

var openAPIJSON = sync.OnceValue(func() []byte {
	var compact bytes.Buffer
	document, err := yaml.YAMLToJSON(OpenAPIYAML)
	if err == nil {
		err = json.Compact(&compact, document)
	}
	if err != nil {
		// The document is part of the program, and the tests read it.
		panic(fmt.Errorf("openapi.yaml: %w", err))
	}
	return compact.Bytes()
})

// The addresses that the document has for each environment.
const (
	documentedLive    = "http://127.0.0.1:8080/v1"
	documentedSandbox = "http://127.0.0.1:8081/v1"
)

// described is the document with the addresses under which the two APIs are
// known to their callers.
func (a *API) described(document []byte) []byte {
	live, sandbox := a.BaseURL, a.OtherBaseURL
	if a.Environment == domain.Sandbox {
		live, sandbox = sandbox, live
	}
	return Described(document, live, sandbox)
}

// Described is a form of the document with these two base addresses in place of
// those that developers find.
func Described(document []byte, live, sandbox string) []byte {
	return []byte(strings.NewReplacer(
		documentedLive, live, documentedSandbox, sandbox, docsURL(documentedSandbox), docsURL(sandbox),
		" (development default)", "",
	).Replace(string(document)))
}

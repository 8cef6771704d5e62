package opsapi

import (
	_ "embed"
	"fmt"
	"net/http"
	"sync"

	"github.com/goccy/go-yaml"

	"waybill/adapters/web"
)

// OpenAPIYAML is the description of the operations API. Treat it as read-only.
//
//go:embed openapi.yaml
var OpenAPIYAML []byte

// OpenAPIJSON is the same document in JSON. Treat the result as read-only.
func OpenAPIJSON() []byte { return openAPIJSON() }

var openAPIJSON = sync.OnceValue(func() []byte {
	document, err := yaml.YAMLToJSON(OpenAPIYAML)
	if err != nil {
		// The document is part of the program, and the tests read it.
		panic(fmt.Errorf("openapi.yaml: %w", err))
	}
	return document
})

func (m *Management) openAPIYAML(*call) (reply, error) {
	return reply{status: http.StatusOK, contentType: "application/yaml; charset=utf-8", body: OpenAPIYAML}, nil
}

func (m *Management) openAPIJSON(*call) (reply, error) {
	return reply{status: http.StatusOK, contentType: web.JSONType, body: OpenAPIJSON()}, nil
}

package opsapi

import (
	_ "embed"
	"net/http"

	"waybill/adapters/web"
)

//go:embed openapi.yaml
var openAPIYAML []byte

// OpenAPI holds the OpenAPI description of the operations API.
var OpenAPI = web.DescriptionOf(openAPIYAML)

func (m *Management) openAPIYAML(*call) (reply, error) {
	return reply{status: http.StatusOK, contentType: "application/yaml; charset=utf-8", body: OpenAPI.YAML()}, nil
}

func (m *Management) openAPIJSON(*call) (reply, error) {
	return reply{status: http.StatusOK, contentType: web.JSONType, body: OpenAPI.JSON()}, nil
}

package httpapi

import (
	_ "embed"
	"strings"

	"waybill/adapters/web"
	"waybill/domain"
)

//go:embed openapi.yaml
var openAPIYAML []byte

// OpenAPI holds the OpenAPI description of the public API. The API serves it at
// /v1/openapi.yaml and .json, with the addresses of its servers.
var OpenAPI = web.DescriptionOf(openAPIYAML)

// The addresses that the document has for each environment.
const (
	documentedLive    = "http://127.0.0.1:8080/v1"
	documentedSandbox = "http://127.0.0.1:8081/v1"
)

// described returns the document with the public addresses of the two APIs.
func (a *API) described(document []byte) []byte {
	live, sandbox := a.BaseURL, a.OtherBaseURL
	if a.Environment == domain.Sandbox {
		live, sandbox = sandbox, live
	}
	return Described(document, live, sandbox)
}

// Described returns a form of the document with these two base URLs in place of the development
// addresses.
func Described(document []byte, live, sandbox string) []byte {
	return []byte(strings.NewReplacer(
		documentedLive, live, documentedSandbox, sandbox, docsURL(documentedSandbox), docsURL(sandbox),
		" (development default)", "",
	).Replace(string(document)))
}

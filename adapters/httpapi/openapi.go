package httpapi

import (
	_ "embed"
	"strings"

	"waybill/adapters/web"
	"waybill/domain"
)

//go:embed openapi.yaml
var openAPIYAML []byte

// OpenAPI is the description of the public API; under /v1/openapi.yaml and .json it is
// served with the addresses of the servers it is about.
var OpenAPI = web.DescriptionOf(openAPIYAML)

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

package architecture

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const module = "waybill"

// topLevel is everything that may stand at the root; dot files may too.
var topLevel = []string{
	"domain", "application", "adapters", "ports", "cmd", "configs", "test",
	"go.mod", "go.sum", "Makefile", "README.md",
}

// arrows lists, for a use-case package, the other ones it may import.
var arrows = map[string][]string{
	"application/admission":       {"application/lookups", "application/tenancy"},
	"application/people":          {"application/audit"},
	"application/bulk":            {"application/deliveries", "application/idempotency"},
	"application/deliveries":      {"application/idempotency", "application/quotes"},
	"application/operations":      {"application/audit", "application/deliveries"},
	"application/endpoints":       {"application/audit", "application/signatures", "application/webhooks"},
	"application/handling":        {"application/audit", "application/deliveries", "application/idempotency"},
	"application/moves":           {"application/audit", "application/idempotency", "application/operations"},
	"application/machinery":       {"application/audit"},
	"application/pickuplocations": {"application/audit", "application/idempotency"},
	"application/recipients":      {"application/idempotency"},
	"application/sandbox":         {"application/deliveries", "application/idempotency"},
	"application/tenancy":         {"application/audit"},
	"application/tracking":        {"application/lookups"},
	"application/webhooks":        {"application/audit", "application/idempotency"},
}

// edges are the adapters through which calls come in: they alone may import the
// use cases. Each is one folder below adapters; every other adapter is
// adapters/<port>/<technology>.
var edges = []string{"adapters/httpapi", "adapters/opsapi", "adapters/trackingpage", "adapters/docsite", "adapters/portal",
	"adapters/console", "adapters/cli", "adapters/periodic"}

// clients are no adapters of a port: a folder for each language in which the
// public API is called.
const clients = "adapters/clients"

// shared is what adapters of several ports have in common: upstream of services over
// the network, batch of what is cheaper for many at a time, hear of channels of a Redis.
// These are no adapters of a port, and import domain only.
var shared = []string{"adapters/upstream", "adapters/batch", "adapters/redis/hear"}

// kit is what the edges share: JSON in and out, queries, cursors, envelopes and
// connections; pages: layout, tokens and parts. Edges and no other adapter import
// them; they import domain and ports.
const (
	kit   = "adapters/web"
	pages = "adapters/pages"
)

// site is what the web sites that people sign in to share: sessions, the pages for signing
// in, forms and streams. It calls use cases and is built of what edges share; edges and no
// other adapter import it.
const site = "adapters/site"

// cli are the commands: term, settings, admin, integrator and doctor are one edge.
const cli = "adapters/cli"

// beyond lists what a package of the commands may import besides what an edge may.
// Commands are where people meet the settings. An integrator's commands play an
// integrator, so that they call the API by the client that is published, which is
// a package to be copied and imports nothing of ours.
var beyond = map[string][]string{
	cli:                 {"configs"},
	cli + "/integrator": {"adapters/clients/go/waybillapi"},
	cli + "/mcp":        {"adapters/clients/go/waybillapi"},
}

// withoutUseCases lists packages of edges that only call the API, or call nothing.
var withoutUseCases = []string{cli + "/integrator", cli + "/mcp", cli + "/settings", cli + "/term"}

// testArrows lists what _test.go files below a folder may import besides what
// its code may, test/* and ports/mocks. Behaviour of use cases and handlers is
// shown on a real database in memory; a mock would only repeat the test.
var testArrows = map[string][]string{
	"application":           {"adapters/storage/gormstore", "adapters/passkeys/gowebauthn"},
	"adapters/httpapi":      {"adapters/storage/gormstore"},
	"adapters/opsapi":       {"adapters/storage/gormstore"},
	"adapters/trackingpage": {"adapters/storage/gormstore"},
	"adapters/docsite":      {"adapters/httpapi", "adapters/storage/gormstore"},
	"adapters/console": {
		"adapters/storage/gormstore", "adapters/passkeys/gowebauthn", "adapters/portal", "adapters/identity/oidcprovider",
		"adapters/normalizer/international", "adapters/maptiles/pmtiles",
	},
	"adapters/portal": {
		"adapters/storage/gormstore", "adapters/passkeys/gowebauthn", "adapters/httpapi", "adapters/normalizer/international",
		"adapters/sealer/aesgcm",
	},
}

// homes lists the only folders that may import a technology, so that it can be
// replaced there. Tests may import any.
var homes = map[string][]string{
	"github.com/gin-gonic/gin": {"adapters/web", "adapters/httpapi", "adapters/opsapi", "adapters/trackingpage", "adapters/docsite",
		"adapters/portal", "adapters/console", site},
	"gorm.io":                  {"adapters/storage"},
	"github.com/hibiken/asynq": {"adapters/queue"},
	"github.com/redis/go-redis": {"adapters/redis/autopipeline", "adapters/redis/connect", "adapters/redis/hear",
		"adapters/ratelimit/redislimiter", "adapters/locks/redislocks", "adapters/invalidations/redispubsub", "adapters/queue/asynqqueue", "cmd"},
	"github.com/cockroachdb/apd":      {"adapters/web/strictjson", "adapters/pricing/httppricing"},
	"go.opentelemetry.io":             {"adapters/tracing"},
	"github.com/spf13/cobra":          {cli, "cmd"},
	"github.com/schollz":              {cli + "/term"},
	"github.com/google/wire":          {"cmd"},
	"github.com/golang/mock":          {"ports/mocks"},
	"github.com/go-webauthn/webauthn": {"adapters/passkeys"},
	"github.com/coreos/go-oidc":       {"adapters/identity"},
	"golang.org/x/oauth2":             {"adapters/identity"},
	"github.com/wneessen/go-mail":     {"adapters/mail/smtp"},
	"github.com/modelcontextprotocol": {cli + "/mcp"},
	"github.com/google/jsonschema-go": {cli + "/mcp"},
}

// assertions are libraries that say again what package testing and go-cmp say. A test
// has one vocabulary: if, Fatal or Error, and cmp.Diff.
var assertions = []string{"github.com/stretchr/testify", "github.com/go-openapi/testify", "github.com/onsi/gomega", "gotest.tools"}

// templates are the standard library's, which call methods by names that are known at run
// time only. Where one of them makes a page the linker keeps every exported method of every
// type, a quarter of the binary. The same templates without calls of methods are in the module
// that the value names.
var templates = map[string]string{
	"html/template": "github.com/DataDog/datadog-agent/pkg/template/html",
	"text/template": "github.com/DataDog/datadog-agent/pkg/template/text",
}

// edgeFormats are what callers write. An edge reads them, so that a use case takes
// values and not a text.
var edgeFormats = []string{"encoding/csv", "encoding/xml", "mime/multipart", "html/template",
	"github.com/DataDog/datadog-agent/pkg/template/html", "net/http"}

// source is one Go file: the package it lies in, as a path below the module,
// and the paths it imports.
type source struct {
	file    string
	pkg     string
	test    bool // _test.go
	imports []string
}

// check returns a sentence for each breach of the rules; none means the house
// is in order.
func check(sources []source) []string {
	var breaches []string
	for _, s := range sources {
		if reason := misplaced(s.pkg); reason != "" {
			breaches = append(breaches, fmt.Sprintf("%s: %s", s.file, reason))
			continue
		}
		for _, imported := range s.imports {
			if reason := refuse(s, imported); reason != "" {
				breaches = append(breaches, fmt.Sprintf("%s imports %s: %s", s.file, imported, reason))
			}
		}
	}
	return breaches
}

// misplaced returns why no package may have this path, or "".
func misplaced(pkg string) string {
	layer, below, _ := strings.Cut(pkg, "/")
	switch layer {
	case "domain":
		if below != "" {
			return "domain is one flat package; move the file up"
		}
	case "ports":
		if below != "" && below != "mocks" {
			return "ports is one flat package, beside it only ports/mocks"
		}
	case "application":
		if below == "" {
			return "a use case lies in a package per area, application/<area>"
		}
	case "adapters":
		if adapter(pkg) == "" {
			return "an adapter lies at adapters/<port>/<technology>"
		}
	case "cmd", "configs", "test":
	default:
		return "no layer of this project; see the tour in README.md"
	}
	return ""
}

// refuse returns why the file may not import the path, or "".
func refuse(s source, imported string) string {
	ours, isOurs := strings.CutPrefix(imported, module+"/")
	switch {
	case imported == module:
		return "the root holds no package"
	case slices.ContainsFunc(assertions, func(library string) bool { return within(imported, library) }):
		return "a test compares by go-cmp and says what is wrong by package testing"
	case isOurs && s.test:
		return refuseInTest(s.pkg, ours)
	case isOurs:
		return refuseOurs(s.pkg, ours)
	case s.test:
		return ""
	case within(s.pkg, "application") && slices.Contains(edgeFormats, imported):
		return "what callers write is read by an edge; let the use case take its values"
	case !within(s.pkg, "test") && templates[imported] != "":
		return "it makes the linker keep what is never called; take " + templates[imported]
	case isStandard(imported):
		return ""
	default:
		return refuseForeign(s.pkg, imported)
	}
}

// refuseOurs holds the table of layers.
func refuseOurs(pkg, imported string) string {
	layer, _, _ := strings.Cut(pkg, "/")
	switch {
	case layer == "test":
		return ""
	case within(imported, "test"):
		return "test/* is for _test.go files and test programs"
	case within(imported, "ports/mocks"):
		return "mocks are for tests"
	case within(imported, "cmd") && layer != "cmd":
		return "nothing imports a command"
	}

	switch layer {
	case "domain":
		return "domain imports the standard library only"
	case "ports":
		if imported == "domain" || pkg == "ports/mocks" && imported == "ports" {
			return ""
		}
		return "ports import domain only"
	case "application":
		if isCore(imported) || area(imported) == area(pkg) || slices.Contains(arrows[area(pkg)], area(imported)) {
			return ""
		}
		if within(imported, "application") {
			return "no arrow leads from this use-case package to that one; move the shared rule to domain, or add the arrow in test/architecture " +
				"with the README"
		}
		return "use cases import domain and ports only; let a port carry it"
	case "adapters":
		if within(pkg, clients) && adapter(imported) != adapter(pkg) {
			return "a client is copied into other people's code and imports nothing of ours"
		}
		if slices.Contains(shared, pkg) && imported != "domain" {
			return "what adapters share imports domain only"
		}
		if isCore(imported) || adapter(imported) == adapter(pkg) {
			return ""
		}
		if within(pkg, kit) || within(pkg, pages) {
			return "what the edges share imports domain and ports only"
		}
		if slices.Contains(shared, imported) {
			return ""
		}
		for folder, allowed := range beyond {
			if within(pkg, folder) && slices.Contains(allowed, imported) {
				return ""
			}
		}
		if within(imported, "application") && slices.Contains(withoutUseCases, pkg) {
			return "what an integrator runs calls the API, and what all commands share calls nothing; use cases are for the other commands"
		}
		fromEdge := slices.Contains(edges, adapter(pkg))
		if within(imported, "application") && (fromEdge || pkg == site) {
			return ""
		}
		if (within(imported, kit) || within(imported, pages)) && (fromEdge || pkg == site) || imported == site && fromEdge {
			return ""
		}
		if within(imported, "adapters") {
			return "an adapter never imports a sibling; cmd joins them"
		}
		return "adapters import domain and ports; only " + strings.Join(edges, ", ") + " import the use cases"
	case "configs":
		return "configs imports nothing of ours"
	default: // cmd
		return ""
	}
}

// refuseInTest lets tests reach what their package may, what it is tested with,
// and the package itself.
func refuseInTest(pkg, imported string) string {
	if imported == pkg || within(imported, "test") || imported == "ports/mocks" {
		return ""
	}
	for folder, allowed := range testArrows {
		if within(pkg, folder) && slices.Contains(allowed, imported) {
			return ""
		}
	}
	return refuseOurs(pkg, imported)
}

func refuseForeign(pkg, imported string) string {
	layer, _, _ := strings.Cut(pkg, "/")
	switch {
	case layer == "test":
		return ""
	case within(pkg, clients):
		return "a client needs the standard library only, so that it can be copied"
	case layer == "domain", layer == "application", pkg == "ports":
		return layer + " imports no third-party module; put it behind a port"
	}
	for technology, folders := range homes {
		if within(imported, technology) && !slices.ContainsFunc(folders, func(f string) bool { return within(pkg, f) }) {
			return fmt.Sprintf("%s stays in %s", technology, strings.Join(folders, ", "))
		}
	}
	return ""
}

func isCore(pkg string) bool { return pkg == "domain" || pkg == "ports" }

// isStandard reports whether the path is of the standard library, whose first
// element never has a dot. "C" is not: the project builds without cgo.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".") && imported != "C"
}

// area returns application/<area>, or "" for another path.
func area(pkg string) string { return head(pkg, "application", 2) }

// adapter returns the folder of the adapter that the package belongs to, or ""
// where it belongs to none.
func adapter(pkg string) string {
	if two := head(pkg, "adapters", 2); slices.Contains(shared, two) || two == kit || two == pages || two == site ||
		slices.Contains(edges, two) {
		return two
	}
	return head(pkg, "adapters", 3)
}

// head returns the first n elements of a path below layer, or "" where it has
// fewer.
func head(pkg, layer string, n int) string {
	elements := strings.Split(pkg, "/")
	if elements[0] != layer || len(elements) < n {
		return ""
	}
	return path.Join(elements[:n]...)
}

// within reports whether pkg is folder or lies below it.
func within(pkg, folder string) bool {
	return pkg == folder || strings.HasPrefix(pkg, folder+"/")
}

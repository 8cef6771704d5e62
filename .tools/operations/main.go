// Command operations writes what has an entry for each operation of the public API: the
// requests of the Bruno collection, and the table of the client in TypeScript.
//
// Bruno's own converter (@usebruno/converters 0.23) was tried: it sends one fixed
// Idempotency-Key, turns on example cursors and filters that match nothing, names IDs that
// answer 404, writes no tests, and adds 3 MB of examples and 118 packages.
package main

import (
	"bytes"
	"embed"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/getkin/kin-openapi/openapi3"

	"waybill/adapters/httpapi"
)

// made are the variables that a request leaves an ID in, for those after it.
var made = map[string]string{
	"createRecipient": "recipient_id: res.body.data.id", "createRecipientAddress": "address_id: res.body.data.id",
	"createPickupLocation": "pickup_location_id: res.body.data.id", "createDelivery": "delivery_id: res.body.data.id",
	"createDeliveries":      "delivery_id: res.body.data.results[0].delivery.id",
	"createWebhookEndpoint": "webhook_endpoint_id: res.body.data.id", "testWebhookEndpoint": "webhook_delivery_id: res.body.data.id",
	"createWebhookListener": "webhook_listener_id: res.body.data.id",
}

// last come at the end of their folders: they end what others need. The first delivery of
// the bulk is the one that the test helpers move; a simulation starts before a transition.
var last = []string{"cancelDelivery", "createDeliveries", "deleteWebhookEndpoint", "deleteWebhookListener", "transitionDelivery"}

// replaced is what an example has and the user does not, or what may be sent once only.
var replaced = map[string]string{
	`"rcp_\w{32}"`: `"{{recipient_id}}"`, `"adr_\w{32}"`: `"{{address_id}}"`, `"pkp_\w{32}"`: `"{{pickup_location_id}}"`,
	`"whd_\w{32}"`: `"{{webhook_delivery_id}}"`, `("url": )".*"`: `$1"{{webhook_url}}"`, `("wait_seconds": )\d+`: `${1}1`,
	`("external_id": )".*"`: `$1"order-{{$$randomUUID}}"`, `("since": )".*"`: `$1"{{$$isoTimestamp}}"`,
}

type operation struct {
	*openapi3.Operation
	Method, Path, Body, Key, Answer, Made string
	Query, IDs                            []*openapi3.Parameter
	Codes                                 []string // of success
	Seq                                   int      // in its folder
}

//go:embed *.tmpl
var files embed.FS

func main() {
	log.SetFlags(0)
	doc, err := openapi3.NewLoader().LoadFromData(httpapi.OpenAPI.YAML())
	check(err)
	var all []*operation
	for _, described := range httpapi.Operations() {
		method, path, _ := strings.Cut(described.Route, " /v1")
		item := doc.Paths.Find(path)
		op := &operation{Operation: item.GetOperation(method), Method: method, Path: path, Body: described.Sample, Key: "none", Answer: "data"}
		op.Made = made[op.OperationID]
		for pattern, with := range replaced {
			op.Body = regexp.MustCompile(pattern).ReplaceAllString(op.Body, with)
		}
		for _, p := range slices.Concat(item.Parameters, op.Parameters) {
			switch p := p.Value; {
			case p.In == "query":
				op.Query = append(op.Query, p)
			case p.In == "path":
				op.IDs = append(op.IDs, p)
			case p.Name == "Idempotency-Key":
				op.Key = map[bool]string{true: "required", false: "optional"}[p.Required]
			}
		}
		for code, response := range op.Responses.Map() {
			if code[0] != '2' {
				continue
			}
			op.Codes = append(op.Codes, code)
			if answer := response.Value.Content.Get("application/json"); answer == nil || answer.Schema.Value.Properties["data"] == nil {
				op.Answer = "raw"
			} else if answer.Schema.Value.Properties["meta"] != nil {
				op.Answer = "page"
			}
		}
		slices.Sort(op.Codes)
		all = append(all, op)
	}
	write("adapters/clients/typescript/src/operations.ts", "operations.ts.tmpl", all)

	bruno := "adapters/clients/bruno/"
	old, _ := filepath.Glob(bruno + "*/*-*.bru") // requests alone have a hyphen in their names
	for _, file := range old {
		check(os.Remove(file))
	}
	slices.SortStableFunc(all, func(a, b *operation) int {
		return slices.Index(last, a.OperationID) - slices.Index(last, b.OperationID)
	})
	count := map[string]int{}
	for _, op := range all {
		count[op.Tags[0]]++
		op.Seq = count[op.Tags[0]]
		write(bruno+kebab(op.Tags[0])+"/"+kebab(op.OperationID)+".bru", "request.bru.tmpl", op)
	}
}

// kebab returns a name of a file: create-delivery of createDelivery.
func kebab(name string) string {
	return strings.ToLower(regexp.MustCompile(` |\B([A-Z])`).ReplaceAllString(name, "-$1"))
}

func write(file, by string, from any) {
	functions := template.FuncMap{"join": strings.Join, "lower": strings.ToLower,
		"colons": func(path string) string { return regexp.MustCompile(`{(\w+)}`).ReplaceAllString(path, ":$1") },
		"indent": func(text string) string {
			return regexp.MustCompile(`(?m)^.`).ReplaceAllString(strings.TrimSpace(text), "  $0")
		}}
	var b bytes.Buffer
	check(template.Must(template.New("").Delims("[[", "]]").Funcs(functions).ParseFS(files, "*.tmpl")).ExecuteTemplate(&b, by, from))
	check(os.WriteFile(file, b.Bytes(), 0o644)) //nolint:gosec // a source file
}

func check(err error) {
	if err != nil {
		log.Fatal("operations: ", err)
	}
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is the description, read so far as clients need it. It keeps the
// order in which things are written.
type document struct {
	root       *yaml.Node
	operations []*operation
	names      []string // of the schemas
	webhook    *yaml.Node
}

// operation is one call.
type operation struct {
	id, method, path, tag, summary, description string

	pathParams, query []parameter
	key               string // Idempotency-Key: "", "optional" or "required"
	notModified       bool   // takes If-None-Match
	sandboxOnly       bool
	open              bool // needs no API key

	body         *yaml.Node // schema, nil for none
	bodyRequired bool
	bodyExamples *yaml.Node

	successes []int
	data      *yaml.Node // schema of data in the first success, nil for a raw body
	paged     bool       // data is a list that has a cursor
}

// parameter is one of the path or the query.
type parameter struct {
	name, description string
	schema            *yaml.Node
	example           string
}

// read understands the text of a description.
func read(text []byte) (*document, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	d := &document{root: file.Content[0]}
	for name := range entries(at(d.root, "components", "schemas")) {
		// What is around the data of each response is written by hand in each client.
		if !strings.HasSuffix(name, "Response") && !slices.Contains([]string{"Error", "ErrorCode", "StatusCode", "Message"}, name) {
			d.names = append(d.names, name)
		}
	}
	for path, item := range entries(at(d.root, "paths")) {
		for method, node := range entries(item) {
			if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) {
				continue
			}
			op, err := d.operation(path, method, item, node)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", strings.ToUpper(method), path, err)
			}
			d.operations = append(d.operations, op)
		}
	}
	if len(d.operations) == 0 {
		return nil, fmt.Errorf("read the description: it has no operation")
	}
	d.webhook = at(d.root, "webhooks", "event", "post", "requestBody", "content", "application/json", "schema")
	return d, nil
}

func (d *document) operation(path, method string, item, node *yaml.Node) (*operation, error) {
	op := &operation{
		id: text(node, "operationId"), method: strings.ToUpper(method), path: path,
		summary: text(node, "summary"), description: text(node, "description"),
		sandboxOnly: text(node, "x-waybill-sandbox-only") == "true",
	}
	if op.id == "" {
		return nil, fmt.Errorf("there is no operationId")
	}
	if tags := at(node, "tags"); tags != nil {
		op.tag = tags.Content[0].Value
	}
	if security := at(node, "security"); security != nil && len(security.Content) == 0 {
		op.open = true
	}
	for _, list := range []*yaml.Node{at(item, "parameters"), at(node, "parameters")} {
		for _, one := range items(list) {
			if err := op.take(d.follow(one)); err != nil {
				return nil, err
			}
		}
	}
	if body := at(node, "requestBody"); body != nil {
		op.bodyRequired = text(body, "required") == "true"
		op.body = at(body, "content", "application/json", "schema")
		op.bodyExamples = at(body, "content", "application/json", "examples")
		if op.body == nil {
			return nil, fmt.Errorf("the body is not JSON, which no client here can send")
		}
	}
	return op, d.answers(op, at(node, "responses"))
}

// take sorts a parameter in. X-Request-ID is for every call and written by hand
// in each client.
func (op *operation) take(node *yaml.Node) error {
	p := parameter{name: text(node, "name"), description: text(node, "description"), schema: at(node, "schema"),
		example: text(node, "example")}
	switch in := text(node, "in"); {
	case in == "path":
		op.pathParams = append(op.pathParams, p)
	case in == "query":
		op.query = append(op.query, p)
	case p.name == "Idempotency-Key":
		op.key = "optional"
		if text(node, "required") == "true" {
			op.key = "required"
		}
	case p.name == "If-None-Match":
		op.notModified = true
	case p.name == "X-Request-ID":
	default:
		return fmt.Errorf("no client knows the parameter %s in %s; teach them", p.name, in)
	}
	return nil
}

// answers reads the successes: all of one call have the same kind of data.
func (d *document) answers(op *operation, responses *yaml.Node) error {
	for code, response := range entries(responses) {
		if !strings.HasPrefix(code, "2") {
			continue
		}
		status := 0
		if _, err := fmt.Sscanf(code, "%d", &status); err != nil {
			return fmt.Errorf("answer %s: %w", code, err)
		}
		op.successes = append(op.successes, status)
		if len(op.successes) > 1 {
			continue
		}
		schema := d.follow(at(d.follow(response), "content", "application/json", "schema"))
		op.data = at(schema, "properties", "data")
		op.paged = at(schema, "properties", "meta") != nil
	}
	if len(op.successes) == 0 {
		return fmt.Errorf("it cannot succeed")
	}
	return nil
}

// follow returns what a $ref leads to, or the node itself.
func (d *document) follow(node *yaml.Node) *yaml.Node {
	for ref := text(node, "$ref"); ref != ""; ref = text(node, "$ref") {
		node = at(d.root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		if node == nil {
			panic(fmt.Sprintf("the description refers to %s, which is not in it", ref))
		}
	}
	return node
}

func (d *document) schema(name string) *yaml.Node {
	return at(d.root, "components", "schemas", name)
}

// target is the name of the schema that a $ref leads to, or "".
func target(node *yaml.Node) string {
	return strings.TrimPrefix(text(node, "$ref"), "#/components/schemas/")
}

// at follows names through mappings; nil where one is missing.
func at(node *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		var next *yaml.Node
		for key, value := range entries(node) {
			if key == name {
				next = value
			}
		}
		node = next
	}
	return node
}

// text is the scalar of that name in a mapping, without spaces around it, or "".
func text(node *yaml.Node, name string) string {
	value := at(node, name)
	if value == nil || value.Kind != yaml.ScalarNode {
		return ""
	}
	return strings.TrimSpace(value.Value)
}

// entries walks a mapping in its order; anything else has none.
func entries(node *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i < len(node.Content); i += 2 {
			if !yield(node.Content[i].Value, node.Content[i+1]) {
				return
			}
		}
	}
}

// items are the elements of a list; anything else has none.
func items(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	return node.Content
}

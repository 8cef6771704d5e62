package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// last orders the requests of a folder, so that all of them, run from top to
// bottom, find what they need: what ends a record comes after what uses it. The
// others keep the order of the description.
var last = map[string]int{
	"cancelDelivery":        1,
	"createDeliveries":      2, // its first delivery is the one that the test helpers move
	"deleteWebhookEndpoint": 1,
	"deleteWebhookListener": 1,
	"transitionDelivery":    1, // a simulation starts from booked
}

// variables hold, for the prefix of an ID in an example, the variable that a
// request further up leaves one in.
var variables = map[string]string{
	"rcp_": "recipient_id", "adr_": "address_id", "pkp_": "pickup_location_id", "dlv_": "delivery_id",
	"whe_": "webhook_endpoint_id", "whd_": "webhook_delivery_id",
}

func renderBruno(d *document, files map[string][]byte) error {
	put := func(name, text string) { files["bruno/"+name] = []byte(text) }
	put("bruno.json", `{
  "version": "1",
  "name": "Waybill Delivery API",
  "type": "collection",
  "ignore": ["node_modules", ".git"]
}
`)
	put("collection.bru", block("auth", "mode: bearer")+"\n"+block("auth:bearer", "token: {{api_key}}")+"\n"+
		block("docs", "Generated from the description of the API. Choose an environment, give it your key as the secret",
			"`api_key`, and send. Requests that create leave the ID of what they made in a variable, which the",
			"others use: run the folders from top to bottom, or a create first. Webhooks go to `webhook_url`."))
	const receiver = "https://example.com/hooks" // to be replaced by the user's own
	for _, server := range items(at(d.root, "servers")) {
		name, _, _ := strings.Cut(strings.ToLower(text(server, "description")), " ")
		put("environments/"+name+".bru", block("vars", "base_url: "+text(server, "url"), "webhook_url: "+receiver)+
			"vars:secret [\n  api_key\n]\n")
	}

	var folders []string
	requests := map[string][]*operation{}
	for _, op := range d.operations {
		if !slices.Contains(folders, op.tag) {
			folders = append(folders, op.tag)
		}
		requests[op.tag] = append(requests[op.tag], op)
	}
	for i, tag := range folders {
		folder := kebab(tag)
		put(folder+"/folder.bru", block("meta", "name: "+tag, "seq: "+strconv.Itoa(i+1))+"\n"+block("auth", "mode: inherit"))
		slices.SortStableFunc(requests[tag], func(a, b *operation) int { return last[a.id] - last[b.id] })
		for n, op := range requests[tag] {
			text, err := d.request(op, n+1)
			if err != nil {
				return fmt.Errorf("%s: %w", op.id, err)
			}
			put(folder+"/"+kebab(op.id)+".bru", text)
		}
	}
	return nil
}

// request is the file of one operation.
func (d *document) request(op *operation, seq int) (string, error) {
	path, body, auth := op.path, "none", "inherit"
	for _, p := range op.pathParams {
		path = strings.Replace(path, "{"+p.name+"}", ":"+p.name, 1)
	}
	if op.body != nil {
		body = "json"
	}
	if op.open {
		auth = "none"
	}
	blocks := []string{
		block("meta", "name: "+op.summary, "type: http", "seq: "+strconv.Itoa(seq)),
		block(strings.ToLower(op.method), "url: {{base_url}}"+path, "body: "+body, "auth: "+auth),
	}
	add := func(name string, lines ...string) {
		if len(lines) > 0 {
			blocks = append(blocks, block(name, lines...))
		}
	}
	var query, ids, headers, vars []string
	for _, p := range op.query {
		query = append(query, "~"+p.name+": "+p.example) // switched off
	}
	for _, p := range op.pathParams {
		ids = append(ids, p.name+": {{"+p.name+"}}")
	}
	if op.key != "" {
		headers = append(headers, "Idempotency-Key: {{$randomUUID}}")
	}
	add("params:query", query...)
	add("params:path", ids...)
	add("headers", headers...)
	if op.body != nil {
		example, err := d.bodyExample(op)
		if err != nil {
			return "", err
		}
		add("body:json", strings.Split(example, "\n")...)
	}
	if name, where := d.leaves(op); name != "" {
		vars = append(vars, name+": "+where)
	}
	add("vars:post-response", vars...)
	codes := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(op.successes)), ", "), "[]")
	add("tests", `test("the status is `+strings.ReplaceAll(codes, ", ", " or ")+`", function () {`,
		"  expect(["+codes+"]).to.include(res.getStatus());", "});")
	add("docs", strings.Split(op.description, "\n")...)
	return strings.Join(blocks, "\n"), nil
}

// bodyExample is the first example of the body, as JSON, with variables in the
// place of IDs and of what may be used once only.
func (d *document) bodyExample(op *operation) (string, error) {
	for _, example := range entries(op.bodyExamples) {
		var b strings.Builder
		if err := writeJSON(&b, at(example, "value"), "", ""); err != nil {
			return "", err
		}
		return b.String(), nil
	}
	if op.bodyRequired {
		return "", fmt.Errorf("its body has no example")
	}
	return "{}", nil
}

// leaves tells which variable takes an ID from the answer of a create.
func (d *document) leaves(op *operation) (name, where string) {
	if op.method != "POST" || op.data == nil {
		return "", ""
	}
	if op.id == "createDeliveries" {
		return "delivery_id", "res.body.data.results[0].delivery.id"
	}
	for _, other := range d.operations {
		if rest, below := strings.CutPrefix(other.path, op.path+"/{"); below {
			name, _, _ = strings.Cut(rest, "}")
			return name, "res.body.data.id"
		}
	}
	for _, f := range (&goTypes{d: d}).own(d.follow(op.data)) {
		if f.name != "id" {
			continue
		}
		for _, variable := range variables {
			if kebab(target(f.forms[0])) == strings.ReplaceAll(variable, "_", "-") && !strings.Contains(op.path, variable) {
				return variable, "res.body.data.id"
			}
		}
	}
	return "", ""
}

// writeJSON writes a value in the order of the description.
func writeJSON(b *strings.Builder, node *yaml.Node, name, indent string) error {
	open, end := "{", "}"
	switch node.Kind {
	case yaml.MappingNode:
	case yaml.SequenceNode:
		open, end = "[", "]"
	default:
		return writeScalar(b, node, name)
	}
	if len(node.Content) == 0 {
		b.WriteString(open + end)
		return nil
	}
	b.WriteString(open)
	deeper, separator := indent+"  ", "\n"
	next := func(label, name string, value *yaml.Node) error {
		b.WriteString(separator + deeper + label)
		separator = ",\n"
		return writeJSON(b, value, name, deeper)
	}
	for key, value := range entries(node) {
		if err := next(strconv.Quote(key)+": ", key, value); err != nil {
			return err
		}
	}
	for _, item := range items(node) {
		if err := next("", name, item); err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent + end)
	return nil
}

func writeScalar(b *strings.Builder, node *yaml.Node, name string) error {
	var value any
	if err := node.Decode(&value); err != nil {
		return err
	}
	if _, is := value.(string); is {
		value = node.Value
		if variable := variables[node.Value[:min(4, len(node.Value))]]; variable != "" && len(node.Value) == 36 {
			value = "{{" + variable + "}}"
		}
	}
	switch name {
	case "external_id":
		value = "order-{{$randomUUID}}" // once for an application
	case "since":
		value = "{{$isoTimestamp}}" // of the last 30 days
	case "wait_seconds":
		value = 1 // for a person to look at
	case "url":
		value = "{{webhook_url}}" // a variable of the environment
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	b.Write(text)
	return nil
}

// block is one part of a .bru file.
func block(name string, lines ...string) string {
	var b strings.Builder
	b.WriteString(name + " {\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// kebab is a name of a file: createDelivery is create-delivery.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r >= 'A' && r <= 'Z':
			if i > 0 && name[i-1] != ' ' {
				b.WriteByte('-')
			}
			b.WriteRune(r - 'A' + 'a')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

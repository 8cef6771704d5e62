package docsite

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The reference as Markdown: calls in the order of their tags, with their parameters and responses,
// and then every named schema.

type (
	referenceDocument struct {
		Info struct{ Version, Description string }
		Tags []struct{ Name, Description string }
		// A path has calls and, below "parameters", the parameters of all of them.
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas    map[string]*schema
			Responses  map[string]*referenceAnswer
			Parameters map[string]*parameter
		}
	}
	referenceCall struct {
		Tags                 []string
		Summary, Description string
		Parameters           []*parameter
		RequestBody          struct{ Content map[string]content }
		Responses            map[string]*referenceAnswer
	}
	referenceAnswer struct {
		Ref         string `json:"$ref"`
		Description string
		Codes       []string `json:"x-waybill-codes"`
		Content     map[string]content
	}
	content   struct{ Schema *schema }
	parameter struct {
		Ref                   string `json:"$ref"`
		Name, In, Description string
		Required              bool
		Schema                *schema
	}
	schema struct {
		Ref                  string `json:"$ref"`
		Type, Const, Default any
		Description, Title   string
		Enum, Examples       []any
		Properties           map[string]*schema
		Required             []string
		Items                *schema
		AllOf, OneOf, AnyOf  []*schema
		Minimum, Maximum     *float64
		ExclusiveMinimum     *float64
		MinLength, MaxLength *int
		MinItems, MaxItems   *int
	}
)

// everyCall names a parameter of each call, which is described once.
const everyCall = "RequestId"

// referenceMarkdown returns the description of the API.
func referenceMarkdown(text []byte, p *page) (string, error) {
	var doc referenceDocument
	if err := json.Unmarshal(text, &doc); err != nil {
		return "", fmt.Errorf("the description of the API: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls, from [openapi.yaml](%s/openapi.yaml), which also has examples. To send them from a form, [try calls](%s). "+
		"[Errors](errors.md) has a page for each code.\n", p.Operations, p.Sandbox, p.Root+tryPath)
	every := doc.Components.Parameters[everyCall]
	fmt.Fprintf(&b, "\nEvery call takes the %s `%s`: %s\n", every.In, every.Name, strings.TrimSpace(every.Description))
	for _, tag := range doc.Tags {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", tag.Name, strings.TrimSpace(tag.Description))
		for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
			for _, method := range methods {
				if err := doc.writeCall(&b, tag.Name, method, path); err != nil {
					return "", err
				}
			}
		}
	}
	b.WriteString("\n## Schemas\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		if !strings.HasSuffix(name, "Response") { // each answer tells its data
			writeSchema(&b, name, doc.Components.Schemas[name])
		}
	}
	return b.String(), nil
}

func (doc *referenceDocument) writeCall(b *strings.Builder, tag, method, path string) error {
	raw := doc.Paths[path][method]
	if raw == nil {
		return nil
	}
	var call referenceCall
	if err := json.Unmarshal(raw, &call); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if !slices.Contains(call.Tags, tag) {
		return nil
	}
	var shared []*parameter
	if all := doc.Paths[path]["parameters"]; all != nil {
		if err := json.Unmarshal(all, &shared); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	fmt.Fprintf(b, "\n### %s %s\n\n**%s**\n\n%s\n", strings.ToUpper(method), path, call.Summary, strings.TrimSpace(call.Description))
	doc.writeParameters(b, append(shared, call.Parameters...))
	for _, body := range call.RequestBody.Content {
		fmt.Fprintf(b, "\nBody: %s\n", kindOf(body.Schema))
	}
	b.WriteString("\nResponses:\n\n")
	for _, status := range slices.Sorted(maps.Keys(call.Responses)) {
		answer := call.Responses[status]
		if answer.Ref != "" {
			answer = doc.Components.Responses[afterSlash(answer.Ref)]
		}
		fmt.Fprintf(b, "- `%s`%s\n", status, answer.what(doc))
	}
	return nil
}

func (doc *referenceDocument) writeParameters(b *strings.Builder, parameters []*parameter) {
	head := "\n| Parameter | In | Required | What it is |\n|---|---|---|---|\n"
	for _, p := range parameters {
		if name := afterSlash(p.Ref); name == everyCall {
			continue
		} else if name != "" {
			p = doc.Components.Parameters[name]
		}
		fmt.Fprintf(b, "%s| `%s` | %s | %s | %s |\n", head, p.Name, p.In, yes(p.Required), inCell(kindOf(p.Schema)+". "+p.Description))
		head = ""
	}
}

// what returns the codes of an error, whose pages explain them, or else the description and the
// data of a success.
func (a *referenceAnswer) what(doc *referenceDocument) string {
	told := ": " + oneLine(a.Description)
	body := a.Content["application/json"].Schema
	if body == nil {
		return told
	}
	if body.Ref != "" {
		body = doc.Components.Schemas[afterSlash(body.Ref)]
	}
	if data := body.Properties["data"]; data != nil {
		return told + " `data`: " + kindOf(data)
	}
	if len(a.Codes) == 0 {
		return told
	}
	var links []string
	for _, code := range slices.Sorted(slices.Values(a.Codes)) {
		links = append(links, "[`"+code+"`](errors/"+code+".md)")
	}
	return " " + strings.Join(links, ", ")
}

func writeSchema(b *strings.Builder, name string, s *schema) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", name, strings.TrimSpace(kindOf(s)+". "+oneLine(s.Description)))
	head := "\n| Field | Required | What it is |\n|---|---|---|\n"
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[field]
		fmt.Fprintf(b, "%s| `%s` | %s | %s |\n", head, field, yes(slices.Contains(s.Required, field)), inCell(kindOf(p)+". "+p.Description))
		head = ""
	}
}

// kindOf describes a type in words, with its limits.
func kindOf(s *schema) string {
	switch {
	case s == nil:
		return "any"
	case s.Ref != "":
		name := afterSlash(s.Ref)
		return "[" + name + "](#" + slug(name) + ")"
	case s.Const != nil:
		return fmt.Sprintf("`%v`", s.Const)
	case len(s.Enum) > 0:
		return "one of " + oneOf(s.Enum)
	case len(s.Examples) > 0:
		return "text, so far " + oneOf(s.Examples)
	case s.Items != nil:
		return "list of " + kindOf(s.Items) + bounds(s)
	}
	for word, parts := range map[string][]*schema{" and ": s.AllOf, " or ": s.OneOf} {
		if len(parts) > 0 && len(s.Properties) == 0 {
			return joined(parts, word)
		}
	}
	if kind, _ := s.Type.(string); kind != "" {
		return kind + bounds(s)
	}
	if kinds, _ := s.Type.([]any); len(kinds) > 0 {
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(kinds), "[]"), " ", " or ") + bounds(s)
	}
	return "object"
}

func joined(parts []*schema, word string) string {
	var kinds []string
	for _, part := range parts {
		kind := kindOf(part)
		if part.Title != "" {
			kind = strings.ToLower(part.Title[:1]) + part.Title[1:] + " (" + fields(part) + ")"
		}
		kinds = append(kinds, kind)
	}
	return strings.Join(slices.Compact(kinds), word)
}

// fields lists the fields of an object.
func fields(s *schema) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		names = append(names, "`"+name+"`: "+kindOf(s.Properties[name]))
	}
	if len(names) == 0 {
		return "`" + strings.Join(s.Required, "`, `") + "`"
	}
	return strings.Join(names, ", ")
}

func oneOf(values []any) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = fmt.Sprintf("`%v`", value)
	}
	return strings.Join(words, ", ")
}

// bounds returns the limits of a length, a number or a count.
func bounds(s *schema) string {
	var told []string
	for _, bound := range []struct {
		word string
		n    *int
	}{{"at least %d characters", s.MinLength}, {"at most %d characters", s.MaxLength}, {"at least %d", s.MinItems},
		{"at most %d", s.MaxItems}} {
		if bound.n != nil {
			told = append(told, fmt.Sprintf(bound.word, *bound.n))
		}
	}
	for word, n := range map[string]*float64{"from %v": s.Minimum, "to %v": s.Maximum, "over %v": s.ExclusiveMinimum} {
		if n != nil {
			told = append(told, fmt.Sprintf(word, *n))
		}
	}
	if s.Default != nil {
		told = append(told, fmt.Sprintf("`%v` if left out", s.Default))
	}
	slices.Sort(told)
	if len(told) == 0 {
		return ""
	}
	return ", " + strings.Join(told, ", ")
}

var reLines = regexp.MustCompile(`\s+`)

// oneLine returns a text without line ends.
func oneLine(text string) string { return strings.TrimSpace(reLines.ReplaceAllString(text, " ")) }

// inCell returns a text for a cell of a table.
func inCell(text string) string { return strings.ReplaceAll(oneLine(text), "|", `\|`) }

func afterSlash(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// goTypes writes a Go type for every schema, and for the objects and lists of
// values that lie inside one.
type goTypes struct {
	d       *document
	text    map[string]string   // declaration by name
	order   []string            // of the names
	enums   map[string][]string // values by name
	patches map[string]bool     // schemas in which an empty text is a change
}

// field is a property of an object, in as many forms as there are alternatives.
type field struct {
	name        string
	description string
	forms       []*yaml.Node
	required    bool
}

func newGoTypes(d *document) *goTypes {
	g := &goTypes{d: d, text: map[string]string{}, enums: map[string][]string{}, patches: map[string]bool{}}
	for _, op := range d.operations {
		if op.method == "PATCH" && op.body != nil {
			g.patches[goName(target(op.body))] = true
		}
	}
	// First, so that a list of the same values inside an object finds its name.
	for _, name := range d.names {
		if values := knownValues(d.schema(name)); values != nil {
			g.enum(goName(name), values, text(d.schema(name), "description"))
		}
	}
	for _, name := range d.names {
		g.declare(goName(name), d.schema(name))
	}
	return g
}

// declare writes the type of a schema that has a name.
func (g *goTypes) declare(name string, node *yaml.Node) {
	if _, done := g.text[name]; done {
		return
	}
	if fields := g.fields([]*yaml.Node{node}); len(fields) > 0 {
		g.structure(name, text(node, "description"), fields)
		return
	}
	g.put(name, comment(name, text(node, "description"))+"type "+name+" = "+g.plain([]*yaml.Node{node}, name+"Value"))
}

func (g *goTypes) put(name, declaration string) {
	if _, done := g.text[name]; !done {
		g.order = append(g.order, name)
	}
	g.text[name] = declaration
}

func (g *goTypes) structure(name, description string, fields []field) {
	g.put(name, "") // its place is before what lies inside
	var b strings.Builder
	b.WriteString(comment(name, description))
	fmt.Fprintf(&b, "type %s struct {\n", name)
	for _, f := range fields {
		if f.description != "" {
			b.WriteString(comment("", f.description))
		}
		goType, omit := g.fieldType(name, f)
		fmt.Fprintf(&b, "%s %s `json:\"%s%s\"`\n", goName(f.name), goType, f.name, omit)
	}
	b.WriteString("}")
	g.put(name, b.String())
}

// fieldType is the type of a field and what its tag says on leaving it out. A
// field is a pointer where it may be null, or may be left out and its zero value
// says something.
func (g *goTypes) fieldType(owner string, f field) (goType, omit string) {
	forms, null := g.flatten(f.forms)
	goType = g.plain(f.forms, strings.TrimSuffix(owner, "Fields")+goName(f.name))
	switch {
	case f.required && null:
		return "*" + goType, ""
	case f.required:
		return goType, ""
	case strings.HasPrefix(goType, "[]"), strings.HasPrefix(goType, "map["):
		return goType, ",omitempty"
	case g.zeroSays(owner, goType, forms):
		return "*" + goType, ",omitempty"
	default:
		return goType, ",omitzero"
	}
}

func (g *goTypes) zeroSays(owner, goType string, forms []*yaml.Node) bool {
	node := g.d.follow(forms[0])
	switch kind(node) {
	case "string":
		return g.patches[owner] && goType == "string" && text(node, "minLength") == "" && text(node, "pattern") == ""
	case "integer", "number":
		least, err := strconv.ParseFloat(text(node, "minimum"), 64)
		return (err != nil || least <= 0) && at(node, "exclusiveMinimum") == nil
	case "array":
		return false
	default:
		return true
	}
}

// plain is the type of a value that is not null.
func (g *goTypes) plain(nodes []*yaml.Node, hint string) string {
	forms, _ := g.flatten(nodes)
	if name := common(forms); name == "ErrorCode" || name != "" && slices.Contains(g.d.names, name) {
		return goName(name)
	}
	if fields := g.fields(forms); len(fields) > 0 {
		if _, done := g.text[hint]; !done {
			g.structure(hint, text(forms[0], "description"), fields)
		}
		return hint
	}
	node := g.d.follow(forms[0])
	switch kind(node) {
	case "string", "null":
		if text(node, "format") == "date-time" {
			return "time.Time"
		}
		return g.stringType(forms, hint)
	case "integer":
		return "int"
	case "number":
		return "float64"
	case "boolean":
		return "bool"
	case "array":
		return "[]" + g.plain([]*yaml.Node{at(node, "items")}, strings.TrimSuffix(hint, "s"))
	}
	if value := at(node, "additionalProperties"); value != nil && value.Kind == yaml.MappingNode {
		return "map[string]" + g.plain([]*yaml.Node{value}, hint+"Value")
	}
	return "map[string]any"
}

// stringType names the values where there are several. A list of them that has a
// name already keeps it.
func (g *goTypes) stringType(forms []*yaml.Node, hint string) string {
	var values []string
	for _, form := range forms {
		form = g.d.follow(form)
		for _, value := range append(knownValues(form), text(form, "const")) {
			if value != "" && !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
	}
	if len(values) < 2 {
		return "string"
	}
	for _, name := range slices.Sorted(maps.Keys(g.enums)) {
		if slices.Equal(slices.Sorted(slices.Values(g.enums[name])), slices.Sorted(slices.Values(values))) {
			return name
		}
	}
	g.enum(hint, values, "")
	return hint
}

func (g *goTypes) enum(name string, values []string, description string) {
	g.enums[name] = values
	var b strings.Builder
	b.WriteString(comment(name, description))
	fmt.Fprintf(&b, "type %s string\n\n// The values of %s so far.\nconst (\n", name, name)
	for _, value := range values {
		fmt.Fprintf(&b, "%s%s %s = %q\n", name, goName(value), name, value)
	}
	b.WriteString(")")
	g.put(name, b.String())
}

// flatten resolves alternatives, and what only narrows another schema, to a
// flat list; null reports that null is one of them.
func (g *goTypes) flatten(nodes []*yaml.Node) (forms []*yaml.Node, null bool) {
	for _, node := range nodes {
		if kind(node) == "null" {
			null = true
			continue
		}
		if types := scalars(at(node, "type")); slices.Contains(types, "null") {
			null = true
		}
		parts := items(at(node, "oneOf"))
		if all := items(at(node, "allOf")); len(all) > 0 && target(all[0]) != "" && at(node, "properties") == nil {
			parts = all[:1]
		}
		if len(parts) == 0 || at(node, "properties") != nil {
			forms = append(forms, node)
			continue
		}
		inner, nullable := g.flatten(parts)
		forms, null = append(forms, inner...), null || nullable
	}
	if len(forms) == 0 {
		forms = nodes // null and nothing else
	}
	return forms, null
}

// fields joins the properties of alternatives; required is what all of them
// require.
func (g *goTypes) fields(forms []*yaml.Node) []field {
	var joined []field
	for i, form := range forms {
		own := g.own(g.d.follow(form))
		for n := range joined {
			joined[n].required = joined[n].required && slices.ContainsFunc(own, func(f field) bool { return f.name == joined[n].name && f.required })
		}
		for _, f := range own {
			n := slices.IndexFunc(joined, func(known field) bool { return known.name == f.name })
			if n < 0 {
				f.required = f.required && i == 0
				joined = append(joined, f)
				continue
			}
			joined[n].forms = append(joined[n].forms, f.forms...)
		}
	}
	return joined
}

// own are the properties of one object, with those of the schemas it includes.
func (g *goTypes) own(node *yaml.Node) []field {
	required := scalars(at(node, "required"))
	var fields []field
	for _, part := range items(at(node, "allOf")) {
		if target(part) != "" {
			fields = append(fields, g.own(g.d.follow(part))...)
		}
	}
	for name, property := range entries(at(node, "properties")) {
		fields = append(fields, field{
			name: name, description: text(property, "description"), forms: []*yaml.Node{property},
			required: slices.Contains(required, name),
		})
	}
	if len(fields) == 0 {
		if forms, _ := g.flatten([]*yaml.Node{node}); len(forms) > 1 {
			return g.fields(forms)
		}
	}
	return fields
}

// common is the name of the one schema that all forms refer to, or "".
func common(forms []*yaml.Node) string {
	name := target(forms[0])
	for _, form := range forms {
		if target(form) != name {
			return ""
		}
	}
	return name
}

// kind is the type of a schema; where null is one of two, it is the other.
func kind(node *yaml.Node) string {
	for _, one := range scalars(at(node, "type")) {
		if one != "null" {
			return one
		}
	}
	return text(node, "type")
}

// knownValues are those of a list of texts: all there are, or where more may come the examples. A text with
// limits of its own is no such list.
func knownValues(node *yaml.Node) []string {
	if text(node, "type") != "string" || text(node, "minLength") != "" {
		return nil
	}
	if values := scalars(at(node, "enum")); values != nil {
		return values
	}
	return scalars(at(node, "examples"))
}

func scalars(node *yaml.Node) []string {
	var values []string
	for _, item := range items(node) {
		values = append(values, item.Value)
	}
	return values
}

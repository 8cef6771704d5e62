package configs

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Prefix begins the variable of every setting.
const Prefix = "WAYBILL_"

const (
	sourceDefault = "default"
	fileSuffix    = "_FILE"
	configEnv     = Prefix + "CONFIG"
)

// field describes one setting, from the tags of Config.
type field struct {
	index    int
	name     string
	group    string
	standard string // the default, as text
	doc      string
	check    string
	min, max string
	mayEmpty bool   // an empty value differs from no value
	secret   string // "", "file" (may hold a password) or "only" (is a secret)
	kind     reflect.Type
}

func (f field) env() string  { return Prefix + strings.ToUpper(f.name) }
func (f field) flag() string { return strings.ReplaceAll(f.name, "_", "-") }

// flaggable reports whether a flag may set it: others see the flags of a process, and a table does
// not fit into one.
func (f field) flaggable() bool { return f.secret == "" && f.inEnvironment() }

// inEnvironment reports whether a variable may set it.
func (f field) inEnvironment() bool { return f.kind != reflect.TypeFor[Tariff]() }

// isList reports whether it holds any number of secrets. An empty file of a list may be the place
// for the next one. An empty file of a single secret is a mistake.
func (f field) isList() bool {
	return f.kind == reflect.TypeFor[[]Secret]() || f.kind == reflect.TypeFor[[]URL]()
}

var fields = sync.OnceValue(func() []field {
	var all []field
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok := f.Tag.Lookup("name")
		if !ok {
			continue
		}
		all = append(all, field{
			index: i, name: name, group: f.Tag.Get("group"), standard: f.Tag.Get("default"),
			doc: f.Tag.Get("doc"), check: f.Tag.Get("check"), min: f.Tag.Get("min"), max: f.Tag.Get("max"),
			mayEmpty: f.Tag.Get("empty") != "", secret: f.Tag.Get("secret"), kind: f.Type,
		})
	}
	return all
})

func fieldNamed(name string) (field, bool) {
	i := slices.IndexFunc(fields(), func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return fields()[i], true
}

func names() []string {
	all := make([]string, 0, len(fields()))
	for _, f := range fields() {
		all = append(all, f.name)
	}
	return all
}

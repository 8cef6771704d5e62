package configs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Sources names where settings may come from.
type Sources struct {
	Flags   map[string]string // by name, the given ones only
	Environ []string          // as of os.Environ
	File    string            // YAML; empty: what WAYBILL_CONFIG names, or none
}

// Load reads and checks every setting. The error is Problems, with all of them.
func Load(s Sources) (*Config, error) {
	l := loader{merged: layer{}, sources: map[string]string{}, files: map[string]string{}, env: variables(s.Environ)}
	l.add(defaults(), nil)
	file := s.File
	if file == "" {
		file = l.env[configEnv]
	}
	if file != "" {
		l.addFile(file, s.File != "")
	}
	l.addEnvironment()
	l.addFlags(s.Flags)

	c := &Config{sources: l.sources, warnings: l.warnings, files: l.files}
	problems := l.problems
	for _, f := range fields() {
		var found Problems
		if err := c.assign(f.name, text(l.merged[f.name]), c.Source(f.name)); errors.As(err, &found) {
			problems = append(problems, found...)
		}
	}
	problems = append(problems, c.checkTogether()...)
	if len(problems) > 0 {
		return nil, problems
	}
	return c, nil
}

type loader struct {
	merged   layer
	env      map[string]string // WAYBILL_ variables that are not empty, or may be
	sources  map[string]string
	files    map[string]string // of values that came from NAME_FILE
	problems Problems
	warnings []string
}

// layer holds settings by name.
type layer map[string]any

// add puts settings over the current ones. source returns where one came from.
func (l *loader) add(settings layer, source func(name string) string) {
	maps.Copy(l.merged, settings)
	if source != nil {
		for name := range settings {
			l.sources[name] = source(name)
		}
	}
}

func defaults() layer {
	all := layer{}
	for _, f := range fields() {
		if f.standard != "" {
			all[f.name] = f.standard
		}
	}
	return all
}

func (l *loader) addFile(path string, byFlag bool) {
	setIn := configEnv
	if byFlag {
		setIn = "--config"
	}
	content, err := os.ReadFile(path) //nolint:gosec // the file that the settings name
	if err != nil {
		l.problem("the configuration file cannot be read: "+fileFault(err)+pathShown(path), setIn, "name a YAML file that this user may read")
		return
	}
	settings, err := settingsOf(content)
	if err != nil {
		// yaml's own text may repeat a value, which may be a secret.
		l.problem("the configuration file is not YAML of the form name: value"+yamlLine(err), path, "see waybill config --docs for the names")
		return
	}
	known := layer{}
	for name, value := range settings {
		switch _, ok := fieldNamed(name); {
		case !ok:
			fix := "waybill config --docs lists the names"
			if near := nearest(name, names()); near != "" {
				fix = "did you mean " + near + "?"
			}
			l.problem("unknown setting "+Quoted(name), path, fix)
		case value != nil:
			known[name] = value
		}
	}
	l.add(known, func(string) string { return path })
}

// settingsOf returns the values of a file by name. Secrets keep their exact text: YAML may turn the
// digits of a key into a number.
func settingsOf(file []byte) (map[string]any, error) {
	var document yaml.Node
	var settings map[string]any
	var nodes map[string]yaml.Node
	if err := yaml.Unmarshal(file, &document); err != nil || document.IsZero() {
		return nil, err
	}
	if err := errors.Join(document.Decode(&settings), document.Decode(&nodes)); err != nil {
		return nil, err
	}
	for name, n := range nodes {
		if f, _ := fieldNamed(name); f.secret != "" && settings[name] != nil {
			settings[name] = written(&n)
		}
	}
	return settings, nil
}

// written returns the exact text of a scalar, and a list of them as in a variable. A table is
// neither.
func written(n *yaml.Node) any {
	switch n.Kind {
	case yaml.AliasNode:
		return written(n.Alias)
	case yaml.SequenceNode:
		parts := make([]string, len(n.Content))
		for i, part := range n.Content {
			parts[i] = fmt.Sprint(written(part))
		}
		return strings.Join(parts, ",")
	case yaml.MappingNode:
		return map[string]any{}
	}
	return n.Value
}

var lineOfError = regexp.MustCompile(`line \d+`)

// yamlLine returns the line of a YAML error, without its text.
func yamlLine(err error) string {
	if at := lineOfError.FindString(err.Error()); at != "" {
		return " (" + at + ")"
	}
	return ""
}

func (l *loader) addEnvironment() {
	found, sources := layer{}, map[string]string{}
	for _, f := range fields() {
		if !f.inEnvironment() {
			continue
		}
		value, source := l.env[f.env()], f.env()
		path := l.env[f.env()+fileSuffix]
		switch {
		case path == "" || f.secret == "":
		case value != "":
			l.problem("both "+f.env()+" and "+f.env()+fileSuffix+" are set", "environment", "unset one of them")
		default:
			content, err := os.ReadFile(path) //nolint:gosec // the file that the settings name
			if err != nil {
				l.problem(f.env()+fileSuffix+" names a file that cannot be read: "+fileFault(err)+pathShown(path), "environment", "name a file that this user may read")
				continue
			}
			value, source = strings.TrimRight(string(content), "\r\n"), f.env()+fileSuffix
			if value == "" && !f.isList() {
				l.problem(f.env()+fileSuffix+" names an empty file"+pathShown(path), "environment", "put the value into it")
				continue
			}
			l.files[f.name] = path
		}
		if _, set := l.env[f.env()]; value != "" || set && f.mayEmpty {
			found[f.name], sources[f.name] = value, source
		}
	}
	l.add(found, func(name string) string { return sources[name] })
	l.warnOfUnknown()
}

// DevNames lists the variables that "waybill dev" writes for scripts, in addition to the names of
// settings. Having them in the environment is not a mistake.
func DevNames() []string {
	return []string{
		"WAYBILL_LIVE_URL", "WAYBILL_SANDBOX_URL", "WAYBILL_OPS_URL", "WAYBILL_PORTAL_URL", "WAYBILL_PORTAL_LINK",
		"WAYBILL_CONSOLE_URL", "WAYBILL_CONSOLE_LINK",
		"WAYBILL_LIVE_KEY", "WAYBILL_TEST_KEY", "WAYBILL_OPS_TOKEN",
		"WAYBILL_BUSINESS_ID", "WAYBILL_APP_ID",
		"WAYBILL_PICKUP_ID", "WAYBILL_PICKUP_INACTIVE_ID", "WAYBILL_PICKUP_INCOMPLETE_ID", "WAYBILL_LIVE_PICKUP_ID",
	}
}

func (l *loader) warnOfUnknown() {
	known := append(DevNames(), configEnv)
	var mistypable []string
	for _, f := range fields() {
		if f.inEnvironment() {
			mistypable = append(mistypable, f.env())
		}
		if f.secret != "" {
			mistypable = append(mistypable, f.env()+fileSuffix)
		}
	}
	for name := range l.env {
		if slices.Contains(known, name) || slices.Contains(mistypable, name) || strings.HasPrefix(name, "WAYBILL_TEST_") ||
			serviceLink.MatchString(name+"="+l.env[name]) {
			continue
		}
		warning := name + " is set and is no setting of this version"
		if near := nearest(name, mistypable); near != "" {
			warning += "; did you mean " + near + "?"
		}
		l.warnings = append(l.warnings, warning)
	}
	slices.Sort(l.warnings)
}

// serviceLink matches the variables that Kubernetes sets in each container for a Service whose name
// begins with waybill, such as WAYBILL_PORT=tcp://10.96.0.7:8080. A WAYBILL_PORT with a number
// comes from a person, who meant a setting.
var serviceLink = regexp.MustCompile(`^WAYBILL_(\w+_)?(SERVICE_HOST=.*|SERVICE_PORT(_\w+)?=\d+|PORT(_\d+_(TCP|UDP|SCTP))?=(tcp|udp|sctp)://.*|` +
	`PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)=.*)$`)

func (l *loader) addFlags(given map[string]string) {
	found := layer{}
	for name, value := range given {
		found[name] = value
	}
	l.add(found, func(name string) string { return "--" + strings.ReplaceAll(name, "_", "-") })
}

func (l *loader) problem(what, setIn, fix string) {
	l.problems = append(l.problems, Problem{What: what, SetIn: setIn, Fix: fix})
}

// variables returns the variables of an environment that begin with Prefix.
func variables(environ []string) map[string]string {
	ours := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, Prefix) && (value != "" || mayBeEmpty(name)) {
			ours[name] = value
		}
	}
	return ours
}

func mayBeEmpty(variable string) bool {
	return slices.ContainsFunc(fields(), func(f field) bool { return f.mayEmpty && f.env() == variable })
}

// text returns a value from YAML as it would be in a variable. Tables do not change.
func text(value any) any {
	switch v := value.(type) {
	case nil:
		return ""
	case map[string]any:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = fmt.Sprint(part)
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(value)
}

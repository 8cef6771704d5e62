package configs

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
)

// Setting describes one setting for people. Secrets are redacted.
type Setting struct {
	Name        string `json:"name"`
	Env         string `json:"env,omitempty"`
	Flag        string `json:"flag,omitempty"`
	Value       string `json:"value"`
	Source      string `json:"source"`
	Default     string `json:"default"`
	Description string `json:"description"`
	Group       string `json:"-"`
}

// Settings lists every setting with the value in effect.
func (c *Config) Settings() []Setting {
	value := reflect.ValueOf(c).Elem()
	all := make([]Setting, 0, len(fields()))
	for _, f := range fields() {
		s := Setting{
			Name: f.name, Group: f.group, Default: f.standard, Description: f.doc,
			Value: show(value.Field(f.index).Interface()), Source: c.Source(f.name),
		}
		if f.inEnvironment() {
			s.Env = f.env()
		}
		if f.flaggable() {
			s.Flag = "--" + f.flag()
		}
		all = append(all, s)
	}
	return all
}

// show returns a value as text. Types that may hold a secret have a String method that hides it.
func show(value any) string {
	switch v := value.(type) {
	case []netip.Prefix:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = p.String()
		}
		return strings.Join(parts, ",")
	case []string:
		return strings.Join(v, ",")
	case []Secret:
		return joined(v)
	case []URL:
		return joined(v)
	case Tariff:
		if v.Vehicles == nil {
			return "built-in"
		}
		return fmt.Sprintf("%d vehicles", len(v.Vehicles))
	}
	return fmt.Sprint(value)
}

func joined[S fmt.Stringer](all []S) string {
	parts := make([]string, len(all))
	for i, s := range all {
		parts[i] = s.String()
	}
	return strings.Join(parts, ",")
}

// String lists the current settings, with secrets redacted.
func (c *Config) String() string {
	var b strings.Builder
	for _, s := range c.Settings() {
		fmt.Fprintf(&b, "%s=%s\n", s.Name, s.Value)
	}
	return b.String()
}

// FlagSetting describes a setting that a flag may set.
type FlagSetting struct{ Name, Flag, Description, Default string }

// FlagSettings lists the settings that a flag may set: all but secrets and tables.
func FlagSettings() []FlagSetting {
	var all []FlagSetting
	for _, f := range fields() {
		if f.flaggable() {
			all = append(all, FlagSetting{Name: f.name, Flag: f.flag(), Description: f.doc, Default: f.standard})
		}
	}
	return all
}

// Reference returns the table of all settings in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Settings\n\n" +
		"Looked for in this order: flag, variable, configuration file (`--config FILE` or `WAYBILL_CONFIG`, YAML), " +
		"data directory, default. The flag of `live_addr` is `--live-addr`; secrets and addresses that may hold one have none. " +
		"A variable marked with * may also be given as `NAME_FILE`, the path of a file that holds the value; of a list the file may be empty. " +
		"An empty variable counts as not set.\n")
	group := ""
	for _, f := range fields() {
		if f.group != group {
			group = f.group
			fmt.Fprintf(&b, "\n## %s\n\n| Variable | In a file | Default | Meaning |\n|---|---|---|---|\n", group)
		}
		variable, standard := "-", "-"
		if f.inEnvironment() {
			variable = "`" + f.env() + "`"
		}
		if f.secret != "" {
			variable += " *"
		}
		if f.standard != "" {
			standard = "`" + f.standard + "`"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", variable, f.name, standard, f.doc)
	}
	b.WriteString("\n## The tariff\n\nAmounts are in the currency; a fee is rounded up to a multiple of `step`. Beyond `range_km`, and for " +
		"a vehicle that has no line, a trip is priced by hand.\n\n```yaml\n" + tariffExample + "```\n" + staffDocs)
	return b.String()
}

// ExampleEnv returns a file of all variables with their defaults, commented out.
func ExampleEnv() string {
	var b strings.Builder
	b.WriteString("# Every variable of waybill with its default. Uncomment what you change.\n" +
		"# Made by: go test ./configs -run Example -update\n")
	group := ""
	for _, f := range fields() {
		if !f.inEnvironment() {
			continue
		}
		if f.group != group {
			group = f.group
			fmt.Fprintf(&b, "\n# --- %s ---\n", group)
		}
		fmt.Fprintf(&b, "\n# %s\n", f.doc)
		switch file := f.env() + fileSuffix; {
		case f.isList():
			fmt.Fprintf(&b, "# Or %s: the path of a file that holds them; an empty file holds none.\n", file)
		case f.secret != "":
			fmt.Fprintf(&b, "# Or %s: the path of a file that holds it.\n", file)
		}
		fmt.Fprintf(&b, "#%s=%s\n", f.env(), f.standard)
	}
	return b.String()
}

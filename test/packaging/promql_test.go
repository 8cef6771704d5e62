package packaging

import (
	"regexp"
	"slices"
	"strings"
)

var (
	quoted     = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	selector   = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)`)
	grouping   = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	ranges     = regexp.MustCompile(`\[[^\]]*\]|\boffset\s+[0-9a-z]+`)
	identifier = regexp.MustCompile(`[a-zA-Z_:$][a-zA-Z0-9_:]*(\s*\()?`)
	words      = []string{"and", "or", "unless", "bool", "offset", "inf", "nan"}
)

// metricsOf lists the metrics that an expression of PromQL asks for, and the
// labels that it selects them by. It knows as much of the language as the
// expressions here use.
func metricsOf(expression string) map[string][]string {
	found := map[string][]string{}
	add := func(name string, labels ...string) { found[name] = append(found[name], labels...) }
	text := quoted.ReplaceAllString(expression, "")
	for _, s := range selector.FindAllStringSubmatch(text, -1) {
		add(s[1])
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			add(s[1], m[1])
		}
	}
	text = selector.ReplaceAllString(text, " ")
	text = grouping.ReplaceAllString(text, " ")
	text = ranges.ReplaceAllString(text, " ")
	for _, name := range identifier.FindAllString(text, -1) {
		if !strings.HasSuffix(name, "(") && !strings.HasPrefix(name, "$") && !slices.Contains(words, strings.ToLower(name)) {
			add(name)
		}
	}
	return found
}

package packaging

import (
	"regexp"
	"slices"
	"strings"
	"testing"
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
// expressions here use; the test below shows what.
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

func TestTheMetricsOfAnExpressionAreFound(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		`sum by (le, route) (rate(a_total{code=~"5..", env!="x{y}"}[5m])) / 2 > 0.5`: "a_total[code env]",
		`(a and on (instance, pool) b{c="d"} > 0) or max(e offset 1h)`:               "a[] b[c] e[]",
		`histogram_quantile(0.99, sum by (le) (rate(a_bucket[$__rate_interval])))`:   "a_bucket[]",
		`topk(10, a) unless abs(b) * 1000`:                                           "a[] b[]",
		`label_values(a{job=~"$job"}, instance)`:                                     "a[job] instance[]",
	} {
		var got []string
		for name, labels := range metricsOf(expression) {
			got = append(got, name+"["+strings.Join(labels, " ")+"]")
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

package receivers

import (
	"strings"
	"testing"
)

func TestEveryStepHasAPartInEveryLanguage(t *testing.T) {
	for _, l := range Languages {
		seen := map[string]bool{}
		for _, step := range []string{"headers", "timestamp", "body", "secret"} {
			part := Part(l.File, step)
			lines := strings.Split(part, "\n")
			if len(lines) < 2 || len(lines) > 16 || seen[part] || !strings.Contains(strings.ToLower(lines[0]), step+": ") ||
				strings.Trim(part, " \t\n") != part || strings.Count(part, "{") != strings.Count(part, "}") {
				t.Errorf("%s, %s:\n%s", l.Name, step, part)
			}
			seen[part] = true
		}
	}
}

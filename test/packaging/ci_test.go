package packaging

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestTheStepsOfARunLeaveEachOtherTime(t *testing.T) {
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]time.Duration{}
	for _, found := range regexp.MustCompile(`step \w+ (\d+) (make [\w-]+|go mod verify)`).FindAllStringSubmatch(string(script), -1) {
		minutes, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		limits[found[2]] = time.Duration(minutes) * time.Minute
	}
	if len(limits) < 6 || !strings.Contains(string(script), "\nmost=85\n") {
		t.Errorf("the steps have %v, and the script names no minutes for all of them, or others than 85", limits)
	}

	// One step that hangs leaves the other two long ones their usual time, which is half their limit.
	for hangs, limit := range limits {
		all := limit
		for other, usual := range limits {
			if other != hangs {
				all += usual / 2
			}
		}
		if all > 85*time.Minute {
			t.Errorf("with %s hanging for %v a run takes %v", hangs, limit, all)
		}
	}

	// A test that hangs ends with what hangs, before its step is cut off.
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"test", "pgbouncer", "test-race"} {
		_, recipe, _ := strings.Cut(string(makefile), "\n"+target+": ")
		if target == "test-race" {
			_, recipe, _ = strings.Cut(recipe, "\n"+target+": ") // behind its variable
		}
		recipe, _, _ = strings.Cut(recipe, "\n\n")
		given := regexp.MustCompile(`-timeout (\w+)`).FindStringSubmatch(recipe)
		if given == nil {
			t.Errorf("%s has no -timeout:\n%s", target, recipe)
			continue
		}
		if own, err := time.ParseDuration(given[1]); err != nil || own >= limits["make "+target] {
			t.Errorf("%s ends by itself after %v, and is cut off after %v: %v", target, own, limits["make "+target], err)
		}
	}
}

func TestWithoutTheDatabaseOfVulnerabilitiesTheSearchIsLeftOutAloud(t *testing.T) {
	t.Parallel()
	search := exec.CommandContext(t.Context(), "../../.tools/vulncheck.sh", "golang.org/x/vuln/cmd/govulncheck@none")
	search.Env = append(os.Environ(), "GOVULNDB=http://127.0.0.1:1")
	said, err := search.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "LEFT OUT: the database of vulnerabilities at http://127.0.0.1:1 cannot be reached") {
		t.Errorf("%v: %s", err, said)
	}
}

package packaging

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// mostOfCI is how long one run of .ci/run may take, installing included.
const mostOfCI = 90 * time.Minute

func TestTheLimitsOfTheStepsLeaveRoomInTheTimeOfARun(t *testing.T) {
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]time.Duration{}
	var all time.Duration
	for _, found := range regexp.MustCompile(`timeout (\w+) (make [\w-]+|go mod verify)`).FindAllStringSubmatch(string(script), -1) {
		limit, err := time.ParseDuration(found[1])
		if err != nil {
			t.Fatal(err)
		}
		limits[found[2]] = limit
		all += limit
	}
	if installing := 10 * time.Minute; len(limits) < 7 || all+installing > mostOfCI {
		t.Errorf("%v are %v together, and %v for installing, of %v", limits, all, installing, mostOfCI)
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

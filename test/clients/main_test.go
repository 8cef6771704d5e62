package clients

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"waybill/adapters/httpapi"
	"waybill/test/program"
)

// patience is how long a test waits for what should take moments.
const patience = time.Minute

// adapters is the folder of the clients.
const adapters = "../../adapters/clients"

func TestMain(m *testing.M) { os.Exit(program.Run(m)) }

// operation is one of the description.
type operation struct {
	id, method, path string
	successes        []int
}

// operations are all of the description, by their ID.
func operations(t *testing.T) map[string]operation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(httpapi.OpenAPI.YAML(), &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]operation{}
	for path, item := range doc.Paths {
		for method, node := range item {
			var described struct {
				ID        string         `yaml:"operationId"`
				Responses map[string]any `yaml:"responses"`
			}
			if node.Kind != yaml.MappingNode { // parameters of all methods
				continue
			}
			if err := node.Decode(&described); err != nil {
				t.Fatal(err)
			}
			op := operation{id: described.ID, method: strings.ToUpper(method), path: path}
			for code := range described.Responses {
				if status, err := strconv.Atoi(code); err == nil && status < 300 {
					op.successes = append(op.successes, status)
				}
			}
			slices.Sort(op.successes)
			all[op.id] = op
		}
	}
	if len(all) < 30 {
		t.Fatalf("the description has %d operations, so the test misreads it", len(all))
	}
	return all
}

// tools is the folder of the packages that .tools/npm pins.
func tools(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "../../.tools/npm.sh")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci { // anything unreadable is not CI
		t.Fatalf(".tools/npm.sh: %v\n%s", err, stderr.String())
	}
	t.Skipf("the packages of npm are not there: %v\n%s", err, stderr.String())
	return ""
}

// output runs a program with an input and a deadline.
func output(t *testing.T, input string, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(input)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

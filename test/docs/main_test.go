package docs

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/test/program"
)

// patience is how long a test waits for what should take moments.
const patience = time.Minute

func TestMain(m *testing.M) { os.Exit(program.Run(m)) }

// server is a running `waybill dev`.
type server struct {
	*program.Process
	site string // address of the documentation
}

// serve is the server of all tests.
func serve(t *testing.T) *server {
	t.Helper()
	s := program.Shared(t)
	return &server{s, strings.TrimSuffix(s.Vars["WAYBILL_SANDBOX_URL"], "/v1") + "/docs"}
}

// page is the HTML at a path below the site.
func (s *server) page(t *testing.T, path string) string {
	t.Helper()
	return fetch(t, s.site+path)
}

// fetch returns what is at an address.
func fetch(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, res.StatusCode, err)
	}
	return string(body)
}

var reHref = regexp.MustCompile(`href="(/docs[^"#]*)"`)

// paths are all pages, found by following links from the first.
func (s *server) paths(t *testing.T) []string {
	t.Helper()
	paths := []string{""}
	for i := 0; i < len(paths); i++ {
		for _, m := range reHref.FindAllStringSubmatch(s.page(t, paths[i]), -1) {
			path := strings.TrimPrefix(m[1], "/docs")
			if !strings.HasPrefix(path, "/assets/") && !strings.HasSuffix(path, ".md") && path != "/llms.txt" && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// needs skips the test where a program is missing; with CI=true it fails.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		missing(t, program)
	}
}

// missing skips the test, which needs something that is to be installed; with CI=true it fails.
func missing(t *testing.T, install string) {
	t.Helper()
	if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci { // anything unreadable is not CI
		t.Fatalf("install %s", install)
	}
	t.Skipf("install %s", install)
}

// outputWith runs a program in an environment, with an input and a deadline.
func outputWith(t *testing.T, dir string, env []string, input, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(input)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, problems.String(), out)
	}
	return string(out)
}

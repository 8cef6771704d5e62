package webhooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// javascriptPackages are the library and all that it needs.
var javascriptPackages = []string{"standardwebhooks@1.0.0", "@stablelib/base64@1.0.1", "fast-sha256@1.3.0"}

// letter is a parcel under one secret, and whether that is to be believed.
type letter struct {
	parcel
	secret string
	valid  bool
	what   string // for a failure
}

// verifyInJavaScript shows the letters to the library and tells how many were
// taken and how many refused.
func verifyInJavaScript(t *testing.T, letters []letter) (taken, refused int) {
	t.Helper()
	modules := javascriptModules(t)
	var input, stderr bytes.Buffer
	lines := json.NewEncoder(&input)
	for _, l := range letters {
		headers := map[string]string{}
		for name := range l.header {
			headers[strings.ToLower(name)] = l.header.Get(name) // as node has them
		}
		if err := lines.Encode(map[string]any{"secret": l.secret, "headers": headers, "body": l.body}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("testdata", "verify.js"))
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stdin, cmd.Stderr = &input, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node testdata/verify.js: %v\n%s", err, stderr.Bytes())
	}
	verdicts := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(verdicts) != len(letters) {
		t.Fatalf("%d verdicts on %d letters", len(verdicts), len(letters))
	}
	const refusal, mostTold = "No matching signature found", 5
	wrong := 0
	for i, l := range letters {
		want := refusal
		if l.valid {
			want = "valid"
		}
		switch verdicts[i] {
		case "valid":
			taken++
		case refusal:
			refused++
		}
		if verdicts[i] == want {
			continue
		}
		if wrong++; wrong <= mostTold {
			t.Errorf("%s, %s: %q, want %q", l.header.Get(standardwebhooks.HeaderWebhookID), l.what, verdicts[i], want)
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d verdicts were wrong", wrong, len(letters))
	}
	return taken, refused
}

// javascriptModules is where the packages are. They are installed once for a user.
func javascriptModules(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			leaveOut(t, fmt.Errorf("the JavaScript library verifies nothing here: install nodejs and npm: %w", err))
		}
	}
	home, err := os.UserCacheDir()
	if err != nil {
		home = t.TempDir() // for this run alone
	}
	home = filepath.Join(home, "waybill-test", strings.ReplaceAll(strings.Join(javascriptPackages, "_"), "/", "-"))
	modules := filepath.Join(home, "node_modules")
	if isDir(modules) {
		return modules
	}
	if err := installJavaScript(t.Context(), home); err != nil && !isDir(modules) { // another process may have been faster
		leaveOut(t, fmt.Errorf("the JavaScript library verifies nothing here: %w", err))
	}
	return modules
}

// installJavaScript makes the folder whole or not at all.
func installJavaScript(ctx context.Context, home string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(home), "install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	args := []string{"install", "--prefix", dir, "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"}
	cmd := exec.CommandContext(ctx, "npm", append(args, javascriptPackages...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w\n%s", strings.Join(javascriptPackages, " "), err, out)
	}
	return os.Rename(dir, home)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// leaveOut skips the test; with CI=true it fails.
func leaveOut(t *testing.T, why error) {
	t.Helper()
	if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci { // anything unreadable is not CI
		t.Fatal(why)
	}
	t.Skip(why)
}

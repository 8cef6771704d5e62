package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// axe is the source of axe-core, of the version that .tools/npm pins.
func axe(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	_, here, _, _ := runtime.Caller(0)
	install := exec.CommandContext(ctx, filepath.Join(filepath.Dir(here), "..", "..", ".tools", "npm.sh"))
	var stderr strings.Builder
	install.Stderr = &stderr
	home, err := install.Output()
	if err != nil {
		leaveOut(t, fmt.Errorf("no page is examined here: .tools/npm.sh: %w\n%s", err, stderr.String()))
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(home)), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// axe returns the source of axe-core, of the version that .tools/npm pins.
func axe(t *testing.T) string {
	t.Helper()
	source, err := axeSource()
	if err != nil {
		leaveOut(t, err)
	}
	return source
}

var axeSource = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	_, here, _, _ := runtime.Caller(0)
	install := exec.CommandContext(ctx, filepath.Join(filepath.Dir(here), "..", "..", ".tools", "npm.sh"))
	var stderr strings.Builder
	install.Stderr = &stderr
	home, err := install.Output()
	if err != nil {
		return "", fmt.Errorf("axe-core is missing: .tools/npm.sh: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(home)), "node_modules", "axe-core", "axe.min.js"))
	return string(source) + ";true", err
})

package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// axePackage is the version that pages are examined with.
const axePackage = "axe-core@4.14.1"

// axe is the source of axe-core. It is installed once for a user.
func axe(t *testing.T) string {
	t.Helper()
	home, err := os.UserCacheDir()
	if err != nil {
		home = t.TempDir() // for this run alone
	}
	home = filepath.Join(home, "waybill-test", axePackage)
	file := filepath.Join(home, "node_modules", "axe-core", "axe.min.js")
	source, err := os.ReadFile(file)
	if err == nil {
		return string(source)
	}
	failed := installAxe(t.Context(), home)
	if source, err = os.ReadFile(file); err != nil { // another process may have been faster
		leaveOut(t, fmt.Errorf("no page is examined here: %w", failed))
	}
	return string(source)
}

// installAxe makes the folder whole or not at all.
func installAxe(ctx context.Context, home string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return fmt.Errorf("install nodejs and npm: %w", err)
	}
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
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--no-save", "--no-package-lock",
		"--ignore-scripts", "--no-audit", "--no-fund", axePackage)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w\n%s", axePackage, err, out)
	}
	return os.Rename(dir, home)
}

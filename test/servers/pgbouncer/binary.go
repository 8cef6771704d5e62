package pgbouncer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"waybill/test/servers/process"
)

// BinaryEnv names the binary to use, as a path.
const BinaryEnv = "WAYBILL_TEST_PGBOUNCER"

// ErrNotInstalled is returned where no PgBouncer is found.
var ErrNotInstalled = errors.New("no PgBouncer on this machine")

// FindBinary returns the pgbouncer that the environment names, or the first in
// PATH and the usual places: Debian's is in none that every PATH has. The error
// wraps ErrNotInstalled, unless the environment names one that is not there.
func FindBinary() (string, error) {
	if named := os.Getenv(BinaryEnv); named != "" {
		if _, err := os.Stat(named); err != nil {
			return "", fmt.Errorf("the PgBouncer of %s: %w; correct the variable, or unset it to use another one", BinaryEnv, err)
		}
		return named, nil
	}
	dirs := append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin")
	for _, dir := range dirs {
		path := filepath.Join(dir, "pgbouncer")
		// A relative entry of PATH depends on where we stand.
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(dir) && !info.IsDir() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: none in PATH or /usr/sbin", ErrNotInstalled)
}

// Install installs Debian's pgbouncer package. The one it may start is not
// used: Start takes a free port and its own directory.
func Install(ctx context.Context) error { return process.Install(ctx, "pgbouncer") }

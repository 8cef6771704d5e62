package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// PgBouncerEnv names the binary to use, as a path.
const PgBouncerEnv = "WAYBILL_TEST_PGBOUNCER"

// ErrNoPgBouncer is returned where no PgBouncer is found.
var ErrNoPgBouncer = errors.New("no PgBouncer on this machine")

// FindPgBouncer returns the pgbouncer that the environment names, or the first in
// PATH and the usual places: Debian's is in none that every PATH has. The error
// wraps ErrNoPgBouncer, unless the environment names one that is not there.
func FindPgBouncer() (string, error) {
	if named := os.Getenv(PgBouncerEnv); named != "" {
		if _, err := os.Stat(named); err != nil {
			return "", fmt.Errorf("the PgBouncer of %s: %w; correct the variable, or unset it to use another one", PgBouncerEnv, err)
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
	return "", fmt.Errorf("%w: none in PATH or /usr/sbin", ErrNoPgBouncer)
}

// InstallPgBouncer installs Debian's pgbouncer package. The one it may start is not
// used: StartPgBouncer takes a free port and its own directory.
func InstallPgBouncer(ctx context.Context) error { return InstallPackage(ctx, "pgbouncer") }

package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// PostgresMinMajor is the oldest major version of Postgres that Waybill supports.
const PostgresMinMajor = 15

// ErrNoPostgres is returned where no usable Postgres binaries are found.
var ErrNoPostgres = errors.New("no usable Postgres binaries on this machine")

// PostgresBinaries is a directory that holds postgres and initdb.
type PostgresBinaries struct {
	Dir   string
	Major int
}

func (b PostgresBinaries) path(name string) string { return filepath.Join(b.Dir, name) }

// FindPostgres returns the first directory with a Postgres of PostgresMinMajor or
// newer: PATH, Debian's versioned directories (newest first), other usual
// places, and the one pg_config names. The error wraps ErrNoPostgres and
// lists what was found unfit.
func FindPostgres(ctx context.Context) (PostgresBinaries, error) {
	dir, major, err := firstFit(ctx, candidateDirs(ctx), PostgresMinMajor, majorVersion)
	if err != nil {
		return PostgresBinaries{}, fmt.Errorf("%w: %w", ErrNoPostgres, err)
	}
	return PostgresBinaries{Dir: dir, Major: major}, nil
}

// InstallPostgres installs Debian's postgresql package. The cluster it may start is not
// used: StartPostgres takes a free port and its own directory.
func InstallPostgres(ctx context.Context) error { return InstallPackage(ctx, "postgresql") }

func candidateDirs(ctx context.Context) []string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid, so there is no error
	slices.SortFunc(debian, func(a, b string) int { return debianMajor(b) - debianMajor(a) })
	dirs = append(dirs, debian...)
	dirs = append(dirs, "/usr/local/bin", "/usr/local/pgsql/bin")
	for _, pattern := range []string{"/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin"} {
		found, _ := filepath.Glob(pattern)
		slices.Reverse(found)
		dirs = append(dirs, found...)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, string(bytes.TrimSpace(out)))
	}
	return dirs
}

// debianMajor reads 15 out of /usr/lib/postgresql/15/bin.
func debianMajor(bin string) int {
	major, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	if err != nil {
		return 0
	}
	return major
}

var versionPattern = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

// majorVersion asks the binaries in dir for their version. The error wraps
// os.ErrNotExist where one of them is missing.
func majorVersion(ctx context.Context, dir string) (int, error) {
	if !filepath.IsAbs(dir) {
		return 0, os.ErrNotExist // a relative entry of PATH depends on where we stand
	}
	for _, name := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return 0, os.ErrNotExist // a directory closed to us is as good as none
		}
	}
	if os.Geteuid() == 0 && !Traversable(dir) {
		return 0, errors.New("closed to the user that would run it in place of root")
	}
	return printedVersion(ctx, filepath.Join(dir, "postgres"), versionPattern)
}

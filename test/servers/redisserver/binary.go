package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"waybill/test/servers/process"
)

// MinMajor is the oldest major version of Redis that Waybill is tested on.
const MinMajor = 7

// ErrNotInstalled is returned where no usable redis-server is found.
var ErrNotInstalled = errors.New("no usable redis-server on this machine")

// FindBinary returns the first redis-server of MinMajor or newer in PATH and
// the usual places. The error wraps ErrNotInstalled and lists what was found
// unfit.
func FindBinary(ctx context.Context) (string, error) {
	var unfit []string
	dirs := append(filepath.SplitList(os.Getenv("PATH")), "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue // a relative entry of PATH depends on where we stand
		}
		path := filepath.Join(dir, "redis-server")
		if _, err := os.Stat(path); err != nil {
			continue // a directory closed to us is as good as none
		}
		major, err := majorVersion(ctx, path)
		switch {
		case err != nil:
			unfit = append(unfit, fmt.Sprintf("%s: %v", path, err))
		case major < MinMajor:
			unfit = append(unfit, fmt.Sprintf("%s: version %d", path, major))
		default:
			return path, nil
		}
	}
	if len(unfit) > 0 {
		return "", fmt.Errorf("%w: need version %d or newer, found %s", ErrNotInstalled, MinMajor, strings.Join(unfit, "; "))
	}
	return "", fmt.Errorf("%w: need version %d or newer in PATH or /usr/bin", ErrNotInstalled, MinMajor)
}

// Install installs Debian's redis-server package. The server it may start is
// not used: Start takes a free port and its own directory.
func Install(ctx context.Context) error { return process.Install(ctx, "redis-server") }

var versionPattern = regexp.MustCompile(`\bv=(\d+)\.`)

func majorVersion(ctx context.Context, path string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("--version: %w", err)
	}
	match := versionPattern.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("--version printed %q", bytes.TrimSpace(out))
	}
	return strconv.Atoi(string(match[1]))
}

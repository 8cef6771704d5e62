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
	"strconv"
	"strings"
	"time"
)

// RedisMinMajor is the oldest major version of Redis that Waybill is tested on.
const RedisMinMajor = 7

// ErrNoRedis is returned where no usable redis-server is found.
var ErrNoRedis = errors.New("no usable redis-server on this machine")

// FindRedis returns the first redis-server of RedisMinMajor or newer in PATH and
// the usual places. The error wraps ErrNoRedis and lists what was found
// unfit.
func FindRedis(ctx context.Context) (string, error) {
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
		major, err := redisMajorVersion(ctx, path)
		switch {
		case err != nil:
			unfit = append(unfit, fmt.Sprintf("%s: %v", path, err))
		case major < RedisMinMajor:
			unfit = append(unfit, fmt.Sprintf("%s: version %d", path, major))
		default:
			return path, nil
		}
	}
	if len(unfit) > 0 {
		return "", fmt.Errorf("%w: need version %d or newer, found %s", ErrNoRedis, RedisMinMajor, strings.Join(unfit, "; "))
	}
	return "", fmt.Errorf("%w: need version %d or newer in PATH or /usr/bin", ErrNoRedis, RedisMinMajor)
}

// InstallRedis installs Debian's redis-server package. The server it may start is
// not used: StartRedis takes a free port and its own directory.
func InstallRedis(ctx context.Context) error { return InstallPackage(ctx, "redis-server") }

var redisVersionPattern = regexp.MustCompile(`\bv=(\d+)\.`)

func redisMajorVersion(ctx context.Context, path string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("--version: %w", err)
	}
	match := redisVersionPattern.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("--version printed %q", bytes.TrimSpace(out))
	}
	return strconv.Atoi(string(match[1]))
}

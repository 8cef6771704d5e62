package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// RedisMinMajor is the oldest major version of Redis that Waybill is tested on.
const RedisMinMajor = 7

// ErrNoRedis is returned where no usable redis-server is found.
var ErrNoRedis = errors.New("no usable redis-server on this machine")

// FindRedis returns the first redis-server of RedisMinMajor or newer in PATH and
// the usual places. The error wraps ErrNoRedis and lists what was found
// unfit.
func FindRedis(ctx context.Context) (string, error) {
	var paths []string
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin") {
		if filepath.IsAbs(dir) { // a relative entry of PATH depends on where we stand
			paths = append(paths, filepath.Join(dir, "redis-server"))
		}
	}
	path, _, err := firstFit(ctx, paths, RedisMinMajor, redisMajorVersion)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoRedis, err)
	}
	return path, nil
}

// InstallRedis installs Debian's redis-server package. The server it may start is
// not used: StartRedis takes a free port and its own directory.
func InstallRedis(ctx context.Context) error { return InstallPackage(ctx, "redis-server") }

var redisVersionPattern = regexp.MustCompile(`\bv=(\d+)\.`)

func redisMajorVersion(ctx context.Context, path string) (int, error) {
	if _, err := os.Stat(path); err != nil {
		return 0, os.ErrNotExist // a directory closed to us is as good as none
	}
	return printedVersion(ctx, path, redisVersionPattern)
}

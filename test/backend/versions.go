package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// firstFit returns the first candidate of a major version or newer. version returns an error that
// wraps os.ErrNotExist for what is not there; the error lists what was found unfit.
func firstFit(ctx context.Context, candidates []string, oldest int, version func(context.Context, string) (int, error)) (string, int, error) {
	var unfit []string
	for _, c := range candidates {
		major, err := version(ctx, c)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			unfit = append(unfit, fmt.Sprintf("%s: %v", c, err))
		case major < oldest:
			unfit = append(unfit, fmt.Sprintf("%s: version %d", c, major))
		default:
			return c, major, nil
		}
	}
	if len(unfit) > 0 {
		return "", 0, fmt.Errorf("need version %d or newer, found %s", oldest, strings.Join(unfit, "; "))
	}
	return "", 0, fmt.Errorf("need version %d or newer in PATH or the usual places", oldest)
}

// printedVersion asks a program for its major version.
func printedVersion(ctx context.Context, path string, pattern *regexp.Regexp) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("--version: %w", err)
	}
	match := pattern.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("--version printed %q", bytes.TrimSpace(out))
	}
	return strconv.Atoi(string(match[1]))
}

package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// ErrNoValhalla is returned where the engine, or what it takes, cannot be had.
var ErrNoValhalla = errors.New("no Valhalla on this machine")

const (
	// enginePackage is MIT-licensed and comes from the project itself.
	enginePackage = "@valhallajs/valhallajs"
	engineVersion = "3.6.1"

	installTimeout = 5 * time.Minute
)

// engine is where the programs are.
type engine struct {
	node, osmium string
	modules      string // node_modules
	buildTiles   string
}

// find looks for the programs and installs the package where it is not there yet.
func find(ctx context.Context) (*engine, error) {
	e := &engine{}
	var err error
	if e.node, err = exec.LookPath("node"); err != nil {
		return nil, fmt.Errorf("%w: install nodejs: %w", ErrNoValhalla, err)
	}
	if e.osmium, err = exec.LookPath("osmium"); err != nil {
		return nil, fmt.Errorf("%w: install osmium-tool: %w", ErrNoValhalla, err)
	}
	platform := platform()
	if platform == "" {
		return nil, fmt.Errorf("%w: %s has no programs for %s/%s", ErrNoValhalla, enginePackage, runtime.GOOS, runtime.GOARCH)
	}
	home, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("%w: no folder of caches: %w", ErrNoValhalla, err)
	}
	home = filepath.Join(home, "waybill-test", "valhalla-"+engineVersion)
	e.modules = filepath.Join(home, "node_modules")
	e.buildTiles = filepath.Join(e.modules, filepath.FromSlash(enginePackage), filepath.FromSlash(platform), "valhalla_build_tiles")
	if isFile(e.buildTiles) {
		return e, nil
	}
	if err := install(ctx, home); err != nil && !isFile(e.buildTiles) { // another process may have been faster
		return nil, fmt.Errorf("%w: %w", ErrNoValhalla, err)
	}
	return e, nil
}

// platform is this machine's folder in the package, "" where it has none.
func platform() string {
	switch runtime.GOOS + "/" + runtime.GOARCH {
	case "linux/amd64":
		return "linux/x64"
	case "linux/arm64", "darwin/arm64":
		return runtime.GOOS + "/arm64"
	}
	return ""
}

// install makes the folder whole or not at all. Of the package it keeps what is
// for this machine: all of it takes 280 MB.
func install(ctx context.Context, home string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("install npm: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(home), "install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	wanted := enginePackage + "@" + engineVersion
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", dir, "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit",
		"--no-fund", wanted)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w\n%s", wanted, err, out)
	}
	folder := filepath.Join(dir, "node_modules", filepath.FromSlash(enginePackage))
	for _, other := range []string{"linux/x64", "linux/arm64", "darwin/arm64"} {
		if other == platform() {
			continue
		}
		if err := os.RemoveAll(filepath.Join(folder, filepath.FromSlash(other))); err != nil {
			return err
		}
	}
	return os.Rename(dir, home)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// command runs a program in a folder to its end; its output is in the error.
func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir // the engine's programs leave notes where they stand
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return nil
}

package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// InstallPackage installs a Debian package, sending apt's output to stderr. It works
// for root where apt-get exists and returns an error elsewhere. The package may
// start a server of its own; nothing here uses it.
func InstallPackage(ctx context.Context, pkg string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("install %s: only root may, and this is another user", pkg)
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return errors.New("install " + pkg + ": no apt-get here")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"update"},
		{"install", "-y", "--no-install-recommends", pkg},
	} {
		// Two test runs may install at once; the second waits for the lock.
		cmd := exec.CommandContext(ctx, apt, append([]string{"-o", "DPkg::Lock::Timeout=120"}, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("install %s: apt-get %s: %w", pkg, args[0], err)
		}
	}
	return nil
}

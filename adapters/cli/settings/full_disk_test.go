package settings_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
)

func TestAFullDiskIsToldWithItsPathAndWhatToDo(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	dir := settings.DataDir(filepath.Join(above, "not yet"))
	full := &fs.PathError{Op: "write", Path: dir.Secrets(), Err: syscall.ENOSPC}
	var failure *term.StartError
	if err := dir.FullDisk(full); !errors.As(err, &failure) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a write without space: %v", err)
	}
	for _, want := range []string{string(dir), "is full", "KiB are free"} {
		if !strings.Contains(failure.Error(), want) {
			t.Errorf("%q, want %q in it", failure.Error(), want)
		}
	}
	for _, want := range []string{"df -h " + above, "--data-dir"} {
		if !strings.Contains(failure.Fix, want) {
			t.Errorf("fix %q, want %q in it", failure.Fix, want)
		}
	}
	if err := dir.FullDisk(errors.New("migrate: database or disk is full (13)")); !errors.As(err, &failure) {
		t.Errorf("a migration without space: %v", err)
	}
	for _, other := range []error{nil, fs.ErrPermission} {
		if err := dir.FullDisk(other); err != other {
			t.Errorf("%v became %v", other, err)
		}
	}
}

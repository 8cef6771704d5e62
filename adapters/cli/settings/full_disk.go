package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"waybill/adapters/cli/term"
	"waybill/ports"
)

// leastFree is how many free bytes a start needs in a data directory, for the files that SQLite
// creates next to a database.
const leastFree = 1 << 20

// sqliteFull is the text of SQLite's own error, which a migration passes on.
const sqliteFull = "database or disk is full"

// FullDisk adds to an error that it comes from a full disk below the directory, and what to do.
// It returns any other error unchanged.
func (d DataDir) FullDisk(err error) error {
	free, known := freeBytes(d.existing())
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), strings.Contains(err.Error(), sqliteFull):
	case known && free < leastFree && ports.StorageUnavailable(err): // SQLite reports an I/O error
	default:
		return err
	}
	what := "the disk of the data directory " + string(d) + " is full"
	if known {
		what += fmt.Sprintf(" (%d KiB are free, a start needs %d)", free>>10, leastFree>>10)
	}
	return &term.StartError{What: what, Err: err, UsedFor: "all data, in " + d.Database(),
		Fix: "remove files from that disk (df -h " + term.ShellWord(d.existing()) + " shows it), or name a directory on another one with --data-dir"}
}

// existing returns the directory, or the nearest existing one above it.
func (d DataDir) existing() string {
	path, err := filepath.Abs(string(d))
	if err != nil {
		return string(d)
	}
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

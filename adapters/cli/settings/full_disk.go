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

// leastFree is how many bytes a start needs in a data directory at the least, for the files that
// SQLite puts beside a database.
const leastFree = 1 << 20

// sqliteFull is the text of SQLite's own error, which a migration passes on.
const sqliteFull = "database or disk is full"

// FullDisk tells that a failure comes of a full disk below the directory, and what to do. Any other
// error is returned as it is.
func (d DataDir) FullDisk(err error) error {
	free, known := freeBytes(d.existing())
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), strings.Contains(err.Error(), sqliteFull):
	case known && free < leastFree && ports.StorageUnavailable(err): // SQLite tells of an error of input and output
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

// existing returns the directory, or the next one above it that is there.
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

package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"waybill/adapters/cli/term"
	"waybill/domain"
)

// A clock difference is reported once logs and deadlines of two machines no longer match. The
// check fails when receivers begin to refuse signatures for their age.
const skewTold, skewFailed = time.Second, 4 * time.Minute

func (d *diagnosis) dataDirectory() {
	if !d.inDir && !d.dir.Owns(d.c.DatabaseURL) {
		return // it holds nothing that these settings use
	}
	const check = "data directory"
	fix := "give it to the user who runs waybill, or name another one with --data-dir"
	info, err := os.Stat(string(d.dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		above, absErr := filepath.Abs(filepath.Dir(string(d.dir)))
		for absErr == nil && !isDir(above) && above != filepath.Dir(above) {
			above = filepath.Dir(above)
		}
		if err := errors.Join(absErr, writable(above)); err != nil {
			d.fail(check, string(d.dir)+" cannot be made: "+term.OneLine(err), fix)
			return
		}
		d.ok(check, string(d.dir)+" is not there yet; waybill dev makes it")
	case err != nil:
		d.fail(check, term.OneLine(err), fix)
	case !info.IsDir():
		d.fail(check, string(d.dir)+" is no directory", "name another one with --data-dir")
	default:
		if err := writable(string(d.dir)); err != nil {
			if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
				fix = "remove files from its disk (df -h " + term.ShellWord(string(d.dir)) + " shows it), or name another one with --data-dir"
			}
			d.fail(check, string(d.dir)+" cannot be written to: "+term.OneLine(err), fix)
			return
		}
		if secrets, err := os.Stat(d.dir.Secrets()); err == nil && secrets.Mode().Perm()&0o077 != 0 {
			d.warn(check, d.dir.Secrets()+" can be read by other users", "chmod 600 "+term.ShellWord(d.dir.Secrets()))
			return
		}
		d.ok(check, string(d.dir)+" can be written to")
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// writable writes a file, since permissions alone do not show full disks and read-only mounts.
func writable(dir string) error {
	file, err := os.CreateTemp(dir, ".waybill-doctor-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString("x")
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// clockReading is how far the clock of another machine is ahead of this one's.
type clockReading struct {
	whose string
	ahead time.Duration
}

func (d *diagnosis) clock() {
	const check = "clock"
	now := time.Now().UTC()
	if now.Before(released) {
		d.fail(check, "this machine's clock says "+domain.FormatTime(now)+", before this program was made", "set it, best by NTP")
		return
	}
	worst := clockReading{}
	for _, reading := range d.clocks {
		if reading.ahead.Abs() > worst.ahead.Abs() {
			worst = reading
		}
	}
	message := domain.FormatTime(now)
	if len(d.clocks) > 0 {
		message += ", " + shortly(worst.ahead.Abs()) + " from " + worst.whose
	}
	switch ahead := worst.ahead.Abs(); {
	case worst.whose == "" || ahead < skewTold:
		d.ok(check, domain.FormatTime(now))
	case ahead < skewFailed:
		d.warn(check, message, "set both by NTP")
	default:
		d.fail(check, message+"; receivers refuse webhooks whose time is that far off", "set both by NTP")
	}
}

// released is the date of this version. No correct clock is before it.
var released = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

package term

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a pair: what is written to the one comes out of the other.
func terminal(t *testing.T) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { program.Close() })
	return screen, program
}

func TestProgressIsABarOnATerminalAndLinesOnADumbOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ []string
		asJSON  bool
		shows   func(string) bool
	}{
		"a terminal": {[]string{"TERM=xterm"}, false, func(s string) bool {
			return strings.Contains(s, "\r") && strings.Contains(s, "(40/40)") && strings.Contains(s, "busy")
		}},
		"without colour": {[]string{"TERM=xterm", "NO_COLOR=1"}, false, func(s string) bool { return strings.Contains(s, "(40/40)") }},
		"a dumb one": {[]string{"TERM=dumb"}, false, func(s string) bool {
			return strings.Contains(s, "booking: 40 of 40\r\n") && !strings.Contains(s, "%")
		}},
		"a script": {[]string{"TERM=xterm"}, true, func(s string) bool { return s == "." }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen, tty := terminal(t)
			p := &Program{Environ: c.environ, Stderr: tty, AsJSON: c.asJSON}
			bar := p.Progress("booking", 40)
			bar.Add(10)
			bar.Note("busy: trying again in 1s")
			bar.Add(30)
			bar.End()
			if _, err := tty.WriteString("."); err != nil {
				t.Fatal(err)
			}
			shown := ""
			buffer := make([]byte, 64<<10)
			for !strings.HasSuffix(shown, ".") {
				n, err := screen.Read(buffer)
				if err != nil {
					t.Fatal(err)
				}
				shown += string(buffer[:n])
			}
			if !c.shows(shown) || strings.Contains(shown, "\x1b") {
				t.Errorf("%q", shown)
			}
		})
	}
}

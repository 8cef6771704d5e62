package term

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress shows the progress of a long task. Its functions may be called from any goroutine,
// add one call at a time.
type Progress struct {
	Add  func(n int)
	Note func(string) // the reason for a pause
	End  func()
}

// Progress shows the progress of a task by its name: a bar on a terminal, a line now and then
// elsewhere, and nothing for a script. It writes to stderr, like everything that is no result.
func (p *Program) Progress(doing string, total int) Progress {
	switch {
	case p.AsJSON:
		return Progress{Add: func(int) {}, Note: func(string) {}, End: func() {}}
	case p.onTerminal():
		return bar(p.Stderr, doing, total)
	default:
		return lines(p.Stderr, doing, total)
	}
}

// onTerminal reports whether a line on stderr can be overwritten.
func (p *Program) onTerminal() bool {
	file, ok := p.Stderr.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && p.Variable("TERM") != "dumb"
}

// bar has no colours, with NO_COLOR and without.
func bar(w io.Writer, label string, total int) Progress {
	const width = 30
	b := progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w), progressbar.OptionEnableColorCodes(false), progressbar.OptionSetDescription(label),
		progressbar.OptionSetWidth(width), progressbar.OptionShowCount(),
		progressbar.OptionSetRenderBlankState(true),
	)
	// A bar that cannot be drawn is no reason to stop.
	return Progress{
		Add:  func(n int) { b.Describe(label); _ = b.Add(n) },
		Note: b.Describe,
		End:  func() { _ = b.Exit(); fmt.Fprintln(w) },
	}
}

// lines prints a line after every tenth part.
func lines(w io.Writer, label string, total int) Progress {
	const parts = 10
	done, shown := 0, 0
	return Progress{
		Add: func(n int) {
			if done += n; done*parts/total > shown {
				shown = done * parts / total
				fmt.Fprintf(w, "%s: %d of %d\n", label, done, total)
			}
		},
		Note: func(why string) { fmt.Fprintln(w, label+": "+why) },
		End:  func() {},
	}
}

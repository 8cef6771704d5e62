package main

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far something long has come. Its functions may be called
// from anywhere, add one call at a time.
type progress struct {
	add  func(n int)
	note func(string) // why it does not go on
	end  func()
}

// progress is, under the name of what is done, a bar on a terminal, a line now and then elsewhere, and nothing
// for a script. It goes to stderr, as everything that is no result.
func (p *program) progress(doing string, total int) progress {
	switch {
	case p.asJSON:
		return progress{add: func(int) {}, note: func(string) {}, end: func() {}}
	case p.onTerminal():
		return bar(p.stderr, doing, total)
	default:
		return lines(p.stderr, doing, total)
	}
}

// onTerminal reports whether a line on stderr can be drawn over.
func (p *program) onTerminal() bool {
	file, ok := p.stderr.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && p.variable("TERM") != "dumb"
}

// bar has no colours, with NO_COLOR and without.
func bar(w io.Writer, label string, total int) progress {
	const width = 30
	b := progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w), progressbar.OptionEnableColorCodes(false), progressbar.OptionSetDescription(label),
		progressbar.OptionSetWidth(width), progressbar.OptionShowCount(),
		progressbar.OptionSetRenderBlankState(true),
	)
	// A bar that cannot be drawn is no reason to stop.
	return progress{
		add:  func(n int) { b.Describe(label); _ = b.Add(n) },
		note: b.Describe,
		end:  func() { _ = b.Exit(); fmt.Fprintln(w) },
	}
}

// lines tells every tenth part.
func lines(w io.Writer, label string, total int) progress {
	const parts = 10
	done, told := 0, 0
	return progress{
		add: func(n int) {
			if done += n; done*parts/total > told {
				told = done * parts / total
				fmt.Fprintf(w, "%s: %d of %d\n", label, done, total)
			}
		},
		note: func(why string) { fmt.Fprintln(w, label+": "+why) },
		end:  func() {},
	}
}

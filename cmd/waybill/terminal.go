package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"waybill/domain"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// program is one run of the command line.
type program struct {
	environ        []string
	stdout, stderr io.Writer
	asJSON         bool
}

// show prints a value as JSON where that was asked for, or else for people.
func (p *program) show(value any, human func(w io.Writer)) error {
	if p.asJSON {
		encoder := json.NewEncoder(p.stdout)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	human(table)
	return table.Flush()
}

// row writes one line of a table.
func row(w io.Writer, cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }

// say tells people what happens while it happens; a script waits for the end.
func (p *program) say(lines ...string) {
	if !p.asJSON {
		_, _ = p.stdout.Write([]byte(strings.Join(lines, "\n") + "\n")) // a closed terminal is no reason to stop
	}
}

// variable is one of the environment; empty: not set.
func (p *program) variable(name string) (value string) {
	for _, entry := range p.environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v // the last one counts, as for a program that is started
		}
	}
	return value
}

// ourselves is how this program was called, for the shell that called it.
func (p *program) ourselves() string {
	const name = "waybill"
	called := os.Args[0]
	if filepath.Base(called) != name { // within a test, or renamed
		return name
	}
	return shellQuoted(called)
}

// operatorHere is who runs this command, as the audit log names it.
func (p *program) operatorHere() domain.Operator {
	name := "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	} else if login := p.variable("USER"); login != "" {
		name = login
	}
	return domain.Operator{Name: "command:" + name}
}

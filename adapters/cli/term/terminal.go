package term

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
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
)

// Program is one run of the command line.
type Program struct {
	Environ        []string
	Stdout, Stderr io.Writer
	AsJSON         bool
}

// Show prints a value as JSON if requested, otherwise for people.
func (p *Program) Show(value any, human func(w io.Writer)) error {
	if p.AsJSON {
		encoder := json.NewEncoder(p.Stdout)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	human(table)
	return table.Flush()
}

// Row writes one line of a table.
func Row(w io.Writer, cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }

// Say tells people what happens while it happens. A script waits for the end.
func (p *Program) Say(lines ...string) {
	if !p.AsJSON {
		_, _ = p.Stdout.Write([]byte(strings.Join(lines, "\n") + "\n")) // a closed terminal is no reason to stop
	}
}

// Variable returns an environment variable, or "" if it is not set.
func (p *Program) Variable(name string) (value string) {
	for _, entry := range p.Environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v // the last one counts, as for a program that is started
		}
	}
	return value
}

// Ourselves returns how the shell called this program.
func (p *Program) Ourselves() string {
	const name = "waybill"
	called := os.Args[0]
	if filepath.Base(called) != name { // within a test, or renamed
		return name
	}
	return ShellQuoted(called)
}

// OperatorHere returns the user of this command, as the audit log names them.
func (p *Program) OperatorHere() domain.AuditActor {
	name := "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	} else if login := p.Variable("USER"); login != "" {
		name = login
	}
	return domain.AuditActor{Name: "command:" + name}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
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

	asJSON     bool
	dataDir    string
	configFile string
}

// run does what the arguments ask for until it is done or ctx ends, and
// returns the exit code. Data goes to stdout, everything else to stderr.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	p := &program{environ: environ, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	return p.complain(err)
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "waybill",
		Short: "The delivery API: book, follow and cancel deliveries",
		Example: `  waybill dev                            everything on this machine, with a demo customer
  waybill demo                           play that customer: price, book, simulate, follow
  waybill listen --forward-to URL        have its webhooks delivered to a program on this machine
  waybill serve                          the API servers, on the database of WAYBILL_DATABASE_URL
  waybill worker                         what becomes due, beside them
  waybill doctor                         what a start would trip over, and the cure
  waybill key create --help              what a command takes`,
		SilenceUsage: true, SilenceErrors: true,
		Args: knownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		problem, _, _ := strings.Cut(err.Error(), ": strconv.") // the name of a function in Go says nothing to people
		return usagef(cmd, "%s", problem)
	})
	flags := root.PersistentFlags()
	flags.BoolVar(&p.asJSON, "json", false, "print one JSON value, and nothing else, on stdout")
	flags.StringVar(&p.dataDir, "data-dir", defaultDataDir, "directory of a local installation; WAYBILL_DATABASE_URL wins over its database, unless that is the one of another directory")
	flags.StringVar(&p.configFile, "config", "", "YAML file of settings (WAYBILL_CONFIG)")
	root.AddCommand(
		p.dev(), p.demo(), p.trigger(), p.listen(), p.tail(), p.serve(), p.worker(), p.migrate(),
		p.business(), p.app(), p.key(), p.pickupLocation(), p.delivery(), p.operator(), p.webhook(), p.pricing(),
		p.config(), p.doctor(), p.healthcheck(), p.completion(), p.version(),
	)
	return root
}

const usageTemplate = `{{if .HasExample}}Examples:
{{.Example}}

{{end}}Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}
{{if .HasAvailableSubCommands}}
Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}
{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}{{if .HasAvailableInheritedFlags}}
Everywhere:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}`

// group is a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: knownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			return usagef(cmd, "%s needs one of: %s", cmd.CommandPath(), strings.Join(names, ", "))
		},
	}
	g.AddCommand(commands...)
	return g
}

// knownSubcommand refuses arguments where a subcommand belongs.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2 // letters of a typing error
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef(cmd, "%s has no command %q%s", cmd.CommandPath(), args[0], hint)
}

// takes refuses any other number of arguments than those named.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == len(names):
			return nil
		case len(names) == 0:
			return usagef(cmd, "%s takes no arguments, only flags; there is %q", cmd.CommandPath(), args[0])
		}
		return usagef(cmd, "%s takes %s; there are %d arguments", cmd.CommandPath(), strings.Join(names, " "), len(args))
	}
}

// required refuses a command without the flags, all named at once.
func required(cmd *cobra.Command, flags ...string) error {
	var missing []string
	for _, name := range flags {
		if f := cmd.Flag(name); f == nil || f.Value.String() == "" {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) > 0 {
		return usagef(cmd, "%s needs %s", cmd.CommandPath(), strings.Join(missing, " and "))
	}
	return nil
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

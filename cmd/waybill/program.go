package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/telemetry"
	"waybill/configs"
)

// commands holds the commands that run a process, and what creates all others.
type commands struct {
	*settings.CommandLine
	outputs []*telemetry.LogWriter // of a server: flushed at its end
}

// flushLog limits how long the end of a process waits for the reader of its log.
const flushLog = time.Second

// run executes the command of the arguments until it is done or ctx ends, and returns the exit
// code. Data goes to stdout, everything else to stderr.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	p := &commands{CommandLine: &settings.CommandLine{Program: &term.Program{Environ: environ, Stdout: stdout, Stderr: stderr}}}
	defer p.flush()
	root := p.root()
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return term.ExitOK
	}
	return p.Complain(err)
}

func (p *commands) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "waybill",
		Short: "The delivery API: book, follow and cancel deliveries",
		Example: `  waybill dev                            everything on this machine, with a demo customer
  waybill demo                           play that customer: price, book, simulate, follow
  waybill listen --forward-to URL        have its webhooks delivered to a program on this machine
  waybill mcp                            tools over the API for an agent, by the Model Context Protocol
  waybill serve                          the API servers, on the database of WAYBILL_DATABASE_URL
  waybill worker                         what becomes due, beside them
  waybill doctor                         what a start would trip over, and the cure
  waybill key create --help              what a command takes`,
		SilenceUsage: true, SilenceErrors: true,
		Args: term.KnownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetUsageFunc(term.PrintUsage)
	root.SetHelpCommand(term.Help())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		problem, _, _ := strings.Cut(err.Error(), ": strconv.") // people do not know the name of a Go function
		return term.Usagef(cmd, "%s", problem)
	})
	flags := root.PersistentFlags()
	flags.BoolVar(&p.AsJSON, "json", false, "print one JSON value, and nothing else, on stdout")
	flags.StringVar(&p.DataDir, "data-dir", settings.DefaultDataDir,
		"directory of a local installation; WAYBILL_DATABASE_URL wins over its database, unless that is the one of another directory")
	flags.StringVar(&p.ConfigFile, "config", "", "YAML file of settings (WAYBILL_CONFIG)")
	root.AddCommand(p.dev(), p.serve(), p.worker())
	root.AddCommand(p.admin().All()...)
	root.AddCommand(p.integrator().All()...)
	root.AddCommand(p.doctor().Command())
	return root
}

// log creates the logger of a server and logs warnings about its settings. In auto format, a
// program that people watch logs text.
func (p *commands) log(c *configs.Config, watched bool) *slog.Logger {
	p.waitForNoReader()
	asJSON := c.LogFormat == "json" || c.LogFormat == "auto" && !watched
	log := telemetry.NewLogger(p.Stderr, c.LogLevel, asJSON)
	for _, warning := range c.Warnings() {
		log.Warn("settings", "warning", warning)
	}
	return log
}

// waitForNoReader keeps a server running whose stdout or stderr is a pipe without a reader. Go
// would end the process. Other commands wait, and end.
func (p *commands) waitForNoReader() {
	for _, output := range []*io.Writer{&p.Stdout, &p.Stderr} {
		if file, ok := (*output).(*os.File); ok {
			signal.Ignore(syscall.SIGPIPE)
			w := telemetry.NewLogWriter(file)
			*output, p.outputs = w, append(p.outputs, w)
		}
	}
}

// flush waits a moment until the last lines are written.
func (p *commands) flush() {
	for _, w := range p.outputs {
		w.Flush(flushLog)
	}
}

package term

import (
	"strings"

	"github.com/spf13/cobra"
)

// UsageTemplate shows the examples of a command first.
const UsageTemplate = `{{if .HasExample}}Examples:
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

// Group is a command that only has subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: KnownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			return Usagef(cmd, "%s needs one of: %s", cmd.CommandPath(), strings.Join(names, ", "))
		},
	}
	g.AddCommand(commands...)
	return g
}

// KnownSubcommand refuses arguments where a subcommand belongs.
func KnownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2 // letters of a typing error
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return Usagef(cmd, "%s has no command %q%s", cmd.CommandPath(), args[0], hint)
}

package term

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// PrintUsage shows the examples of a command first. Cobra would use a template for that, and
// templates make the linker keep every exported method.
func PrintUsage(cmd *cobra.Command) error {
	var b strings.Builder
	if cmd.HasExample() {
		b.WriteString("Examples:\n" + cmd.Example + "\n\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("Usage:\n  " + cmd.CommandPath() + " COMMAND\n\nCommands:")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(&b, "\n  %-*s  %s", c.NamePadding(), c.Name(), c.Short)
			}
		}
		b.WriteString("\n")
	} else {
		b.WriteString("Usage:\n  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableLocalFlags() {
		b.WriteString("\nFlags:\n" + strings.TrimRight(cmd.LocalFlags().FlagUsages(), " \n") + "\n")
	}
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString("\nEverywhere:\n" + strings.TrimRight(cmd.InheritedFlags().FlagUsages(), " \n") + "\n")
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// Group returns a command that only has subcommands.
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

// KnownSubcommand refuses arguments in place of a subcommand.
func KnownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2 // letters of a typing mistake
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return Usagef(cmd, "%s has no command %q%s", cmd.CommandPath(), args[0], hint)
}

// Help returns the command that shows how to use another one.
func Help() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]...", Short: "Show how a command is used", Hidden: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
			if of, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range of.Commands() {
					if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), typed) {
						names = append(names, c.Name()+"\t"+c.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err == nil {
				err = KnownSubcommand(of, rest)
			}
			if err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

package term

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"waybill/configs"
	"waybill/domain"
)

// Usagef returns an error in how a command was called. Its exit code is 2.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...), command: cmd.CommandPath()}
}

// Takes refuses any other number of arguments than those named.
func Takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == len(names):
			return nil
		case len(names) == 0:
			return Usagef(cmd, "%s takes no arguments, only flags; there is %s", cmd.CommandPath(), configs.Quoted(args[0]))
		}
		return Usagef(cmd, "%s takes %s; there are %d arguments", cmd.CommandPath(), strings.Join(names, " "), len(args))
	}
}

// Required returns an error that names all missing flags at once.
func Required(cmd *cobra.Command, flags ...string) error {
	var missing []string
	for _, name := range flags {
		if f := cmd.Flag(name); f == nil || f.Value.String() == "" {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) > 0 {
		return Usagef(cmd, "%s needs %s", cmd.CommandPath(), strings.Join(missing, " and "))
	}
	return nil
}

// ParseID parses an ID of the command line.
func ParseID(cmd *cobra.Command, what string, prefix domain.Prefix, text string) (domain.ID, error) {
	id, err := domain.ParseID(prefix, text)
	if err != nil {
		return "", Usagef(cmd, "%q is no ID of %s: one is %s and 32 characters of 0-9 and a-f", text, what, prefix)
	}
	return id, nil
}

// ParseEnvironment reads --env.
func ParseEnvironment(cmd *cobra.Command, text string) (domain.Environment, error) {
	e, ok := domain.ParseEnvironment(text)
	if !ok {
		return "", Usagef(cmd, "--env is %q; it is live or sandbox", text)
	}
	return e, nil
}

// AddEnvFlag adds the flag that names an environment, with its two values for completion.
func AddEnvFlag(cmd *cobra.Command, env *string) {
	cmd.Flags().StringVar(env, "env", "", "live or sandbox")
	_ = cmd.RegisterFlagCompletionFunc("env", cobra.FixedCompletions( // the flag exists
		[]cobra.Completion{string(domain.Live), string(domain.Sandbox)}, cobra.ShellCompDirectiveNoFileComp))
}

package admin

import (
	"io"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
)

// completion replaces cobra's own command, whose help mentions paths that do not exist
// everywhere, and which reports success for an unknown shell.
func (p *Commands) completion() *cobra.Command {
	shell := func(name, example string, write func(*cobra.Command, io.Writer) error) *cobra.Command {
		return &cobra.Command{
			Use: name, Short: "Print the script for " + name, Example: example, Args: term.Takes(),
			RunE: func(cmd *cobra.Command, _ []string) error { return write(cmd.Root(), p.Stdout) },
		}
	}
	cmd := term.Group("completion", "Complete commands and flags with TAB: bash, zsh, fish, powershell",
		shell("bash", "  source <(waybill completion bash)                       in this shell; in ~/.bashrc: in every one",
			func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }),
		shell("zsh", "  source <(waybill completion zsh)                        in this shell; in ~/.zshrc, after compinit: in every one",
			func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }),
		shell("fish", "  waybill completion fish | source                        in this shell\n"+
			"  waybill completion fish > ~/.config/fish/completions/waybill.fish",
			func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }),
		shell("powershell", "  waybill completion powershell | Out-String | Invoke-Expression",
			func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }),
	)
	cmd.Long = cmd.Short + ".\nFor bash the package bash-completion must be installed; the others need nothing."
	cmd.Example = "  source <(waybill completion bash)\n  waybill completion fish | source"
	return cmd
}

package integrator

import (
	"github.com/spf13/cobra"

	"waybill/adapters/cli/mcp"
	"waybill/adapters/cli/term"
)

func (p *Commands) mcp() *cobra.Command {
	var (
		a                 access
		live, allowWrites bool
	)
	cmd := &cobra.Command{
		Use: "mcp", Short: "Give an agent tools over the API, by the Model Context Protocol on stdin and stdout",
		Long: `Give an agent tools over the API, by the Model Context Protocol on standard input and output. An agent starts this command;
it ends when its input does.

The tools search the documentation, explain errors, price, book, simulate and read deliveries, and show what became of
webhooks. The key's scopes decide which of them there are. It works on the sandbox; with --live it reads live, by
` + livePlace.urlEnv + ` and ` + livePlace.keyEnv + `, and books there only with --allow-live-writes too.`,
		Example: `  waybill mcp                            beside waybill dev, in the same directory
  waybill mcp --url https://sandbox.example.com/v1 --key-file agent.key
  waybill mcp --live --key-file live-agent.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if allowWrites && !live {
				return term.Usagef(cmd, "--allow-live-writes is for --live; in the sandbox every key may do what its scopes allow")
			}
			to := sandboxPlace
			if live {
				to = livePlace
			}
			c, err := p.api(cmd, a, to)
			if err != nil {
				return err
			}
			return mcp.Serve(cmd.Context(), mcp.Options{
				BaseURL: c.baseURL, Key: c.key, KeyFrom: c.keyFrom, Live: live, AllowLiveWrites: allowWrites, Docs: p.Docs, Version: p.Version,
			}, cmd.InOrStdin(), p.Stdout)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "work on live, and only read")
	cmd.Flags().BoolVar(&allowWrites, "allow-live-writes", false, "with --live: let the agent book real deliveries")
	a.addFlags(cmd)
	return cmd
}

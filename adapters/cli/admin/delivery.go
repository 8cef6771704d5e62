package admin

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/adapters/web/views"
	"waybill/domain"
)

func (p *Commands) delivery() *cobra.Command {
	return term.Group("delivery", "Deliveries: advance", p.deliveryAdvance())
}

func (p *Commands) deliveryAdvance() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "advance ID STATUS", Short: "Move a delivery one step as the platform, in any environment",
		Long: "Move a delivery one step as the platform, in any environment.\nStatuses: " + term.Joined(domain.Statuses()[1:]) + "." +
			"\nReasons, for failed and cancelled: " + term.Joined(domain.ReasonCodes()) + ".",
		Example: `  waybill delivery advance dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847 assigned
  waybill delivery advance dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847 failed --reason recipient_unreachable`,
		Args: term.Takes("ID", "STATUS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID(cmd, "a delivery", domain.PrefixDelivery, args[0])
			if err != nil {
				return err
			}
			status, code := domain.Status(args[1]), domain.ReasonCode(reason)
			if !slices.Contains(domain.Statuses(), status) {
				return term.Usagef(cmd, "%q is no status; there are %s", args[1], term.Joined(domain.Statuses()[1:]))
			}
			if reason != "" && !slices.Contains(domain.ReasonCodes(), code) {
				return term.Usagef(cmd, "--reason is %q; there are %s", reason, term.Joined(domain.ReasonCodes()))
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				moved, err := o.Operations.Advance(cmd.Context(), p.OperatorHere(), id, status, code)
				if err != nil {
					return term.Unknown(err, "delivery", id)
				}
				v := views.NewDelivery(moved, p.TrackingURL(o.Config))
				return p.Show(v, func(w io.Writer) { term.Row(w, "Delivery", v.ID, v.Reference, v.Status) })
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why it failed or was cancelled")
	return cmd
}

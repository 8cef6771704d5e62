package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"waybill/adapters/web/views"
	"waybill/domain"
)

func (p *adminCommands) delivery() *cobra.Command {
	return group("delivery", "Deliveries: advance", p.deliveryAdvance())
}

func (p *adminCommands) deliveryAdvance() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "advance ID STATUS", Short: "Move a delivery one step as the platform, in any environment",
		Long: "Move a delivery one step as the platform, in any environment.\nStatuses: " + joined(domain.Statuses()[1:]) + "." +
			"\nReasons, for failed and cancelled: " + joined(domain.ReasonCodes()) + ".",
		Example: `  waybill delivery advance dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847 assigned
  waybill delivery advance dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847 failed --reason recipient_unreachable`,
		Args: takes("ID", "STATUS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(cmd, "a delivery", domain.PrefixDelivery, args[0])
			if err != nil {
				return err
			}
			status, code := domain.Status(args[1]), domain.ReasonCode(reason)
			if !slices.Contains(domain.Statuses(), status) {
				return usagef(cmd, "%q is no status; there are %s", args[1], joined(domain.Statuses()[1:]))
			}
			if reason != "" && !slices.Contains(domain.ReasonCodes(), code) {
				return usagef(cmd, "--reason is %q; there are %s", reason, joined(domain.ReasonCodes()))
			}
			return p.inOffice(cmd, func(o *office) error {
				moved, err := o.operations.Advance(cmd.Context(), p.operatorHere(), id, status, code)
				if err != nil {
					return unknown(err, "delivery", id)
				}
				v := views.NewDelivery(moved, p.trackingURL(o.config))
				return p.show(v, func(w io.Writer) { row(w, "Delivery", v.ID, v.Reference, v.Status) })
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why it failed or was cancelled")
	return cmd
}

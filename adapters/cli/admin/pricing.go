package admin

import (
	"io"
	"net"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
)

const defaultPricingAddr = "127.0.0.1:8090"

func (p *Commands) pricing() *cobra.Command {
	return term.Group("pricing", "The pricing service: serve", p.pricingServe())
}

func (p *Commands) pricingServe() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use: "serve [--addr ADDR]", Short: "Serve the built-in tariff over the pricing protocol",
		Long: "Serve the built-in tariff, or the one of the configuration file, over the pricing protocol,\n" +
			"until SIGTERM. Point servers at it with WAYBILL_PRICING_URL. It measures roads where WAYBILL_ROUTING_URL\n" +
			"names a Valhalla, and straight lines elsewhere. It asks for no key: keep it private. Beside the\n" +
			"protocol it has /healthz and /metrics.",
		Example: `  waybill pricing serve --addr 127.0.0.1:8090
  WAYBILL_PRICING_URL=http://127.0.0.1:8090 waybill serve`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, _, err := net.SplitHostPort(addr); err != nil {
				return term.Usagef(cmd, "--addr is %q; it is host:port, such as %s", addr, defaultPricingAddr)
			}
			c, err := p.Load(cmd)
			if err != nil {
				return err
			}
			return p.ServePricing(cmd.Context(), c, addr, func(url string) error {
				if !p.AsJSON {
					return nil
				}
				return p.Show(map[string]string{"pricing_url": url}, func(io.Writer) {})
			})
		},
	}
	cmd.Flags().StringVar(&addr, "addr", defaultPricingAddr, "where to listen; port 0 takes a free one")
	settings.AddSettingFlags(cmd, "routing_url", "routing_timeout", "routing_bike", "service_area_file", "currency", "log_level", "log_format")
	return cmd
}

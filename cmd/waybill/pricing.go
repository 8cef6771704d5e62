package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/pricing/pricingserver"
)

const defaultPricingAddr = "127.0.0.1:8090"

func (p *commands) pricing() *cobra.Command {
	return term.Group("pricing", "The pricing service: serve", p.pricingServe())
}

func (p *commands) pricingServe() *cobra.Command {
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
			log := p.log(c, false)
			c.PricingURL = "" // in a file that servers share it names this very service
			metrics := newRegistry()
			tariff, closePricing, err := openPricing(c, metrics)
			if err != nil {
				return err
			}
			defer closePricing()
			door, failed := settings.ListenOn(cmd.Context(), addr, "pricing service (--addr)")
			if failed != nil {
				return failed
			}
			log.Info("serving", "listener", "pricing", "listening", door.Addr().String())
			if p.AsJSON {
				if err := p.Show(map[string]string{"pricing_url": settings.Origin(door)}, func(io.Writer) {}); err != nil {
					return errors.Join(err, door.Close())
				}
			}
			handler := http.NewServeMux()
			handler.Handle("/", pricingserver.New(pricingserver.Options{Pricing: tariff, Currency: c.Currency, Logger: log}))
			handler.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
			return servePricing(cmd.Context(), door, handler, log)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", defaultPricingAddr, "where to listen; port 0 takes a free one")
	settings.AddSettingFlags(cmd, "routing_url", "routing_timeout", "routing_bike", "service_area_file", "currency", "log_level", "log_format")
	return cmd
}

// servePricing serves until ctx ends and then finishes what is under way.
func servePricing(ctx context.Context, door net.Listener, handler http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 60 * time.Second,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(door) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	drainCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := server.Shutdown(drainCtx)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	if closed := <-served; !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"waybill/adapters/cli/settings"
	"waybill/adapters/pricing/pricingserver"
	"waybill/adapters/telemetry"
	"waybill/adapters/web/server"
	"waybill/configs"
)

// servePricing serves the tariff over the pricing protocol until ctx ends, and announces its
// URL.
func (p *commands) servePricing(ctx context.Context, c *configs.Config, addr string, announce func(url string) error) error {
	log := p.log(c, false)
	c.PricingURL = "" // in a file that servers share it names this very service
	metrics := telemetry.NewRegistry()
	tariff, closePricing, err := openPricing(c, metrics)
	if err != nil {
		return err
	}
	defer closePricing()
	listener, failed := settings.ListenOn(ctx, addr, "pricing service (--addr)")
	if failed != nil {
		return failed
	}
	log.Info("serving", "listener", "pricing", "listening", listener.Addr().String())
	if err := announce(settings.Origin(listener)); err != nil {
		return errors.Join(err, listener.Close())
	}
	handler := http.NewServeMux()
	handler.Handle("/", pricingserver.New(pricingserver.Options{Pricing: tariff, Currency: c.Currency, Logger: log}))
	handler.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return server.ServeUntil(ctx, listener, handler, log)
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"waybill/adapters/cli/settings"
	"waybill/adapters/pricing/pricingserver"
	"waybill/configs"
)

// servePricing serves the tariff over the pricing protocol until ctx ends, and
// tells where.
func (p *commands) servePricing(ctx context.Context, c *configs.Config, addr string, announce func(url string) error) error {
	log := p.log(c, false)
	c.PricingURL = "" // in a file that servers share it names this very service
	metrics := newRegistry()
	tariff, closePricing, err := openPricing(c, metrics)
	if err != nil {
		return err
	}
	defer closePricing()
	door, failed := settings.ListenOn(ctx, addr, "pricing service (--addr)")
	if failed != nil {
		return failed
	}
	log.Info("serving", "listener", "pricing", "listening", door.Addr().String())
	if err := announce(settings.Origin(door)); err != nil {
		return errors.Join(err, door.Close())
	}
	handler := http.NewServeMux()
	handler.Handle("/", pricingserver.New(pricingserver.Options{Pricing: tariff, Currency: c.Currency, Logger: log}))
	handler.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return serveUntil(ctx, door, handler, log)
}

// serveUntil serves until ctx ends and then finishes what is under way.
func serveUntil(ctx context.Context, door net.Listener, handler http.Handler, log *slog.Logger) error {
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

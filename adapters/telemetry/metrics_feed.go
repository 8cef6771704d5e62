package telemetry

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/ports"
)

// RegisterFeed shows how long events wait before they can be read.
func RegisterFeed(store ports.Maintenance, r prometheus.Registerer, log *slog.Logger) {
	registerAsked(r, prometheus.GaugeOpts{
		Name: "waybill_feed_lag_seconds",
		Help: "Age in seconds of the oldest open transaction that holds back later events of the feed; 0 when there is none.",
	}, func(ctx context.Context) float64 {
		lag, err := store.FeedLag(ctx)
		if err != nil {
			log.Debug("lag of the feed not measured", "error", err)
			return -1
		}
		return lag.Seconds()
	})
}

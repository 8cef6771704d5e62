package telemetry

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
	"waybill/ports"
)

// RegisterPepper shows the progress of a change of the pepper.
func RegisterPepper(s ports.Storage, clock ports.Clock, r prometheus.Registerer, log *slog.Logger) {
	gauge := func(name, help string, labels prometheus.Labels, value func(domain.PepperUse) float64) {
		registerAsked(r, prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func(ctx context.Context) float64 {
			uses, err := s.Read().Tenancy.OldPeppers(ctx, clock.Now())
			if err != nil {
				log.Debug("keys under previous peppers not counted", "metric", name, "error", err)
				return -1
			}
			return value(domain.SumPepperUses(uses))
		})
	}
	const name, help = "waybill_old_pepper_keys", "API keys and operator tokens whose digest still uses a previous pepper; -1 when unknown."
	gauge(name, help, prometheus.Labels{"kind": "api_key"}, func(u domain.PepperUse) float64 { return float64(u.Keys) })
	gauge(name, help, prometheus.Labels{"kind": "operator_token"}, func(u domain.PepperUse) float64 { return float64(u.Tokens) })
	gauge("waybill_old_pepper_last_used_timestamp_seconds", "Unix time of the last use of a key whose digest uses a previous pepper; 0 when "+
		"there was none, -1 when unknown.", nil, func(u domain.PepperUse) float64 {
		if u.LastUsedAt == nil {
			return 0
		}
		return float64(u.LastUsedAt.Unix())
	})
}

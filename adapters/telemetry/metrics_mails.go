package telemetry

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
	"waybill/ports"
)

// NewMails counts attempts to send mails.
func NewMails(r prometheus.Registerer) func(kind domain.MailKind, outcome string) {
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_mails_total",
		Help: "Attempts to send a mail by result: sent, failed (tried again), given_up, or dropped because no recipient is left.",
	}, []string{"kind", "outcome"})
	r.MustRegister(attempts)
	for _, kind := range domain.MailKinds() {
		attempts.WithLabelValues(string(kind), "given_up") // present from the start, since the alert is about an increase
	}
	return func(kind domain.MailKind, outcome string) { attempts.WithLabelValues(string(kind), outcome).Inc() }
}

// RegisterMails shows the waiting mails, of all processes together.
func RegisterMails(o ports.MailOutbox, clock ports.Clock, r prometheus.Registerer, log *slog.Logger) {
	gauge := func(name, help string, value func(n int, age float64) float64) {
		registerAsked(r, prometheus.GaugeOpts{Name: name, Help: help}, func(ctx context.Context) float64 {
			n, since, err := o.Waiting(ctx)
			if err != nil {
				log.Debug("mails not counted", "metric", name, "error", err)
				return -1
			}
			age := 0.0
			if n > 0 {
				age = max(0, clock.Now().Sub(since).Seconds())
			}
			return value(n, age)
		})
	}
	gauge("waybill_mails_waiting", "Mails of all processes that wait to be sent.", func(n int, _ float64) float64 { return float64(n) })
	gauge("waybill_mails_waiting_age_seconds", "Age in seconds of the oldest mail that waits to be sent; 0 when there is none.",
		func(_ int, age float64) float64 { return age })
}

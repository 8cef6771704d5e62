package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
	"waybill/ports"
)

// webhookAttempts records webhook attempts.
type webhookAttempts struct {
	Attempted func(domain.WebhookResult)
	Delayed   func(time.Duration)
}

// NewWebhookAttempts counts webhook attempts, and measures how long they take.
func NewWebhookAttempts(r prometheus.Registerer) webhookAttempts {
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_webhook_attempts_total", Help: "Attempts to send a webhook by result: succeeded, or the class of the error.",
	}, []string{"result"})
	delay := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "waybill_webhook_delay_seconds", Help: "Time in seconds from an event to the first successful answer of an endpoint.",
		Buckets: []float64{.005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 6 * 3600, 24 * 3600},
	})
	r.MustRegister(attempts, delay)
	return webhookAttempts{
		Attempted: func(result domain.WebhookResult) {
			label := string(result.Error)
			if result.Succeeded() {
				label = "succeeded"
			}
			attempts.WithLabelValues(label).Inc()
		},
		Delayed: func(d time.Duration) { delay.Observe(d.Seconds()) },
	}
}

// RegisterWebhooks shows the webhooks that wait, of all processes together.
func RegisterWebhooks(o ports.WebhookOutbox, clock ports.Clock, r prometheus.Registerer, log *slog.Logger) {
	gauge := func(name, help string, value func(context.Context) (float64, error)) {
		registerAsked(r, prometheus.GaugeOpts{Name: name, Help: help}, func(ctx context.Context) float64 {
			v, err := value(ctx)
			if err != nil {
				log.Debug("webhooks not counted", "metric", name, "error", err)
				return -1
			}
			return v
		})
	}
	gauge("waybill_webhook_backlog", "Webhooks of all processes that are due and not sent.", func(ctx context.Context) (float64, error) {
		n, _, err := o.Backlog(ctx, clock.Now())
		return float64(n), err
	})
	gauge("waybill_webhook_backlog_age_seconds", "Age in seconds of the oldest webhook that is due and not sent; 0 when there is none.",
		func(ctx context.Context) (float64, error) {
			_, since, err := o.Backlog(ctx, clock.Now())
			if err != nil || since.IsZero() {
				return 0, err
			}
			return clock.Now().Sub(since).Seconds(), nil
		})
	gauge("waybill_webhook_endpoints_disabled", "Disabled webhook endpoints of all applications.", func(ctx context.Context) (float64, error) {
		n, err := o.Disabled(ctx)
		return float64(n), err
	})
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		registerAsked(r, prometheus.GaugeOpts{
			Name:        "waybill_webhook_sending_paused_seconds",
			Help:        "Seconds for which people have paused the sending of webhooks to all customers; 0 when it goes on, -1 when unknown.",
			ConstLabels: prometheus.Labels{"environment": string(e)},
		}, func(ctx context.Context) float64 {
			pauses, err := o.Pauses(ctx)
			if err != nil {
				return -1
			}
			for _, p := range pauses {
				if p.Environment == e {
					return max(1, clock.Now().Sub(p.Since).Seconds())
				}
			}
			return 0
		})
	}
}

// SendingGoesOn returns nil, or an error that says where people have paused the webhooks.
func SendingGoesOn(ctx context.Context, o ports.SendingReader) error {
	pauses, err := o.Pauses(ctx)
	if err != nil {
		return err
	}
	told := make([]error, len(pauses))
	for i, p := range pauses {
		told[i] = fmt.Errorf("%s: %s has paused the sending of webhooks since %s: %s", p.Environment, p.By, domain.FormatTime(p.Since), p.Reason)
	}
	return errors.Join(told...)
}

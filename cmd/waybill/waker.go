package main

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/metrics/gauges"
	"waybill/application/webhooks"
	"waybill/ports"
)

// newWaker rings for what this process commits.
func newWaker(open []database, q ports.Queue, news ports.FanoutNews, log *slog.Logger) *webhooks.Waker {
	w := webhooks.NewWaker(q, news, log)
	for _, store := range open {
		store.OnFanout(w.Wake)
	}
	return w
}

// newWebhookObserver counts what is sent.
func newWebhookObserver(r prometheus.Registerer) webhooks.Observer {
	return webhooks.Observer(gauges.NewWebhookAttempts(r))
}

package main

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/metrics/gauges"
	"waybill/application/webhooks/dispatch"
	"waybill/ports"
)

// newWaker rings for what this process commits.
func newWaker(open []database, q ports.Queue, news ports.FanoutNews, log *slog.Logger) *dispatch.Waker {
	w := dispatch.NewWaker(q, news, log)
	for _, store := range open {
		store.OnFanout(w.Wake)
	}
	return w
}

// newWebhookObserver counts what is sent.
func newWebhookObserver(r prometheus.Registerer) dispatch.Observer {
	return dispatch.Observer(gauges.NewWebhookAttempts(r))
}

package gauges

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
)

// Outages tell of services that prices come from and that are gone, in the log
// and as waybill_service_gone.
type Outages struct {
	gone *prometheus.GaugeVec
	log  *slog.Logger
}

// NewOutages registers the gauge of services that are taken for gone.
func NewOutages(r prometheus.Registerer, log *slog.Logger) *Outages {
	o := &Outages{log: log, gone: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "waybill_service_gone",
		Help: "1 while the circuit to a service is open: several trips of several businesses had no answer, and none has had one since; else 0.",
	}, []string{"service", "environment"})}
	r.MustRegister(o.gone)
	return o
}

// Of hears what becomes of one service; nil outages hear nothing.
func (o *Outages) Of(service string) func(domain.Environment, bool) {
	if o == nil {
		return nil
	}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		o.gone.WithLabelValues(service, string(e)).Set(0) // there from the start
	}
	return func(e domain.Environment, gone bool) {
		if gone {
			o.gone.WithLabelValues(service, string(e)).Set(1)
			o.log.Warn("a service does not answer; until it does most quotes and creates are refused at once", "service", service, "environment",
				string(e))
			return
		}
		o.gone.WithLabelValues(service, string(e)).Set(0)
		o.log.Info("a service answers again", "service", service, "environment", string(e))
	}
}

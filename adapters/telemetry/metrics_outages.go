package telemetry

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
)

// Outages reports unavailable services that prices depend on, in the log and as
// waybill_service_gone.
type Outages struct {
	gone *prometheus.GaugeVec
	log  *slog.Logger

	mu     sync.Mutex
	states []domain.ServiceState // of each service in each environment
}

// States returns for each service whether this process considers it unavailable.
func (o *Outages) States() []domain.ServiceState {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.states)
}

// turned stores the state of a service. A service that is not known yet counts as available.
func (o *Outages) turned(service string, e domain.Environment, gone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := slices.IndexFunc(o.states, func(s domain.ServiceState) bool { return s.Name == service && s.Environment == e })
	if at < 0 {
		at, o.states = len(o.states), append(o.states, domain.ServiceState{Name: service, Environment: e})
	}
	s := &o.states[at]
	if now := domain.Millis(time.Now()); gone {
		s.GoneSince, s.LastGone = cmp.Or(s.GoneSince, &now), &now
	} else {
		s.GoneSince = nil
	}
}

// NewOutages registers the gauge of unavailable services.
func NewOutages(r prometheus.Registerer, log *slog.Logger) *Outages {
	o := &Outages{log: log, gone: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "waybill_service_gone",
		Help: "1 while the circuit to a service is open: several trips of several businesses had no answer, and none has had one since; else 0.",
	}, []string{"service", "environment"})}
	r.MustRegister(o.gone)
	return o
}

// Of returns a function that records the state of one service, or nil for nil outages.
func (o *Outages) Of(service string) func(domain.Environment, bool) {
	if o == nil {
		return nil
	}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		o.gone.WithLabelValues(service, string(e)).Set(0) // present from the start
		o.turned(service, e, false)
	}
	return func(e domain.Environment, gone bool) {
		o.turned(service, e, gone)
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

package simulation

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/crypto"
	"waybill/adapters/geo"
	"waybill/adapters/httpapi"
	"waybill/adapters/memory"
	"waybill/adapters/normalizer"
	"waybill/adapters/web/views"
	"waybill/application/access"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/idempotency"
	"waybill/application/sandbox"
	"waybill/domain"
	"waybill/ports"
)

// process is all that a server and its worker have in memory.
type process struct {
	world *world
	n     int
	dead  atomic.Bool
	skew  atomic.Int64 // its clock less the world's

	apis      map[domain.Environment]*httpapi.API
	bulk      *bulk.Bulk
	scheduler *sandbox.Scheduler
	simulator *sandbox.Simulator
}

// newProcess assembles what wire does in cmd/waybill.
func (w *world) newProcess(n int) *process {
	p := &process{world: w, n: n, apis: map[domain.Environment]*httpapi.API{}}
	digest, err := crypto.NewKeyDigester(strings.Repeat("p", 32))
	if err != nil {
		panic(err)
	}
	normalizer, err := normalizer.New("GH")
	if err != nil {
		panic(err)
	}
	log, area, ids, s := slog.New(observer{w}), geo.DefaultArea(), identifiers{w}, store{p}
	renderer := views.Events{TrackingBaseURL: trackingURL}
	admits := access.NewAdmission(s, limiter{memory.NewLimiter(time.Now), p}, digest, clock{p}, w.limits)
	q := deliveries.NewQuotes(s, pricing{p}, area)
	gate := idempotency.NewGate(s, clock{p}, ids, log, idempotency.Retention(retention))
	d := deliveries.New(s, s, gate, q, clock{p}, ids, normalizer, renderer)
	p.bulk = bulk.New(s, gate, d, ids, log, bulk.Lease(w.lease), bulk.Throttle{Writers: 2})
	p.scheduler = sandbox.NewScheduler(s, worldQueue{p}, clock{p}, log)
	p.simulator = sandbox.NewSimulator(s, clock{p}, ids, renderer, log, func(time.Duration) {})
	metrics := httpapi.NewMetrics(prometheus.NewRegistry())
	for _, e := range []domain.Environment{domain.Sandbox, domain.Live} {
		p.apis[e] = httpapi.New(httpapi.UseCases{
			Admission: admits, Quotes: q, Recipients: directory.NewRecipients(s, gate, clock{p}, ids, normalizer),
			Deliveries: d, Bulk: p.bulk, Sandbox: sandbox.New(d, clock{p}, ids),
			Normalizer: normalizer, ServiceArea: area, Identifiers: ids,
		}, httpapi.Options{
			CursorKeys:  [][32]byte{{1}},
			Environment: e, BaseURL: "https://api.test/v1", OtherBaseURL: "https://other.test/v1",
			TrackingBaseURL: trackingURL, Currency: currency, Log: log, Metrics: metrics,
		})
	}
	return p
}

// observer is a log that only looks for what must never be in one.
type observer struct{ w *world }

func (o observer) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (o observer) WithAttrs([]slog.Attr) slog.Handler           { return o }
func (o observer) WithGroup(string) slog.Handler                { return o }

func (o observer) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	if strings.Contains(text, "panic") {
		o.w.breach("a panic: %s", text)
	}
	return nil
}

var _ ports.Storage = store{}

package trackingpage_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/brand"
	"waybill/adapters/trackingpage"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

// scene serves the pages with a real database, at /track of a real server.
type scene struct {
	*stage.Stage
	storage *countingStorage
	limiter *countingLimiter
	metrics *prometheus.Registry
	log     *stage.Log
	pages   *trackingpage.Pages
	url     string // with /track
}

func newScene(t *testing.T) *scene {
	t.Helper()
	return newSceneOf(t, brand.Brand{})
}

func newSceneOf(t *testing.T, company brand.Brand) *scene {
	t.Helper()
	s := &scene{Stage: stage.New(t), limiter: &countingLimiter{used: map[string]int{}}, metrics: prometheus.NewRegistry(), log: &stage.Log{}}
	s.storage = &countingStorage{Storage: s.Store}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	s.pages = trackingpage.New(deliveries.NewTracking(s.storage, s.limiter), deliveries.NewWatches(s.storage, log), trackingpage.Options{
		Brand: company, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Log: log, Metrics: trackingpage.NewMetrics(s.metrics),
	})
	s.url = s.serve(t, "/track") + "/track"
	return s
}

// serve serves the pages at a path of a server with timeouts like those of the product, but
// shorter.
func (s *scene) serve(t *testing.T, prefix string) string {
	t.Helper()
	server := httptest.NewUnstartedServer(s.pages.At(prefix))
	server.Config.ReadTimeout = time.Second
	server.Start()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// book stores a delivery of a business with a recognizable name.
func (s *scene) book(t *testing.T, e domain.Environment, with ...func(*domain.Booking)) *domain.Delivery {
	t.Helper()
	business := sample.Business(func(b *domain.Business) { b.Name = "Adom Foods" })
	application := sample.Application(business.ID)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
			return err
		}
		return tx.Tenancy.InsertApplication(ctx, application)
	})
	w := sample.BookingWrite(domain.Tenant{BusinessID: business.ID, ApplicationID: application.ID, Environment: e}, with...)
	if err := s.Store.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return w.Delivery
}

// move moves a delivery through statuses, a quarter of an hour a step.
func (s *scene) move(t *testing.T, d *domain.Delivery, reason domain.ReasonCode, to ...domain.Status) {
	t.Helper()
	for _, status := range to {
		var why domain.ReasonCode
		if status == domain.Failed || status == domain.Cancelled {
			why = reason
		}
		at := d.CreatedAt.Add(time.Duration(d.Lifecycle().Sequence) * 15 * time.Minute)
		event, err := d.Move(status, domain.ActorPlatform, why, sample.ID(domain.PrefixEvent), at)
		if err != nil {
			t.Fatal(err)
		}
		s.Write(t, func(ctx context.Context, tx ports.Stores) error {
			return tx.Deliveries.Update(ctx, d.Tenant, d, sample.Published(event))
		})
	}
}

// ways lists the statuses that lead to each status.
var ways = map[domain.Status][]domain.Status{
	domain.Booked:     nil,
	domain.Assigned:   {domain.Assigned},
	domain.PickedUp:   {domain.Assigned, domain.PickedUp},
	domain.InTransit:  {domain.Assigned, domain.PickedUp, domain.InTransit},
	domain.Delivered:  {domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered},
	domain.Failed:     {domain.Assigned, domain.PickedUp, domain.InTransit, domain.Failed},
	domain.Cancelled:  {domain.Assigned, domain.Cancelled},
	domain.Outsourced: {domain.Outsourced},
}

// answer is a complete response.
type answer struct {
	*http.Response
	body string
}

// ask sends a request from an address.
func (s *scene) ask(t *testing.T, method, path, address string) answer {
	t.Helper()
	return send(t, method, s.url+path, address)
}

func send(t *testing.T, method, url, address string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", address)
	return do(t, r)
}

// sendAs gets an address with some headers.
func sendAs(t *testing.T, h http.Header, url string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = h.Clone()
	return do(t, r)
}

func do(t *testing.T, r *http.Request) answer {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, string(body)}
}

func (s *scene) get(t *testing.T, r domain.Reference) answer {
	t.Helper()
	return s.ask(t, http.MethodGet, "/"+string(r), "203.0.113.9")
}

// pagesCounted returns waybill_tracking_pages_total by its results.
func (s *scene) pagesCounted(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "waybill_tracking_pages_total" {
				results[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return results
}

// streams returns waybill_tracking_streams.
func (s *scene) streams(t *testing.T) float64 {
	t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "waybill_tracking_streams" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("there is no metric waybill_tracking_streams")
	return 0
}

// countingStorage counts look-ups, and fails them if the test says so.
type countingStorage struct {
	ports.Storage
	looks atomic.Int64
	// questions counts look-ups of many deliveries at once.
	questions atomic.Int64
	fails     atomic.Pointer[error]
}

func (s *countingStorage) Read() ports.Readers {
	return ports.Readers{Tracking: countingReader{s, s.Storage.Read().Tracking}}
}

type countingReader struct {
	all  *countingStorage
	real ports.TrackingReader
}

func (r countingReader) Find(ctx context.Context, reference domain.Reference) (domain.Tracking, error) {
	r.all.looks.Add(1)
	if err := r.all.fails.Load(); err != nil {
		return domain.Tracking{}, *err
	}
	return r.real.Find(ctx, reference)
}

func (r countingReader) Known(ctx context.Context, of []domain.Reference) ([]domain.Reference, error) {
	r.all.questions.Add(1)
	return r.real.Known(ctx, of)
}

// countingLimiter counts in a window that never ends.
type countingLimiter struct {
	mu    sync.Mutex
	used  map[string]int
	calls int
}

// counted returns how often it was asked to count.
func (l *countingLimiter) counted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// spend uses up the misses that an address may have.
func (l *countingLimiter) spend(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[address] = 1 << 30
}

// forget clears all windows.
func (l *countingLimiter) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.used)
}

func (l *countingLimiter) Take(_ context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	b := buckets[0]
	if l.used[b.Name] >= b.Limit.Limit {
		return ports.Allowance{Limit: b.Limit, RetryAfter: 90*time.Second + time.Millisecond}, nil
	}
	l.used[b.Name]++
	return ports.Allowance{Admitted: true, Limit: b.Limit}, nil
}

func (l *countingLimiter) Peek(context.Context, ...ports.Bucket) (ports.Allowance, error) {
	panic("a look-up is charged before it is made")
}

func (l *countingLimiter) GiveBack(_ context.Context, buckets ...ports.Bucket) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[buckets[0].Name]--
	return nil
}

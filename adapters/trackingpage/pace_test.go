package trackingpage_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/trackingpage"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// still is a storage with one delivery, in which nothing happens.
type still struct {
	ports.Storage
	ports.TrackingReader
	shown domain.Tracking
}

func (s still) Read() ports.Readers { return ports.Readers{Tracking: s} }

func (s still) Find(context.Context, domain.Reference) (domain.Tracking, error) { return s.shown, nil }

// open is a client whose stream has been open for a while, in the time of the synctest bubble.
type open struct {
	mu     sync.Mutex
	header http.Header
	text   strings.Builder
	fails  error
	until  time.Time // by when it has to take what is written
}

func (o *open) Header() http.Header { return o.header }
func (o *open) WriteHeader(int)     {}
func (o *open) Flush()              {}

func (o *open) SetWriteDeadline(until time.Time) error {
	o.until = until
	return nil
}

func (o *open) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fails != nil {
		return 0, o.fails
	}
	return o.text.Write(p)
}

// streamOf serves the stream of a delivery until it ends, and returns how long it took.
func streamOf(ctx context.Context, status domain.Status, client *open) (took time.Duration) {
	shown := domain.Tracking{Sender: "Adom Foods", Status: status, Sequence: 1,
		Events: []domain.TrackedEvent{{Status: status, OccurredAt: sample.Now}}}
	storage, log := still{shown: shown}, slog.New(slog.DiscardHandler)
	pages := trackingpage.New(deliveries.NewTracking(storage, &countingLimiter{used: map[string]int{}}), deliveries.NewWatches(storage, log),
		trackingpage.Options{
			Log: log, Metrics: trackingpage.NewMetrics(prometheus.NewRegistry()),
		})
	begun := time.Now()
	r := httptest.NewRequest(http.MethodGet, "/track/"+string(sample.Reference())+"/stream?seen=1", nil)
	pages.At("/track").ServeHTTP(client, r.WithContext(ctx))
	return time.Since(begun)
}

func TestAStreamGivesSignsOfLifeAndEndsAtOnceWhenTheServerDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &open{header: http.Header{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Second) // as the listener ends it
		defer cancel()
		if took := streamOf(ctx, domain.Booked, client); took != time.Minute+time.Second {
			t.Errorf("it ended after %v", took)
		}
		if left := time.Until(client.until); left != 10*time.Second {
			t.Errorf("the end of the answer has %v to be written", left)
		}
		if got, want := client.text.String(), "retry: 3000\n\n"+strings.Repeat(": still here\n\n", 4); got != want {
			t.Errorf("a minute of silence: %q, want %q", got, want)
		}
	})
}

func TestAStreamEndsAfterAWhile(t *testing.T) {
	t.Parallel()
	const end = "event: end\n"
	for _, c := range []struct {
		status domain.Status
		after  time.Duration
		ends   bool // for good; else the browser comes back
	}{
		{domain.Booked, time.Hour, false},
		{domain.Outsourced, time.Hour, false},
		{domain.Failed, 30 * time.Minute, true}, // not tried again
		{domain.Delivered, 0, true},
		{domain.Cancelled, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &open{header: http.Header{}}
			took := streamOf(t.Context(), c.status, client)
			if ends := strings.Contains(client.text.String(), end); took != c.after || ends != c.ends {
				t.Errorf("%s: ended after %v, for good: %v", c.status, took, ends)
			}
		})
	}
}

func TestAStreamEndsWhenItsClientIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &open{header: http.Header{}, fails: errors.New("broken pipe")}
		if took := streamOf(t.Context(), domain.Booked, client); took > time.Minute {
			t.Errorf("it went on for %v", took)
		}
	})
}

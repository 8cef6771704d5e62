package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/webhooks/dispatch"
	"waybill/domain"
	"waybill/ports"
)

// bell is a queue that counts.
type bell struct {
	takes time.Duration

	mu      sync.Mutex
	heard   []string
	ringing int
	most    int
	fails   error

	announced     []domain.ID
	announcements int
}

func (b *bell) Run(context.Context, map[ports.JobKind]ports.Handler) error {
	panic("not for a waker")
}

func (b *bell) Ring(ctx context.Context, kind ports.JobKind, id string) error {
	b.mu.Lock()
	b.heard = append(b.heard, id)
	b.ringing++
	b.most = max(b.most, b.ringing)
	takes, fails := b.takes, b.fails
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ringing--
	}()
	if fails != nil {
		return fails
	}
	if kind != ports.JobWebhook {
		return fmt.Errorf("job %s", kind)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(takes):
		return nil
	}
}

// Announce counts what other processes are told.
func (b *bell) Announce(_ context.Context, endpoints []domain.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.announced = append(b.announced, endpoints...)
	b.announcements++
}

// Listen is for servers.
func (*bell) Listen(context.Context, ports.FanoutListener) { panic("not for a waker") }

func (b *bell) mostAtOnce() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most
}

func (b *bell) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.heard)
}

// waking plays on a running waker, which has ended when it returns.
func waking(t *testing.T, takes time.Duration, play func(*dispatch.Waker, *bell)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bell{takes: takes}
		w := dispatch.NewWaker(b, b, newWorld().logger())
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.Run(ctx) })
		play(w, b)
		asked := time.Now()
		cancel()
		running.Wait()
		if took := time.Since(asked); took != 0 {
			t.Errorf("it took %v to end", took)
		}
	})
}

func TestWakesOfAMillisecondAreOneRing(t *testing.T) {
	t.Parallel()
	waking(t, 0, func(w *dispatch.Waker, b *bell) {
		for range 10 {
			w.Wake([]domain.ID{endpointID(1), endpointID(2)})
			time.Sleep(90 * time.Microsecond)
		}
		if n := b.count(); n != 0 {
			t.Errorf("%d rings early", n)
		}
		time.Sleep(time.Millisecond)
		if n := b.count(); n != 2 {
			t.Errorf("%d rings", n)
		}
		if b.announcements != 1 || len(b.announced) != 2 {
			t.Errorf("other processes were told %d times, of %v", b.announcements, b.announced)
		}
		w.Wake([]domain.ID{endpointID(1)})
		time.Sleep(1100 * time.Microsecond)
		if n := b.count(); n != 3 {
			t.Errorf("%d rings", n)
		}
		time.Sleep(time.Hour)
		if n := b.count(); n != 3 {
			t.Errorf("%d rings for nothing", n-3)
		}
	})
}

// A wake that comes while it rings for the endpoint is for something newer.
func TestAWakerTellsOnceThatARingFailed(t *testing.T) {
	t.Parallel()
	waking(t, 0, func(w *dispatch.Waker, b *bell) {
		told := func(when string, want error) {
			t.Helper()
			time.Sleep(10 * time.Millisecond)
			if got := w.Failed(); got != want {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		w.Wake([]domain.ID{endpointID(1)})
		told("after a ring", nil)
		b.mu.Lock()
		b.fails = errStorage
		b.mu.Unlock()
		w.Wake([]domain.ID{endpointID(1)})
		told("after one that failed", errStorage)
		told("after none", nil)
	})
}

func TestAWakeDuringARingIsRungFor(t *testing.T) {
	t.Parallel()
	waking(t, 10*time.Millisecond, func(w *dispatch.Waker, b *bell) {
		w.Wake([]domain.ID{endpointID(1)})
		time.Sleep(5 * time.Millisecond)
		w.Wake([]domain.ID{endpointID(1)})
		time.Sleep(20 * time.Millisecond)
		if n := b.count(); n != 2 {
			t.Errorf("%d rings", n)
		}
	})
}

// While nobody answers, neither goroutines nor memory grow, and a wake never
// waits.
func TestAQueueThatHangsCostsNothingMore(t *testing.T) {
	t.Parallel()
	waking(t, time.Second, func(w *dispatch.Waker, b *bell) {
		for n := range 50_000 {
			w.Wake([]domain.ID{endpointID(n)})
		}
		time.Sleep(100 * time.Second)
		if b.mostAtOnce() != 4 || b.count() < 395 || b.count() > 405 {
			t.Errorf("%d at a time, %d rings", b.mostAtOnce(), b.count())
		}
		b.mu.Lock()
		b.takes = 0
		b.mu.Unlock()
		time.Sleep(2 * time.Second)
		if n := b.count(); n != 10_000 {
			t.Errorf("%d rings when it is back, want 10000", n)
		}
	})
}

func TestAWakerEndsWhileTheQueueHangs(t *testing.T) {
	t.Parallel()
	waking(t, time.Hour, func(w *dispatch.Waker, _ *bell) {
		w.Wake([]domain.ID{endpointID(1), endpointID(2), endpointID(3), endpointID(4), endpointID(5), endpointID(6)})
		time.Sleep(time.Second)
	})
}

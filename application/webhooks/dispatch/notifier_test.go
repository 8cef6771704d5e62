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

// countingQueue is a queue that counts.
type countingQueue struct {
	takes time.Duration

	mu        sync.Mutex
	heard     []string
	notifying int
	most      int
	fails     error

	announced     []domain.ID
	announcements int
}

func (b *countingQueue) Run(context.Context, map[ports.JobKind]ports.Handler) error {
	panic("not for a notifier")
}

func (b *countingQueue) Notify(ctx context.Context, kind ports.JobKind, id string) error {
	b.mu.Lock()
	b.heard = append(b.heard, id)
	b.notifying++
	b.most = max(b.most, b.notifying)
	takes, fails := b.takes, b.fails
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.notifying--
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
func (b *countingQueue) Announce(_ context.Context, endpoints []domain.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.announced = append(b.announced, endpoints...)
	b.announcements++
}

// Listen is for servers.
func (*countingQueue) Listen(context.Context, ports.FanoutListener) { panic("not for a notifier") }

func (b *countingQueue) mostAtOnce() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most
}

func (b *countingQueue) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.heard)
}

// waking plays on a running notifier, which has ended when it returns.
func waking(t *testing.T, takes time.Duration, play func(*dispatch.Notifier, *countingQueue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &countingQueue{takes: takes}
		w := dispatch.NewNotifier(b, b, newWorld().logger())
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

func TestNotificationsOfAMillisecondAreOne(t *testing.T) {
	t.Parallel()
	waking(t, 0, func(w *dispatch.Notifier, b *countingQueue) {
		for range 10 {
			w.Notify([]domain.ID{endpointID(1), endpointID(2)})
			time.Sleep(90 * time.Microsecond)
		}
		if n := b.count(); n != 0 {
			t.Errorf("%d notifications early", n)
		}
		time.Sleep(time.Millisecond)
		if n := b.count(); n != 2 {
			t.Errorf("%d notifications", n)
		}
		if b.announcements != 1 || len(b.announced) != 2 {
			t.Errorf("other processes were told %d times, of %v", b.announcements, b.announced)
		}
		w.Notify([]domain.ID{endpointID(1)})
		time.Sleep(1100 * time.Microsecond)
		if n := b.count(); n != 3 {
			t.Errorf("%d notifications", n)
		}
		time.Sleep(time.Hour)
		if n := b.count(); n != 3 {
			t.Errorf("%d needless notifications", n-3)
		}
	})
}

// A notification that arrives during another one of the endpoint is of something newer.
func TestANotifierTellsOnceThatANotificationFailed(t *testing.T) {
	t.Parallel()
	waking(t, 0, func(w *dispatch.Notifier, b *countingQueue) {
		told := func(when string, want error) {
			t.Helper()
			time.Sleep(10 * time.Millisecond)
			if got := w.Failed(); got != want {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		w.Notify([]domain.ID{endpointID(1)})
		told("after a notification", nil)
		b.mu.Lock()
		b.fails = errStorage
		b.mu.Unlock()
		w.Notify([]domain.ID{endpointID(1)})
		told("after one that failed", errStorage)
		told("after none", nil)
	})
}

func TestANotificationDuringAnotherIsPassedOn(t *testing.T) {
	t.Parallel()
	waking(t, 10*time.Millisecond, func(w *dispatch.Notifier, b *countingQueue) {
		w.Notify([]domain.ID{endpointID(1)})
		time.Sleep(5 * time.Millisecond)
		w.Notify([]domain.ID{endpointID(1)})
		time.Sleep(20 * time.Millisecond)
		if n := b.count(); n != 2 {
			t.Errorf("%d notifications", n)
		}
	})
}

// While no handler answers, neither goroutines nor memory grow, and a
// notification never waits.
func TestAQueueThatHangsCostsNothingMore(t *testing.T) {
	t.Parallel()
	waking(t, time.Second, func(w *dispatch.Notifier, b *countingQueue) {
		for n := range 50_000 {
			w.Notify([]domain.ID{endpointID(n)})
		}
		time.Sleep(100 * time.Second)
		if b.mostAtOnce() != 4 || b.count() < 395 || b.count() > 405 {
			t.Errorf("%d at a time, %d notifications", b.mostAtOnce(), b.count())
		}
		b.mu.Lock()
		b.takes = 0
		b.mu.Unlock()
		time.Sleep(2 * time.Second)
		if n := b.count(); n != 10_000 {
			t.Errorf("%d notifications when it is back, want 10000", n)
		}
	})
}

func TestANotifierEndsWhileTheQueueHangs(t *testing.T) {
	t.Parallel()
	waking(t, time.Hour, func(w *dispatch.Notifier, _ *countingQueue) {
		w.Notify([]domain.ID{endpointID(1), endpointID(2), endpointID(3), endpointID(4), endpointID(5), endpointID(6)})
		time.Sleep(time.Second)
	})
}

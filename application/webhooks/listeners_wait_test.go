package webhooks_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// duties is an outbox in which something is due or not. It counts reads.
type duties struct {
	ports.WebhookOutbox
	mu    sync.Mutex
	due   map[domain.ID]bool
	asked int
}

func (d *duties) Due(_ context.Context, endpoint domain.ID, _ time.Time, _ int,
	_ ...domain.ID) ([]ports.OutgoingWebhook, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if !d.due[endpoint] {
		return nil, nil
	}
	return []ports.OutgoingWebhook{{WebhookDelivery: domain.WebhookDelivery{EndpointID: endpoint}, Payload: []byte("{}")}}, nil
}

func (d *duties) looks() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

func (d *duties) add(endpoint domain.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due[endpoint] = true
}

// listener returns the n-th listener of an application.
func listenerOf(application, n int) domain.WebhookEndpoint {
	return domain.WebhookEndpoint{
		ID:       domain.ID(fmt.Sprintf("whe_%016x%016x", application, n)),
		Tenant:   domain.Tenant{ApplicationID: domain.ID(fmt.Sprintf("app_%032x", application)), Environment: domain.Sandbox},
		Listener: true, Enabled: true,
	}
}

func waiting(play func(*testing.T, *webhooks.Listeners, *duties)) func(*testing.T) {
	return func(t *testing.T) {
		d := &duties{due: map[domain.ID]bool{}}
		play(t, webhooks.NewListeners(nil, d, nil, maskSealer{}, &stage.Clock{}, nil, nil), d)
	}
}

func TestAListenerThatWaitsAsksTheStorageOnceASecondAndAtOnceWhenItIsWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, waiting(func(t *testing.T, l *webhooks.Listeners, d *duties) {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second-time.Millisecond)
		defer stop()
		if got, err := l.Await(ctx, listenerOf(1, 1)); err != nil || len(got) != 0 || d.looks() > 20 {
			t.Errorf("%v, %v, after %d looks in 20 s", got, err, d.looks())
		}

		begun := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			got, err := l.Await(t.Context(), listenerOf(1, 1))
			if took := time.Since(begun); err != nil || len(got) != 1 || took != 2500*time.Millisecond {
				t.Errorf("woken it got %v, %v after %v", got, err, took)
			}
		})
		time.Sleep(2500 * time.Millisecond)
		before := d.looks()
		l.Notify([]domain.ID{listenerOf(1, 2).ID, listenerOf(2, 1).ID}) // none of these waits
		synctest.Wait()
		if n := d.looks() - before; n != 0 {
			t.Errorf("it looked %d times for what is others'", n)
		}
		d.add(listenerOf(1, 1).ID)
		for range 3 {
			l.Notify([]domain.ID{listenerOf(1, 1).ID})
		}
		all.Wait()

		// A webhook without a notification is found within a second.
		begun = time.Now()
		all.Go(func() {
			if got, err := l.Await(t.Context(), listenerOf(1, 3)); err != nil || len(got) != 1 || time.Since(begun) > 1500*time.Millisecond {
				t.Errorf("not woken it got %v, %v after %v", got, err, time.Since(begun))
			}
		})
		time.Sleep(500 * time.Millisecond)
		d.add(listenerOf(1, 3).ID)
		all.Wait()
	}))
}

func TestTheListenersOfOneApplicationTakeNoPlaceOfAnothers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, waiting(func(t *testing.T, l *webhooks.Listeners, d *duties) {
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		await := func(e domain.WebhookEndpoint) {
			all.Go(func() {
				if _, err := l.Await(ctx, e); err != nil {
					t.Errorf("%s: %v", e.ID, err)
				}
			})
			synctest.Wait()
		}
		for n := range domain.MaxWebhookEndpoints {
			await(listenerOf(1, n))
		}
		soon, end := context.WithTimeout(ctx, time.Second)
		defer end()
		_, err := l.Await(soon, listenerOf(1, 99))
		isCode(t, err, "RATE_LIMIT_EXCEEDED")
		await(listenerOf(1, 0)) // a later fetch takes the place of the first
		other := listenerOf(1, 100)
		other.Tenant.Environment = domain.Live
		await(other)
		for application := range 600 {
			await(listenerOf(2+application, 0))
		}
		stop()
		all.Wait()
		d.add(listenerOf(1, 99).ID)
		if got, err := l.Await(t.Context(), listenerOf(1, 99)); err != nil || len(got) != 1 {
			t.Errorf("when the others have gone: %v, %v", got, err)
		}
	}))
}

func TestListenersAreAwaitedWhileOneWaits(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.listen()
	ended, end := context.WithCancel(t.Context())
	end()
	if s.listeners.Awaited(ended) {
		t.Error("awaited, and nobody waits")
	}
	awaited := make(chan bool)
	go func() { awaited <- s.listeners.Awaited(t.Context()) }()
	e, err := s.listeners.Get(t.Context(), s.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	waiting, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = s.listeners.Await(waiting, e)
	}()
	if !<-awaited || !s.listeners.Awaited(t.Context()) {
		t.Error("not awaited, and a listener waits")
	}
	leave()
	<-left
	if s.listeners.Awaited(ended) {
		t.Error("awaited still, and nobody waits any more")
	}
}

func TestListenersAreUnawaitedWhenNoneHasWaitedForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, waiting(func(t *testing.T, l *webhooks.Listeners, _ *duties) {
		wait := func(lasting time.Duration) {
			ctx, leave := context.WithTimeout(t.Context(), lasting)
			defer leave()
			_, _ = l.Await(ctx, listenerOf(1, 1))
		}
		began := time.Now()
		go func() {
			wait(90 * time.Second)
			time.Sleep(55 * time.Second)
			wait(time.Second) // between two reads
		}()
		synctest.Wait()
		l.Unawaited(t.Context(), time.Minute)
		if took := time.Since(began); took != 4*time.Minute {
			t.Errorf("unawaited after %v, want a minute without a wait behind the one of the third", took)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		go wait(time.Hour)
		synctest.Wait()
		l.Unawaited(ended, time.Minute) // returns, since its caller has gone
	}))
}

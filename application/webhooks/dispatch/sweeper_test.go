package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// sweeping runs a Sweeper; stop ends it, at once.
func (w *world) sweeping(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.sweeper().Run(ctx) })
	return func() {
		asked := w.now()
		cancel()
		running.Wait()
		if took := w.now() - asked; took != 0 {
			t.Errorf("it took %v to end", took)
		}
	}
}

func TestTheSweeperNotifiesOfWhatIsDueAndLeasedByNoProcess(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		defer w.sweeping(t)()
		synctest.Wait()
		due, slow, leased, disabled, open, later := w.addEndpoint(1), w.addEndpoint(2), w.addEndpoint(3), w.addEndpoint(4), w.addEndpoint(5),
			w.addEndpoint(6)
		soon := time.Now().Add(10 * time.Second)
		w.change(slow, func(b *boxed) { b.Health.SlowUntil = &soon })
		w.change(leased, func(b *boxed) { b.token, b.until = "another", soon })
		w.change(open, func(b *boxed) { b.Health.OpenUntil = &soon })
		for _, e := range []domain.ID{due, slow, leased, disabled, open} {
			w.add(e, 1, 1)
		}
		w.change(disabled, func(b *boxed) { b.Enabled = false })
		time.Sleep(2*looksEvery - time.Millisecond)
		if got := w.heard(); !slices.Equal(got, []string{"webhook 1s", "webhook-slow 1s"}) &&
			!slices.Equal(got, []string{"webhook-slow 1s", "webhook 1s"}) {
			t.Errorf("notified %v", got)
		}
		w.change(due, func(b *boxed) { b.gone = true })
		w.change(slow, func(b *boxed) { b.gone = true })
		w.add(later, 1, 1)
		time.Sleep(2 * time.Millisecond)
		if got := w.heard(); len(got) != 3 || got[2] != "webhook 2s" {
			t.Errorf("notified %v", got)
		}
	})
}

func TestWhatWillWaitIsNotifiedAtItsTimeBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		at := func(after time.Duration) *time.Time { return new(w.began.Add(after)) }
		add := func(n int, change func(b *boxed)) {
			e := w.addEndpoint(n)
			w.add(e, 1, 1)
			w.change(e, change)
		}
		add(1, func(b *boxed) { b.pending[0].DueAt = at(4321 * time.Millisecond) })
		add(2, func(b *boxed) { b.token, b.until = "of a dead process", *at(2222 * time.Millisecond) })
		add(3, func(b *boxed) { b.Health.OpenUntil = at(3001 * time.Millisecond) })
		add(4, func(b *boxed) {
			b.pending[0].DueAt, b.Health.OpenUntil, b.Health.SlowUntil = at(time.Second), at(5500*time.Millisecond), at(time.Minute)
		})
		gone := map[string]int{"webhook 2.222s": 2, "webhook 3.001s": 3, "webhook 4.321s": 1}
		defer w.sweeping(t)()
		for range 6000 {
			time.Sleep(time.Millisecond)
			if heard := w.heard(); len(heard) > 0 { // it is sent: nothing waits any more
				for _, b := range w.endpoints {
					w.change(b.ID, func(b *boxed) {
						b.gone = b.gone || fmt.Sprintf("https://%d.example.com", gone[heard[len(heard)-1]]) == b.URL
					})
				}
			}
		}
		want := []string{"webhook 2.222s", "webhook 3.001s", "webhook 4.321s", "webhook-slow 5.5s"}
		if got := w.heard(); !slices.Equal(got, want) {
			t.Errorf("notified %v, want %v", got, want)
		}
	})
}

// A schedule may be denser than looks are, and no Sweeper runs at all.
func TestARetryThatIsDueBeforeTheNextLookIsNotLate(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.waits = domain.RetrySchedule{300 * time.Millisecond, 50 * time.Millisecond, 700 * time.Millisecond}
		row := w.add(w.addEndpoint(1), 1, 1)
		w.always(refuses(500))
		defer w.running(t, 1, false)()
		w.wake(t, w.row(row).EndpointID)
		time.Sleep(10 * time.Second)
		log, sent := w.log(row), w.sent()
		if len(log) != 4 || len(sent) != 4 {
			t.Fatalf("%d attempts, %d sent", len(log), len(sent))
		}
		for i, a := range log[:3] {
			if late := sent[i+1].at - a.NextAt.Sub(w.began); late != 0 {
				t.Errorf("attempt %d was %v late", i+2, late)
			}
		}
	})
}

func TestANotifiedEndpointIsNotNotifiedAgainForASecond(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.add(e, 1, 1)
		defer w.sweeping(t)()
		time.Sleep(3500 * time.Millisecond)
		if got := w.heard(); !slices.Equal(got, []string{"webhook 0s", "webhook 1s", "webhook 2s", "webhook 3s"}) {
			t.Errorf("notified %v", got)
		}
	})
}

func TestAnOwnerWithMoreThanCanBeNotifiedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 3000 { // a look reads less of them, and less than that is notified before the next one
			w.add(w.addEndpoint(n), 1, 1)
		}
		other := w.addEndpoint(3000)
		w.change(other, func(b *boxed) { b.Tenant.BusinessID = "biz_other" })
		time.Sleep(5 * time.Second)
		w.add(other, 1, 1)
		var notified []string
		w.queue = notes{each: 2 * time.Millisecond, ids: &notified}
		stop := w.sweeping(t)
		time.Sleep(10 * time.Second)
		stop()
		if len(notified) < 2 || !slices.Contains(notified[:2], string(other)) {
			t.Errorf("of %d notifications the first ones are %v", len(notified), notified[:min(len(notified), 2)])
		}
	})
}

// notes is a queue that notes the endpoints and takes its time for each.
type notes struct {
	ports.Queue
	each time.Duration
	ids  *[]string
}

func (n notes) Notify(ctx context.Context, _ ports.JobKind, id string) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(n.each):
	}
	*n.ids = append(*n.ids, id)
	return nil
}

// broken is a queue that is away.
type broken struct{ ports.Queue }

func (broken) Notify(ctx context.Context, _ ports.JobKind, _ string) error {
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	return errStorage
}

func TestAQueueThatIsAwayIsAskedAgainAtTheNextSweep(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 50 {
			w.add(w.addEndpoint(n), 1, 1)
		}
		w.queue = broken{}
		defer w.sweeping(t)()
		time.Sleep(10 * time.Second)
		if notifications, looks := len(w.heard()), w.count("Waiting"); looks < 8 || notifications < looks-1 || notifications > looks {
			t.Errorf("%d notifications after %d looks in 10 seconds", notifications, looks)
		}
	})
}

// A quick look comes each second. Else half of the time at most is spent in looking, and a storage that was slow is not left
// alone for long.
func TestAPauseComesAfterASlowLook(t *testing.T) {
	t.Parallel()
	for took, looks := range map[time.Duration]int{
		0: 10, 300 * time.Millisecond: 10, 700 * time.Millisecond: 6, time.Second: 5, 10 * time.Second: 2,
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.slowed("Waiting", took, 0, time.Hour)
			defer w.sweeping(t)()
			time.Sleep(10*time.Second - time.Millisecond)
			if n := w.count("Waiting"); n != looks {
				t.Errorf("%d looks that take %v, want %d", n, took, looks)
			}
		})
	}
}

func TestASweeperTellsOnceThatTheStorageFailsAndThatItIsBack(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.add(w.addEndpoint(1), 1, 1)
		w.failing("Waiting", 0, 5*time.Second)
		defer w.sweeping(t)()
		time.Sleep(5500 * time.Millisecond)
		if logged := w.logged.String(); strings.Count(logged, "level=WARN") != 1 || strings.Count(logged, "level=INFO") != 1 {
			t.Errorf("logged %s", logged)
		}
		if got := w.heard(); !slices.Equal(got, []string{"webhook 5s"}) {
			t.Errorf("notified %v", got)
		}
	})
}

func TestASweeperEndsInTheMiddleOfALook(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.slowed("Waiting", time.Hour, 0, time.Hour)
		stop := w.sweeping(t)
		time.Sleep(time.Second)
		stop()
		if logged := w.logged.String(); logged != "" {
			t.Errorf("logged %s", logged)
		}
	})
}

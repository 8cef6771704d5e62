package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// announceWithin is far more than ports.Invalidations promises: the machine may be busy.
	announceWithin = 30 * time.Second
	// heardWithin is how long the suite waits for what should take moments.
	heardWithin = time.Minute
)

// ExamineInvalidations examines an adapter of ports.Invalidations. open returns two
// views of the same announcements: those of two processes where the adapter
// joins processes, else twice the same. Others may announce on them meanwhile.
func ExamineInvalidations(t *testing.T, open func(t *testing.T) (one, other ports.Invalidations)) {
	for _, c := range []struct {
		name string
		run  func(i *invalidated)
	}{
		{"every listener hears what anyone announces", (*invalidated).everyone},
		{"who stops listening hears no more and disturbs nobody", (*invalidated).stopped},
		{"an announcement that nobody hears is soon over", (*invalidated).unheard},
		{"an announcement is made though the request is over", (*invalidated).requestOver},
		{"a slow listener holds nobody up", (*invalidated).slow},
		{"of many at once none is lost, or all are", (*invalidated).many},
	} {
		// One after the other: each hears the announcements of all.
		t.Run(c.name, func(t *testing.T) {
			one, other := open(t)
			i := &invalidated{T: t, views: []ports.Invalidations{one, other}}
			c.run(i)
		})
	}
}

type invalidated struct {
	*testing.T
	views []ports.Invalidations
}

func (*invalidated) newID() domain.ID { return domain.ID(fmt.Sprintf("app_%032x", rand.Uint64())) }

// announce makes one announcement, which has to be quick.
func (i *invalidated) announce(ctx context.Context, view int, id domain.ID) {
	i.Helper()
	began := time.Now()
	i.views[view].Announce(ctx, id)
	if took := time.Since(began); took > announceWithin {
		i.Errorf("announcing took %v", took)
	}
}

// ear is one listener and what it heard.
type ear struct {
	mu    sync.Mutex
	heard map[domain.ID]int
	stop  func() // and wait until it has
}

// listen returns once the listener hears.
func (i *invalidated) listen(view int) *ear {
	i.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	e := &ear{heard: map[domain.ID]int{}}
	var done sync.WaitGroup
	e.stop = func() {
		cancel()
		done.Wait()
	}
	i.Cleanup(e.stop)
	done.Go(func() {
		i.views[view].Listen(ctx, func(id domain.ID) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.heard[id]++
		})
	})
	for deadline := time.Now().Add(heardWithin); ; time.Sleep(5 * time.Millisecond) {
		marker := i.newID()
		i.announce(i.Context(), view, marker)
		time.Sleep(5 * time.Millisecond)
		if e.times(marker) > 0 {
			return e
		}
		if time.Now().After(deadline) {
			i.Fatal("the listener hears nothing")
		}
	}
}

func (e *ear) times(id domain.ID) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard[id]
}

func (i *invalidated) hears(e *ear, id domain.ID) {
	i.Helper()
	for deadline := time.Now().Add(heardWithin); e.times(id) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			i.Fatalf("%q was not heard", id)
		}
	}
}

func (i *invalidated) everyone() {
	ears := []*ear{i.listen(0), i.listen(0), i.listen(1)}
	for view := range i.views {
		for range 5 {
			id := i.newID()
			i.announce(i.Context(), view, id)
			for _, e := range ears {
				i.hears(e, id)
			}
		}
		i.announce(i.Context(), view, "") // all applications
		for _, e := range ears {
			i.hears(e, "")
		}
	}
}

func (i *invalidated) stopped() {
	leaves, stays := i.listen(0), i.listen(0)
	leaves.stop()
	id := i.newID()
	i.announce(i.Context(), 1, id)
	i.hears(stays, id)
	if leaves.times(id) != 0 {
		i.Error("it was called after Listen had returned")
	}
}

func (i *invalidated) unheard() {
	for range 100 {
		i.announce(i.Context(), 0, i.newID())
	}
}

func (i *invalidated) requestOver() {
	e := i.listen(1)
	over, cancel := context.WithCancel(i.Context())
	cancel()
	id := i.newID()
	i.announce(over, 0, id)
	i.hears(e, id)
}

func (i *invalidated) slow() {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	blocked, release := make(chan struct{}, 1), make(chan struct{})
	done.Go(func() {
		i.views[0].Listen(ctx, func(domain.ID) {
			select {
			case blocked <- struct{}{}:
			default:
			}
			<-release
		})
	})
	defer done.Wait()
	defer cancel()
	defer close(release)
	e := i.listen(0)
	for deadline := time.Now().Add(heardWithin); len(blocked) == 0; time.Sleep(5 * time.Millisecond) {
		i.announce(i.Context(), 0, i.newID())
		if time.Now().After(deadline) {
			i.Fatal("the slow listener hears nothing")
		}
	}
	for range 20 {
		id := i.newID()
		i.announce(i.Context(), 1, id)
		i.hears(e, id)
	}
}

func (i *invalidated) many() {
	e := i.listen(0)
	all := e.times("")
	ids := make([]domain.ID, 2000)
	for n := range ids {
		ids[n] = i.newID()
	}
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			for n := caller; n < len(ids); n += 8 {
				i.views[caller%2].Announce(i.Context(), ids[n])
			}
		})
	}
	wg.Wait()
	for deadline := time.Now().Add(heardWithin); ; time.Sleep(time.Millisecond) {
		lost := 0
		for _, id := range ids {
			if e.times(id) == 0 {
				lost++
			}
		}
		if lost == 0 || e.times("") > all {
			return
		}
		if time.Now().After(deadline) {
			i.Fatalf("%d of %d were not heard, and nobody was told to forget all", lost, len(ids))
		}
	}
}

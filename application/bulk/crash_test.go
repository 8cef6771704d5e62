package bulk_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"waybill/application/bulk"
	"waybill/application/idempotency"
	"waybill/ports"
	"waybill/test/stage"
)

// examined is a scene whose bulk is sent to one process again and again.
type examined struct {
	*scene
	process *process
	items   []bulk.Item
	last    idempotency.Result
	least   int // how many items must be created, whatever fails
}

func (e *examined) send(ctx context.Context) (idempotency.Result, error) {
	got, err := e.process.send(ctx, e.ask, e.items)
	if err == nil {
		e.last = got
	}
	return got, err
}

// Whichever call fails in whichever way, a retry after the end of the lease gets the final answer,
// and every item is done once.
func TestWhicheverCallOfABulkFailsTheRetryFindsEveryItemOnce(t *testing.T) {
	t.Parallel()
	stage.Exam[*examined]{
		Scene: func(t *testing.T) *examined { return &examined{scene: newScene(t)} },
		Break: func(e *examined, c *stage.Calls) {
			e.storage, e.bookings, e.price = c.Storage(e.witness), singly{c.Bookings(e.Store)}, c.Pricing(e.price).Price
			e.process = e.start("first")
		},
		Mend: func(e *examined) {
			e.storage, e.bookings = e.witness, e.Store
			e.process = e.start("second")
			if e.witness.hold.Key == "" {
				return
			}
			_ = e.Store.InTx(context.Background(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Bulks.Release(ctx, e.tenant, e.witness.hold)
			})
		},
	}.Run(t, []stage.UseCase[*examined]{
		{
			// key; recipients; transaction: claim, items; external_id, price and
			// booking of each; transaction: answer
			Name: "two items", Keyed: true, Calls: 1 + 2 + 3 + 2*3 + 2,
			Ready: func(_ *testing.T, e *examined) stage.Send {
				e.items, e.least = orders(2, named), 1
				return e.send
			},
			Check: everyItemOnce,
		},
		{
			// key; recipients; transaction: claim, items; price of each; of the first a booking; of
			// the second a transaction: extend, item; transaction: answer
			Name: "an item that is refused", Keyed: true, Calls: 1 + 2 + 3 + 2 + 1 + 3 + 2,
			Ready: func(_ *testing.T, e *examined) stage.Send {
				e.items, e.price = orders(2), noPriceFor(1)
				return e.send
			},
			Check: everyItemOnce,
		},
		{
			// key; transaction: claim, items; recipient, external_id, price and
			// booking of what is left; transaction: answer
			Name: "a bulk that was left", Keyed: true, Calls: 1 + 3 + 4 + 2,
			Ready: func(t *testing.T, e *examined) stage.Send {
				e.items, e.least = orders(2, named), 1
				e.leave(t, "earlier", e.items, 1)
				return e.send
			},
			Check: everyItemOnce,
		},
	})
}

func everyItemOnce(t *testing.T, e *examined) {
	t.Helper()
	o := outcomeOf(t, e.last)
	if o.Created < e.least {
		t.Errorf("%d created, want %d", o.Created, e.least)
	}
	e.wantOutcome(t, e.last, nil, len(e.items), len(e.items)-o.Created)
}

// tap wraps every write of a process, counted from one: the claim, the bookings and records of
// refusals, the answer.
type tap struct {
	around func(call int, do func() error) error
	calls  atomic.Int32
}

func (w *tap) call(do func() error) error { return w.around(int(w.calls.Add(1)), do) }

type tappedStorage struct {
	ports.Storage
	tap *tap
}

func (s tappedStorage) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	return s.tap.call(func() error { return s.Storage.InTx(ctx, fn) })
}

type tappedBookings struct {
	ports.Bookings
	tap *tap
}

func (b tappedBookings) Book(ctx context.Context, w ports.BookingWrite) error {
	return b.tap.call(func() error { return b.Bookings.Book(ctx, w) })
}

// startTapped starts a process with a wrapper around every write.
func (s *scene) startTapped(name string, around func(call int, do func() error) error) *process {
	storage, bookings, t := s.storage, s.bookings, &tap{around: around}
	defer func() { s.storage, s.bookings = storage, bookings }()
	s.storage, s.bookings = tappedStorage{storage, t}, tappedBookings{singly{bookings}, t}
	return s.start(name)
}

func TestACommitWithoutAnAnswerIsRetriedAndNoCallerLearnsOfIt(t *testing.T) {
	t.Parallel()
	atEveryCall(t, func(t *testing.T, at int, committed bool) (reached bool) {
		s := newScene(t)
		s.price = noPriceFor(1)
		p := s.startTapped("a", func(call int, do func() error) error {
			if call != at {
				return do()
			}
			reached = true
			if committed {
				if err := do(); err != nil {
					return err
				}
			}
			return fmt.Errorf("commit: %w", ports.ErrOutcomeUnknown)
		})
		got, err := p.send(t.Context(), s.ask, orders(3))
		s.wantOutcome(t, got, err, 3, 1)
		if got.Replayed {
			t.Error("its own answer is marked as a replay")
		}
		return reached
	})
}

// stall runs the scene's bulk in a process that is held up at a write, as by a long pause of the
// machine, and then continues with what it knew before. Others work meanwhile. It returns the final
// result of the process. reached is false where there is no such write.
func (s *scene) stall(t *testing.T, items []bulk.Item, at int, after bool, meanwhile func()) (got idempotency.Result, err error,
	reached bool) {
	t.Helper()
	held, resume := make(chan struct{}), make(chan struct{})
	stalled := s.startTapped("stalled", func(call int, do func() error) (err error) {
		if call != at {
			return do()
		}
		if after {
			err = do()
		}
		close(held)
		<-resume
		if !after {
			err = do()
		}
		return err
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, err = stalled.send(context.WithoutCancel(t.Context()), s.ask, items)
	}()
	select {
	case <-done:
		return got, err, false
	case <-held:
	}
	s.leaseRunsOut(t)
	meanwhile()
	close(resume)
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the stalled process does not come to an end")
	}
	return got, err, true
}

// atEveryCall runs a test before and after the effect of every write, until there is no such write
// any more.
func atEveryCall(t *testing.T, test func(t *testing.T, at int, after bool) (reached bool)) {
	for _, behind := range []bool{false, true} {
		for at, reached := 1, true; reached; at++ {
			name := fmt.Sprintf("before call %d", at)
			if behind {
				name = fmt.Sprintf("behind call %d", at)
			}
			t.Run(name, func(t *testing.T) { reached = test(t, at, behind) })
			if t.Failed() {
				return
			}
		}
	}
}

func TestAStalledProcessWhoseBulkIsAnothersNowWritesNothingMore(t *testing.T) {
	t.Parallel()
	atEveryCall(t, func(t *testing.T, at int, after bool) bool {
		s := newScene(t)
		s.price = noPriceFor(1)
		items := orders(3)
		var done int
		var answered bool
		got, err, reached := s.stall(t, items, at, after, func() {
			if r, there := s.record(t); there && r.Answered() {
				answered = true
				return
			}
			s.begin(t) // another process resumes it, or claims it first, and is slow
			done = len(s.stored(t))
		})
		if !reached {
			return false
		}
		if answered { // it was held up behind its answer
			s.wantOutcome(t, got, err, 3, 1)
			return true
		}
		wantLeased(t, got, err)
		if n := len(s.stored(t)); n != done {
			t.Errorf("%d deliveries, and %d when the other took over", n, done)
		}
		s.leaseRunsOut(t)
		got, err = s.start("third").send(t.Context(), s.ask, items)
		s.wantOutcome(t, got, err, 3, 1)
		return true
	})
}

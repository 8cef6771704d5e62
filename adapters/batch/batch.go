package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Outcomes that the batcher itself decides.
var (
	// ErrAlone tells the caller to carry out the item alone: its batch continued without it, or
	// no batch has ended for Options.Stall.
	ErrAlone = errors.New("the item has to be carried out by itself")
	// ErrLate reports that the item waited for longer than Options.MaxWait. Nothing was done.
	ErrLate = errors.New("the item waited too long for its batch")
	// ErrNotBegun reports that the caller's context ended before the batch began. Nothing was
	// done.
	ErrNotBegun = errors.New("the batch has not begun")
	// ErrUnderWay reports that the caller's context ended while the batch was running. Whether
	// the item is carried out is unknown.
	ErrUnderWay = errors.New("the batch is under way")
)

// Options configures a batcher. Zero switches a rule off unless its comment says otherwise.
type Options struct {
	Size     int // limit of items in a batch; at least 1
	Parallel int // limit of batches that run at a time; at least 1

	// Many is how many waiting items start a second batch.
	Many int
	// Slow is how long after the start of the last batch another one starts, up to Parallel. It
	// is never off: 0 means at once.
	Slow time.Duration
	// Few is the average size of recent batches up to which a second batch starts at once. When
	// batches become larger, the second one ends.
	Few int

	// Interval is the least time from a batch of several items to the next one.
	Interval time.Duration
	// Budget limits the time of a batch. It is never off.
	Budget time.Duration
	// MaxWait limits the wait of an item for its batch.
	MaxWait time.Duration
	// Stall is how long no batch may end before items get ErrAlone: a connection that died
	// silently must not block the items of others.
	Stall time.Duration
	// Once says that an item must not be carried out twice. A caller whose item is running then
	// waits for its outcome even when cancelled, up to its deadline. It never gets ErrAlone
	// because of a stall.
	Once bool
}

// recent is about how many batches count for the average size.
const recent = 8

// Batcher carries out items in batches. It is safe for concurrent use.
type Batcher[T any] struct {
	// Options must not change once items have arrived.
	Options
	// Admit, if set, creates a rule for each batch of at most so many items. The rule reports
	// whether an item may join those admitted before. It must admit the first one.
	Admit func(most int) func(T) bool

	run func(ctx context.Context, items []T) []error

	mu       sync.Mutex
	waiting  []*waiter[T]
	running  int       // batches
	underWay int       // items in them
	average  float64   // items of recent batches
	began    time.Time // when the last batch was started or taken
	ended    time.Time // when the last batch ended
	shared   time.Time // when the last batch began, if it had several items
	looks    bool      // a timer will check whether another batch has to start
}

// waiter is an item with its caller.
type waiter[T any] struct {
	item     T
	came     time.Time
	deadline time.Time // of the caller; zero: none
	outcome  chan error
}

// New creates a batcher. run carries out items and returns an error, or nil, for each of them.
// Its context ends with the budget, or when the last caller's time is up.
func New[T any](o Options, run func(ctx context.Context, items []T) []error) *Batcher[T] {
	return &Batcher[T]{Options: o, run: run}
}

// Do carries out an item together with others and returns its outcome, or an error that wraps
// ErrAlone, ErrLate, ErrNotBegun or ErrUnderWay. The last two also wrap the error of ctx.
func (b *Batcher[T]) Do(ctx context.Context, item T) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotBegun, err)
	}
	w := &waiter[T]{item: item, came: time.Now(), outcome: make(chan error, 1)}
	w.deadline, _ = ctx.Deadline()
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	b.start()
	b.mu.Unlock()

	var stalled <-chan time.Time
	if b.Stall > 0 {
		timer := time.NewTimer(b.Stall)
		defer timer.Stop()
		stalled = timer.C
	}
	for {
		select {
		case err := <-w.outcome:
			return err
		case <-ctx.Done():
			return b.abandon(ctx, w)
		case <-stalled:
			again, gone := b.giveUp(w)
			if gone {
				return ErrAlone
			}
			stalled = time.After(again)
		}
	}
}

// abandon ends the wait of a caller whose context has ended.
func (b *Batcher[T]) abandon(ctx context.Context, w *waiter[T]) error {
	if b.remove(w) {
		return fmt.Errorf("%w: %w", ErrNotBegun, ctx.Err())
	}
	if b.Once && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return <-w.outcome
	}
	select {
	case err := <-w.outcome:
		return err
	default:
		return fmt.Errorf("%w: %w", ErrUnderWay, ctx.Err())
	}
}

// giveUp removes an item that has waited while no batch ended, or returns when to check again.
func (b *Batcher[T]) giveUp(w *waiter[T]) (again time.Duration, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if quiet := time.Since(b.ended); quiet < b.Stall {
		return b.Stall - quiet, false
	}
	if b.removed(w) || !b.Once {
		return 0, true
	}
	return b.Stall, false // its batch is running
}

func (b *Batcher[T]) remove(w *waiter[T]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.removed(w)
}

// removed removes an item unless its batch has begun, and reports whether it did. The batcher
// is locked.
func (b *Batcher[T]) removed(w *waiter[T]) bool {
	i := slices.Index(b.waiting, w)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return true
}

// start starts a worker when a batch is needed, or sets a timer for the time when the last
// batch counts as slow. The batcher is locked.
func (b *Batcher[T]) start() {
	if len(b.waiting) == 0 || b.running >= b.Parallel {
		return
	}
	since := time.Since(b.began)
	needed := b.running == 0 || b.running == 1 && b.crowded() || since >= b.Slow
	if needed || b.running == 1 && b.small() {
		b.running, b.began = b.running+1, time.Now()
		go b.work(needed)
		return
	}
	if !b.looks {
		b.looks = true
		time.AfterFunc(b.Slow-since, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.looks = false
			b.start()
		})
	}
}

// crowded reports whether enough items wait for a second batch.
func (b *Batcher[T]) crowded() bool { return b.Many > 0 && len(b.waiting) >= b.Many }

// small reports whether batches have few items.
func (b *Batcher[T]) small() bool { return b.Few > 0 && b.average <= float64(b.Few) }

// work carries out batch after batch until no item waits.
func (b *Batcher[T]) work(needed bool) {
	for {
		if pause := b.pause(); pause > 0 {
			time.Sleep(pause)
		}
		taken := b.take(needed)
		if len(taken) == 0 {
			return
		}
		outcomes := b.carryOut(taken)
		b.mu.Lock()
		b.underWay, b.ended = b.underWay-len(taken), time.Now()
		b.mu.Unlock()
		for i, err := range outcomes {
			taken[i].outcome <- err
		}
	}
}

// pause returns how long the next batch has to wait.
func (b *Batcher[T]) pause() time.Duration {
	if b.Interval == 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Interval - time.Since(b.shared)
}

// take takes the items of the next batch. Without items the worker ends: no item waits, or one
// worker is enough because batches are no longer small.
func (b *Batcher[T]) take(needed bool) []*waiter[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	var taken []*waiter[T]
	if needed || b.running == 1 || b.small() || b.crowded() {
		taken = b.next()
	}
	if len(taken) == 0 {
		b.running--
		b.start() // an item may still wait
		return nil
	}
	b.underWay, b.began = b.underWay+len(taken), time.Now()
	b.average += (float64(len(taken)) - b.average) / recent
	b.shared = time.Time{}
	if len(taken) > 1 {
		b.shared = b.began
	}
	return taken
}

// next picks items in the order of their arrival. The batcher is locked.
func (b *Batcher[T]) next() []*waiter[T] {
	most, admitted := min(len(b.waiting), b.Size), func(T) bool { return true }
	if b.Admit != nil && most > 0 {
		admitted = b.Admit(most)
	}
	taken := make([]*waiter[T], 0, most)
	var left []*waiter[T]
	for i, w := range b.waiting {
		if len(taken) == b.Size {
			left = append(left, b.waiting[i:]...)
			break
		}
		switch {
		case b.MaxWait > 0 && time.Since(w.came) > b.MaxWait:
			w.outcome <- ErrLate
		case admitted(w.item):
			taken = append(taken, w)
		default:
			left = append(left, w)
		}
	}
	b.waiting = left
	return taken
}

// carryOut runs a batch. A panic becomes the error of all its items.
func (b *Batcher[T]) carryOut(taken []*waiter[T]) (outcomes []error) {
	until := time.Now().Add(b.Budget)
	if last := lastDeadline(taken); !last.IsZero() && last.Before(until) {
		until = last
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			outcomes = Same(len(taken), fmt.Errorf("panic in a batch: %v", fault))
		}
	}()
	items := make([]T, len(taken))
	for i, w := range taken {
		items[i] = w.item
	}
	outcomes = b.run(ctx, items)
	if len(outcomes) != len(items) {
		panic(fmt.Sprintf("%d outcomes for %d items", len(outcomes), len(items)))
	}
	return outcomes
}

// lastDeadline returns the latest deadline of all callers, or zero when one has none.
func lastDeadline[T any](of []*waiter[T]) (last time.Time) {
	for _, w := range of {
		if w.deadline.IsZero() {
			return time.Time{}
		}
		if w.deadline.After(last) {
			last = w.deadline
		}
	}
	return last
}

// Load returns how many items wait and how many are running.
func (b *Batcher[T]) Load() (waiting, underWay int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting), b.underWay
}

// Began returns when the last batch was started or taken.
func (b *Batcher[T]) Began() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.began
}

// Same returns one outcome for n items.
func Same(n int, err error) []error { return slices.Repeat([]error{err}, n) }

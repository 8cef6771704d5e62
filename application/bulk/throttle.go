package bulk

import (
	"context"
	"slices"
	"sync"
	"time"

	"waybill/domain"
)

// Throttle limits the transactions that book items of all bulks of an environment and process. Each
// may book fifty items, so a flood of them would use up the processors and the database. Single
// creates get what the throttle leaves.
type Throttle struct {
	// Writers is how many of them run at a time, at least 1.
	Writers int
	// Pause is how long a writer pauses after a transaction, as a multiple of its duration: with 6
	// a writer works for a seventh of the time. A bulk that comes alone pauses only between two
	// transactions, never before its answer.
	Pause int
}

// longHold limits how long a transaction keeps its permit. A transaction that waits for a locked
// row lets others run.
const longHold = 500 * time.Millisecond

// permits hands out permits to book. Waiting businesses take turns: before a business gets its next
// permit, each other one gets at most one, however many bulks it has.
type permits struct {
	pause time.Duration // for each unit of time that a transaction took

	mu    sync.Mutex
	free  int                           // 0 while anyone waits
	lines map[domain.ID][]chan struct{} // waiters of each business, first come first; a permit closes the channel
	turns []domain.ID                   // the businesses that have a line, the next first
}

func newPermits(p Throttle) *permits {
	return &permits{pause: time.Duration(p.Pause), free: max(1, p.Writers), lines: map[domain.ID][]chan struct{}{}}
}

// take waits for a permit. The permit is free again a pause after done was called, or after
// longHold.
func (t *permits) take(ctx context.Context, business domain.ID) (done func(), err error) {
	given := t.join(business)
	select {
	case <-given:
	case <-ctx.Done():
		t.leave(business, given)
		return nil, context.Cause(ctx)
	}
	begun := time.Now()
	over := sync.OnceFunc(t.release)
	timer := time.AfterFunc(longHold, over)
	return func() {
		switch {
		case !timer.Stop():
		case t.pause == 0:
			over()
		default:
			time.AfterFunc(t.pause*time.Since(begun), over)
		}
	}, nil
}

// join asks for a permit. Closing the channel grants it.
func (t *permits) join(business domain.ID) chan struct{} {
	given := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 {
		t.free--
		close(given)
		return given
	}
	if len(t.lines[business]) == 0 {
		t.turns = append(t.turns, business)
	}
	t.lines[business] = append(t.lines[business], given)
	return given
}

// leave gives up a place in the line, or the permit where that came first.
func (t *permits) leave(business domain.ID, given chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.lines[business], given)
	if at < 0 {
		t.next()
		return
	}
	t.lines[business] = slices.Delete(t.lines[business], at, at+1)
	if len(t.lines[business]) == 0 {
		delete(t.lines, business)
		at := slices.Index(t.turns, business)
		t.turns = slices.Delete(t.turns, at, at+1)
	}
}

// release gives a permit back.
func (t *permits) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next()
}

// next gives a permit to the business whose turn it is. Where that business has more waiters, its
// next turn comes after those of all others.
func (t *permits) next() {
	if len(t.turns) == 0 {
		t.free++
		return
	}
	business := t.turns[0]
	t.turns = t.turns[1:]
	line := t.lines[business]
	close(line[0])
	if len(line) == 1 {
		delete(t.lines, business)
		return
	}
	t.lines[business] = line[1:]
	t.turns = append(t.turns, business)
}

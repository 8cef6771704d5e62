package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/batch"
)

const (
	slow   = 50 * time.Millisecond
	budget = time.Minute
)

// scene is a batcher whose batches take some time, and what became of all its items.
type scene struct {
	*batch.Batcher[int]
	t    *testing.T
	took time.Duration
	// outcome, if any, is that of an item.
	outcome func(item int) error

	mu       sync.Mutex
	batches  [][]int
	running  int
	most     int // batches at a time
	outcomes map[int]error
	ended    map[int]time.Duration // since the scene began
	until    []time.Duration
	began    time.Time
}

func newScene(t *testing.T, took time.Duration, o batch.Options) *scene {
	t.Helper()
	w := &scene{t: t, took: took, outcomes: map[int]error{}, ended: map[int]time.Duration{}, began: time.Now()}
	w.Batcher = batch.New(o, w.run)
	return w
}

func (w *scene) run(ctx context.Context, items []int) []error {
	w.mu.Lock()
	end, _ := ctx.Deadline()
	w.batches, w.until = append(w.batches, slices.Clone(items)), append(w.until, end.Sub(w.began))
	w.running++
	w.most = max(w.most, w.running)
	w.mu.Unlock()
	time.Sleep(w.took)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	outcomes := make([]error, len(items))
	for i, item := range items {
		if w.outcome != nil {
			outcomes[i] = w.outcome(item)
		}
	}
	return outcomes
}

// ask asks for items, each of which arrives when all goroutines rest.
func (w *scene) ask(ctx context.Context, items ...int) {
	for _, item := range items {
		go func() {
			err := w.Do(ctx, item)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.outcomes[item], w.ended[item] = err, time.Since(w.began)
		}()
		synctest.Wait()
	}
}

// sizes are those of all batches, and most how many were under way at a time.
func (w *scene) sizes() (sizes []int, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.batches {
		sizes = append(sizes, len(b))
	}
	return sizes, w.most
}

func (w *scene) wantSizes(want ...int) {
	w.t.Helper()
	if got, _ := w.sizes(); !slices.Equal(got, want) {
		w.t.Errorf("batches of %v, want %v", got, want)
	}
}

// wantAll wants an outcome of each item, at last.
func (w *scene) wantAll(n int) {
	w.t.Helper()
	time.Sleep(time.Hour)
	synctest.Wait()
	if waiting, underWay := w.Load(); waiting+underWay != 0 || w.running != 0 || len(w.outcomes) != n {
		w.t.Errorf("%d items wait, %d are under way in %d batches, and %d of %d have an outcome", waiting, underWay, w.running, len(w.outcomes),
			n)
	}
}

// upTo are the numbers from one up to another.
func upTo(from, to int) (all []int) {
	for i := from; i <= to; i++ {
		all = append(all, i)
	}
	return all
}

func TestAnItemThatArrivesWhileNothingIsUnderWayStartsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, time.Second, batch.Options{Size: 10, Parallel: 1, Slow: slow, Budget: budget})
		for i := range 5 {
			w.ask(t.Context(), i)
			if got, _ := w.sizes(); len(got) != i+1 {
				t.Fatalf("batches of %v after %d items, want one for each", got, i+1)
			}
			time.Sleep(2 * time.Second)
		}
		w.wantSizes(1, 1, 1, 1, 1)
		w.wantAll(5)
	})
}

func TestItemsThatArriveMeanwhileFormTheNextBatchInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, slow/2, batch.Options{Size: 10, Parallel: 1, Slow: slow, Budget: budget})
		w.ask(t.Context(), upTo(0, 5)...)
		w.wantAll(6)
		w.wantSizes(1, 5)
		if !slices.Equal(w.batches[1], upTo(1, 5)) {
			t.Errorf("the second batch has %v", w.batches[1])
		}
	})
}

func TestABatchNeverGrowsOverItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, slow/2, batch.Options{Size: 3, Parallel: 1, Slow: slow, Budget: budget})
		w.ask(t.Context(), upTo(0, 10)...)
		w.wantAll(11)
		w.wantSizes(1, 3, 3, 3, 1)
	})
}

func TestNoMoreBatchesAreUnderWayThanAreAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, time.Second, batch.Options{Size: 2, Parallel: 3, Slow: 0, Budget: budget})
		w.ask(t.Context(), upTo(0, 20)...)
		if _, most := w.sizes(); most != 3 {
			t.Errorf("%d batches at a time, want 3", most)
		}
		w.wantAll(21)
		if _, most := w.sizes(); most != 3 {
			t.Errorf("%d batches at a time, want 3", most)
		}
	})
}

func TestACallersDeadlineEndsOnlyItsOwnWait(t *testing.T) {
	for name, once := range map[string]bool{"carried out again": false, "carried out once": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newScene(t, time.Second, batch.Options{Size: 10, Parallel: 1, Slow: slow, Budget: budget, Once: once})
				w.ask(t.Context(), 0)
				hasty, end := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer end()
				hastier, end := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer end()
				w.ask(t.Context(), 1)
				w.ask(hasty, 2)
				w.ask(hastier, 3)
				w.ask(t.Context(), 4)
				w.wantAll(5)
				w.wantSizes(1, 3) // the third has left before its batch
				for _, item := range []int{0, 1, 4} {
					if w.outcomes[item] != nil {
						t.Errorf("item %d: %v", item, w.outcomes[item])
					}
				}
				if err := w.outcomes[2]; !errors.Is(err, batch.ErrUnderWay) || !errors.Is(err, context.DeadlineExceeded) ||
					w.ended[2] != 1500*time.Millisecond {
					t.Errorf("the item under way: %v after %v", err, w.ended[2])
				}
				if err := w.outcomes[3]; !errors.Is(err, batch.ErrNotBegun) || !errors.Is(err, context.DeadlineExceeded) ||
					w.ended[3] != 500*time.Millisecond {
					t.Errorf("the item that waited: %v after %v", err, w.ended[3])
				}
				if w.until[1] < time.Second+budget {
					t.Errorf("the batch may last until %v, want its budget as one caller has no deadline", w.until[1])
				}
			})
		})
	}
}

func TestABatchLastsNoLongerThanItsLastCallerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, time.Second, batch.Options{Size: 10, Parallel: 1, Slow: slow, Budget: budget})
		w.ask(t.Context(), 0)
		for i, lasting := range []time.Duration{4 * time.Second, 7 * time.Second, 5 * time.Second} {
			ctx, end := context.WithTimeout(t.Context(), lasting)
			defer end()
			w.ask(ctx, i+1)
		}
		w.wantAll(4)
		if want := []time.Duration{budget, 7 * time.Second}; !slices.Equal(w.until, want) {
			t.Errorf("batches may last until %v, want %v", w.until, want)
		}
	})
}

func TestACancelledCallerWaitsForWhatMayHappenOnlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for once, want := range map[bool]error{true: nil, false: batch.ErrUnderWay} {
			w := newScene(t, time.Second, batch.Options{Size: 10, Parallel: 1, Slow: slow, Budget: budget, Once: once})
			ctx, cancel := context.WithCancel(t.Context())
			w.ask(ctx, 1, 2)
			cancel()
			w.wantAll(2)
			if err := w.outcomes[1]; !errors.Is(err, want) {
				t.Errorf("once: %t: the item under way: %v, want %v", once, err, want)
			}
			if err := w.outcomes[2]; !errors.Is(err, batch.ErrNotBegun) || !errors.Is(err, context.Canceled) {
				t.Errorf("once: %t: the item that waited: %v", once, err)
			}
			w.wantSizes(1)
		}
	})
}

func TestACallerWhoseTimeIsUpStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := newScene(t, 0, batch.Options{Size: 10, Parallel: 1, Slow: slow, Budget: budget})
		w.ask(ctx, upTo(1, 200)...)
		w.wantAll(200)
		w.wantSizes()
	})
}

func TestASecondBatchStartsWhereManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, slow/2, batch.Options{Size: 10, Parallel: 3, Many: 5, Slow: slow, Budget: budget})
		w.ask(t.Context(), upTo(0, 4)...)
		w.wantSizes(1)
		w.ask(t.Context(), 5)
		w.wantSizes(1, 5)
		w.ask(t.Context(), upTo(6, 12)...)
		w.wantSizes(1, 5) // only a slow batch makes a third one start
		w.wantAll(13)
	})
}

func TestAnotherBatchStartsBesideASlowOneWithoutAnotherArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, time.Second, batch.Options{Size: 10, Parallel: 3, Many: 10, Slow: slow, Budget: budget})
		w.ask(t.Context(), 0)
		time.Sleep(slow / 2)
		w.ask(t.Context(), 1, 2)
		time.Sleep(slow/2 - 1)
		synctest.Wait()
		w.wantSizes(1)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		w.wantSizes(1, 2)
		w.ask(t.Context(), 3)
		time.Sleep(slow)
		synctest.Wait()
		w.wantSizes(1, 2, 1)
		w.ask(t.Context(), 4) // waits for one of the three
		w.wantAll(5)
		w.wantSizes(1, 2, 1, 1)
		if _, most := w.sizes(); most != 3 {
			t.Errorf("%d batches at a time, want 3", most)
		}
	})
}

func TestASecondBatchComesAtOnceWhereBatchesAreSmallAndGoesWhereTheyAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = slow / 2
		w := newScene(t, took, batch.Options{Size: 64, Parallel: 2, Many: 32, Slow: slow, Few: 4, Budget: budget})
		running := func() int { w.mu.Lock(); defer w.mu.Unlock(); return w.running }
		item := 0
		ask := func(n int) {
			w.ask(t.Context(), upTo(item, item+n-1)...)
			item += n
		}
		for range 8 {
			ask(1)
			time.Sleep(took / 2)
			if ask(1); running() != 2 {
				t.Fatalf("%d batches at a time where each has one item, want 2", running())
			}
			time.Sleep(time.Second)
		}
		ask(1)
		time.Sleep(took / 2)
		ask(1) // half a batch behind, so that each one that ends finds items waiting
		for range 24 {
			ask(15)
			time.Sleep(took / 2)
		}
		if running() != 1 {
			t.Errorf("%d batches at a time where they are no longer small, want 1", running())
		}
		w.wantAll(item)
	})
}

func TestNoItemWaitsWhileNothingIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, 3*time.Millisecond, batch.Options{Size: 4, Parallel: 2, Many: 3, Slow: 7 * time.Millisecond, Few: 2, Budget: budget,
			MaxWait: time.Second})
		const items = 400
		for i := range items {
			w.ask(t.Context(), i)
			if waiting, underWay := w.Load(); waiting > 0 && underWay == 0 {
				t.Fatalf("%d items wait while nothing is under way", waiting)
			}
			time.Sleep(time.Duration(i*i%5) * time.Millisecond / 2)
			synctest.Wait()
			if waiting, underWay := w.Load(); waiting > 0 && underWay == 0 {
				t.Fatalf("%d items wait while nothing is under way", waiting)
			}
		}
		w.wantAll(items)
		for item, err := range w.outcomes {
			if err != nil {
				t.Errorf("item %d: %v", item, err)
			}
		}
	})
}

func TestAnErrorOfOneItemIsNotThatOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		w := newScene(t, slow/2, batch.Options{Size: 10, Parallel: 1, Slow: slow, Budget: budget})
		w.outcome = func(item int) error {
			switch item {
			case 2:
				return refused
			case 3:
				return batch.ErrAlone
			}
			return nil
		}
		w.ask(t.Context(), upTo(0, 4)...)
		w.wantAll(5)
		w.wantSizes(1, 4)
		for item, want := range []error{nil, nil, refused, batch.ErrAlone, nil} {
			if got := w.outcomes[item]; !errors.Is(got, want) {
				t.Errorf("item %d: %v, want %v", item, got, want)
			}
		}
	})
}

func TestAPanicIsAnErrorOfItsBatchAndNotOfTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, slow/2, batch.Options{Size: 2, Parallel: 1, Slow: slow, Budget: budget})
		w.outcome = func(item int) error {
			if item == 1 {
				panic("injected")
			}
			return nil
		}
		w.ask(t.Context(), upTo(0, 4)...)
		w.wantAll(5)
		for item, failed := range []bool{false, true, true, false, false} {
			if err := w.outcomes[item]; failed != (err != nil && strings.Contains(err.Error(), "injected")) {
				t.Errorf("item %d: %v", item, err)
			}
		}
	})
}

func TestOutcomesThatAreTooFewAreAnErrorOfAll(t *testing.T) {
	b := batch.New(batch.Options{Size: 2, Parallel: 1, Budget: budget}, func(context.Context, []int) []error { return nil })
	if err := b.Do(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "0 outcomes for 1 items") {
		t.Errorf("got %v", err)
	}
}

func TestAnItemThatWaitedTooLongIsToldSoAndTheNextOneIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = time.Second
		w := newScene(t, wait+time.Millisecond, batch.Options{Size: 10, Parallel: 1, Slow: slow, Budget: budget, MaxWait: wait})
		w.ask(t.Context(), 0, 1)
		time.Sleep(wait)
		w.ask(t.Context(), 2)
		w.wantAll(3)
		if w.outcomes[0] != nil || !errors.Is(w.outcomes[1], batch.ErrLate) || w.outcomes[2] != nil {
			t.Errorf("outcomes %v, want that only the second is late", w.outcomes)
		}
		w.ask(t.Context(), 3, 4) // afterwards only late ones wait
		w.wantAll(5)
		w.ask(t.Context(), 5)
		w.wantAll(6)
		if !errors.Is(w.outcomes[4], batch.ErrLate) || w.outcomes[5] != nil {
			t.Errorf("outcomes %v, want that the last one is served", w.outcomes)
		}
	})
}

func TestAnItemGoesAloneWhereNoBatchEnds(t *testing.T) {
	for once, want := range map[bool]time.Duration{true: 10 * time.Second, false: time.Second} {
		t.Run(fmt.Sprint("once: ", once), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newScene(t, 10*time.Second, batch.Options{Size: 10, Parallel: 1, Slow: slow, Budget: budget, Stall: time.Second, Once: once})
				w.ask(t.Context(), 1, 2)
				w.wantAll(2)
				w.wantSizes(1)
				if err := w.outcomes[2]; !errors.Is(err, batch.ErrAlone) || w.ended[2] != time.Second {
					t.Errorf("the item that waited: %v after %v", err, w.ended[2])
				}
				if err := w.outcomes[1]; (err == nil) != once || w.ended[1] != want {
					t.Errorf("the item under way: %v after %v, want an end after %v", err, w.ended[1], want)
				}
			})
		})
	}
}

func TestAnItemWaitsForAsLongAsBatchesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, 900*time.Millisecond, batch.Options{Size: 1, Parallel: 1, Slow: slow, Budget: budget, Stall: time.Second})
		w.ask(t.Context(), upTo(1, 10)...)
		w.wantAll(10)
		w.wantSizes(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
		for item, err := range w.outcomes {
			if err != nil {
				t.Errorf("item %d: %v", item, err)
			}
		}
	})
}

func TestConflictingItemsAreInDifferentBatchesAndNoneStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, slow/2, batch.Options{Size: 4, Parallel: 1, Slow: slow, Budget: budget})
		w.Admit = func(int) func(int) bool { // two of the same tens conflict
			seen := map[int]bool{}
			return func(item int) bool {
				there := seen[item/10]
				seen[item/10] = true
				return !there
			}
		}
		w.ask(t.Context(), 0, 10, 11, 12, 20, 30, 40, 50, 60)
		for i := range 20 { // always enough others for a whole batch
			w.ask(t.Context(), 100+10*i, 300+10*i)
			time.Sleep(slow / 4)
		}
		w.wantAll(49)
		if got := w.batches[1:4]; !slices.Equal(got[0], []int{10, 20, 30, 40}) || got[1][0] != 11 || got[2][0] != 12 {
			t.Errorf("batches of %v, want 11 and 12 to be the first of theirs", got)
		}
	})
}

func TestBatchesOfSeveralItemsComeApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, 0, batch.Options{Size: 10, Parallel: 1, Slow: slow, Interval: 10 * time.Millisecond, Budget: budget})
		w.took = time.Millisecond
		w.ask(t.Context(), 0, 1, 2) // 0, and after a millisecond both others
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		w.wantSizes(1, 2)
		w.ask(t.Context(), 3, 4)
		w.wantSizes(1, 2)
		time.Sleep(9 * time.Millisecond)
		synctest.Wait()
		w.wantSizes(1, 2, 2)
		time.Sleep(time.Second)
		w.ask(t.Context(), 5)
		w.wantSizes(1, 2, 2, 1)
		time.Sleep(2 * time.Millisecond)
		w.ask(t.Context(), 6) // behind a single one, at once
		w.wantSizes(1, 2, 2, 1, 1)
		w.wantAll(7)
	})
}

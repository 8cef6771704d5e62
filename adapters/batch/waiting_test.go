package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/batch"
)

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

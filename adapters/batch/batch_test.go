package batch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/batch"
)

const (
	slow   = 50 * time.Millisecond
	budget = time.Minute
)

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

package batch_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/batch"
)

// scene is a batcher whose batches take some time, and the outcomes of all its items.
type scene struct {
	*batch.Batcher[int]
	t    *testing.T
	took time.Duration
	// outcome, if set, returns the outcome of an item.
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

// ask adds items, each of which arrives when all goroutines rest.
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

// sizes returns the sizes of all batches, and how many ran at a time at most.
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

// wantAll expects an outcome of each item in the end.
func (w *scene) wantAll(n int) {
	w.t.Helper()
	time.Sleep(time.Hour)
	synctest.Wait()
	if waiting, underWay := w.Load(); waiting+underWay != 0 || w.running != 0 || len(w.outcomes) != n {
		w.t.Errorf("%d items wait, %d are under way in %d batches, and %d of %d have an outcome", waiting, underWay, w.running, len(w.outcomes),
			n)
	}
}

// upTo returns the numbers from one up to another.
func upTo(from, to int) (all []int) {
	for i := from; i <= to; i++ {
		all = append(all, i)
	}
	return all
}

package gormstore_test

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
	"waybill/test/sample"
)

// Beside a foreign transaction that stays open all the while, every event is
// read within a second of its commit, in one order by all readers, and none is missed:
// 5,000 events of 16 writers, and with WAYBILL_STORM=full 1,000,000 of 64.
func TestTheFeedTellsEveryEventWithinASecondBesideAForeignTransaction(t *testing.T) {
	if testing.Short() {
		t.Skip("writes for seconds; left out in short mode")
	}
	const readers, page, within = 2, 1000, time.Second
	events, writers := 5_000, 16
	if os.Getenv("WAYBILL_STORM") == "full" {
		events, writers = 1_000_000, 64
	}
	url := newDatabase(t)
	s := open(t, url)
	tenant := newTenant(t, s)
	first := sample.BookingWrite(tenant)
	if err := s.Book(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	foreignTransaction(t, newDatabase(t)) // another database of the same server
	foreignTransaction(t, url)

	var mu sync.Mutex
	committed := make(map[domain.ID]time.Time, events)
	var left atomic.Int64
	left.Store(int64(events))
	begun := time.Now()
	var writing, reading sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for left.Add(-1) >= 0 {
				w := sample.BookingTo(tenant, first.Recipient, first.Address)
				if err := s.Book(t.Context(), w); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				committed[w.Event.ID] = time.Now()
				mu.Unlock()
			}
		})
	}
	written := make(chan struct{})
	seen := make([]map[domain.ID]time.Time, readers)
	order := make([][]domain.ID, readers)
	for i := range readers {
		seen[i] = make(map[domain.ID]time.Time, events)
		reading.Go(func() {
			var last domain.FeedEvent
			var ended time.Time
			for ended.IsZero() || time.Since(ended) < 2*within {
				found, err := theFeed(t.Context(), s, tenant, last, page)
				if err != nil {
					t.Error(err)
					return
				}
				now := time.Now()
				for _, e := range found {
					last, seen[i][e.ID], order[i] = e, now, append(order[i], e.ID)
				}
				select {
				case <-written:
					if ended.IsZero() {
						ended = now
					}
				default:
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	writing.Wait()
	took := time.Since(begun)
	close(written)
	reading.Wait()
	missed, late, slowest := 0, 0, time.Duration(0)
	for i := range readers {
		for id, at := range committed {
			read, ok := seen[i][id]
			switch {
			case !ok:
				missed++
			case read.Sub(at) > within:
				late++
			}
			slowest = max(slowest, read.Sub(at))
		}
		if len(order[i]) != events+1 {
			t.Errorf("reader %d read %d events, want %d", i+1, len(order[i]), events+1)
		}
		for n := range min(len(order[i]), len(order[0])) {
			if order[i][n] != order[0][n] {
				t.Fatalf("event %d is %s to the first reader and %s to another", n+1, order[0][n], order[i][n])
			}
		}
	}
	t.Logf("%d events in %v; the slowest was read %v after its commit", events, took.Round(time.Millisecond), slowest.Round(time.Millisecond))
	if missed > 0 || late > 0 {
		t.Errorf("of %d events %d were missed, and %d read more than %v after their commit, the slowest %v", events, missed, late,
			within, slowest)
	}
}

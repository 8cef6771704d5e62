package deliveries_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/test/sample"
)

// watch begins a watch that must be admitted.
func watch(t *testing.T, w *deliveries.Watches, address string, r domain.Reference, found domain.Tracking) *deliveries.Watch {
	t.Helper()
	watch, err := w.Watch(address, r, found)
	if err != nil {
		t.Fatal(err)
	}
	return watch
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestOneReadServesAllWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records, r := newRecords(), sample.Reference()
		found := records.put(r, domain.Booked, 1)
		all := deliveries.NewWatches(records, silent())
		told := make(chan time.Duration)
		begun := time.Now()
		for i := range 50 {
			one := watch(t, all, fmt.Sprintf("192.0.2.%d", i), r, found)
			go func() {
				defer one.Close()
				if got, err := one.Next(t.Context(), 1); err != nil || got.Status != domain.Assigned {
					t.Errorf("%+v, %v", got, err)
				}
				told <- time.Since(begun)
			}()
		}
		time.Sleep(9 * time.Second)
		records.put(r, domain.Assigned, 2)
		for range 50 {
			if after := <-told; after != 10*time.Second {
				t.Errorf("told after %v", after)
			}
		}
		synctest.Wait()
		if n := records.looked(); n != 5 {
			t.Errorf("looked %d times in 10 s", n)
		}
		time.Sleep(time.Hour)
		if n := records.looked(); n != 5 {
			t.Errorf("with nobody left it was looked %d times more", n-5)
		}
	})
}

func TestAFailedDeliveryIsLookedAtLessOftenAndOneThatIsOverNotAtAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records, r := newRecords(), sample.Reference()
		one := watch(t, deliveries.NewWatches(records, silent()), "192.0.2.1", r, records.put(r, domain.Failed, 3))
		defer one.Close()
		time.Sleep(time.Minute + time.Second)
		if n := records.looked(); n != 30 {
			t.Errorf("looked %d times in the first minute", n)
		}
		time.Sleep(time.Minute)
		if n := records.looked(); n != 36 {
			t.Errorf("looked %d times in the second minute", n-30)
		}
		records.put(r, domain.Assigned, 4) // the rider tries again
		if got, err := one.Next(t.Context(), 3); err != nil || got.Sequence != 4 {
			t.Fatalf("%+v, %v", got, err)
		}
		records.put(r, domain.Delivered, 7)
		if got, err := one.Next(t.Context(), 4); err != nil || got.Status != domain.Delivered {
			t.Fatalf("%+v, %v", got, err)
		}
		before := records.looked()
		time.Sleep(time.Hour)
		if n := records.looked() - before; n != 0 {
			t.Errorf("what is over was looked at %d times", n)
		}
	})
}

func TestALaterWatcherKnowsAtOnceWhatOthersKnow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records, r := newRecords(), sample.Reference()
		all := deliveries.NewWatches(records, silent())
		old := records.put(r, domain.Booked, 1)
		first := watch(t, all, "192.0.2.1", r, old)
		defer first.Close()
		newer := records.put(r, domain.Assigned, 2)
		begun := time.Now()
		second := watch(t, all, "192.0.2.2", r, newer)
		defer second.Close()
		late := watch(t, all, "192.0.2.3", r, old) // its page shows an older state
		defer late.Close()
		for _, w := range []*deliveries.Watch{first, late} {
			if got, err := w.Next(t.Context(), 1); err != nil || got.Sequence != 2 || time.Since(begun) != 0 {
				t.Errorf("%+v, %v after %v", got, err, time.Since(begun))
			}
		}
	})
}

func TestAWatchOutlivesAStorageThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records, r := newRecords(), sample.Reference()
		var log bytes.Buffer
		one := watch(t, deliveries.NewWatches(records, slog.New(slog.NewTextHandler(&log, nil))), "192.0.2.1", r, records.put(r, domain.Booked, 1))
		records.fail(errors.New("no answer of the database"))
		time.Sleep(time.Minute)
		records.fail(nil)
		records.put(r, domain.Assigned, 2)
		if got, err := one.Next(t.Context(), 1); err != nil || got.Sequence != 2 {
			t.Errorf("%+v, %v", got, err)
		}
		one.Close()
		if n := strings.Count(log.String(), "no answer of the database"); n != 1 || strings.Contains(log.String(), string(r)) {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
	})
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records, r := newRecords(), sample.Reference()
		one := watch(t, deliveries.NewWatches(records, silent()), "192.0.2.1", r, records.put(r, domain.Booked, 1))
		defer one.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := one.Next(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestADeliveryIsWatchedByOnlySoMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := newRecords()
		all := deliveries.NewWatches(records, silent())
		r := sample.Reference()
		found := records.put(r, domain.Booked, 1)
		var open []*deliveries.Watch
		for address := range 50 {
			open = append(open, watch(t, all, fmt.Sprintf("192.0.2.%d", address), r, found))
		}
		if _, err := all.Watch("198.51.100.1", r, found); !errors.Is(err, deliveries.ErrTooManyWatches) {
			t.Errorf("the fifty-first: %v", err)
		}
		open[0].Close()
		for _, w := range append(open, watch(t, all, "198.51.100.1", r, found)) {
			w.Close()
		}
	})
}

func TestAnAddressAndAProcessWatchOnlySoMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := newRecords()
		all := deliveries.NewWatches(records, silent())
		var open []*deliveries.Watch
		for address := range 100 {
			name := fmt.Sprintf("192.0.2.%d", address)
			for range 10 {
				r := sample.Reference()
				open = append(open, watch(t, all, name, r, records.put(r, domain.Booked, 1)))
			}
			if _, err := all.Watch(name, sample.Reference(), domain.Tracking{}); !errors.Is(err, deliveries.ErrTooManyWatches) {
				t.Fatalf("the eleventh of an address: %v", err)
			}
		}
		if _, err := all.Watch("198.51.100.1", sample.Reference(), domain.Tracking{}); !errors.Is(err, deliveries.ErrTooManyWatches) {
			t.Errorf("the thousand and first: %v", err)
		}
		open[0].Close()
		open[0].Close() // a second Close does nothing
		r := sample.Reference()
		watch(t, all, "198.51.100.1", r, records.put(r, domain.Booked, 1)).Close()
		again := watch(t, all, "192.0.2.0", r, records.put(r, domain.Booked, 1))
		if _, err := all.Watch("192.0.2.0", r, domain.Tracking{}); !errors.Is(err, deliveries.ErrTooManyWatches) {
			t.Errorf("a watch that was closed twice made room for two: %v", err)
		}
		again.Close()
		for _, w := range open {
			w.Close()
		}
	})
}

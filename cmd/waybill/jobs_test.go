package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/periodic"
	"waybill/adapters/telemetry"
	"waybill/ports"
	"waybill/test/stage"
)

// runJob runs one until ctx ends.
func runJob(ctx context.Context, b periodic.Job, log *slog.Logger) {
	periodic.New(prometheus.NewRegistry(), log).Run(ctx, b)
}

// A database that does not answer must not end cleaning for as long as the
// process lives, and the metrics have to show that nothing is cleaned.
func TestARunThatHangsIsEndedToldAndFollowedByTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var logged stage.Log
		r := prometheus.NewRegistry()
		j := periodic.New(r, telemetry.NewLogger(&logged, slog.LevelInfo, false))
		store := &silent{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			j.Run(ctx, periodic.Cleaning(store, slog.New(slog.DiscardHandler)))
		}()
		last := func() time.Time {
			synctest.Wait()
			families, err := r.Gather()
			if err != nil {
				t.Error(err)
			}
			for _, f := range families {
				if f.GetName() == "waybill_job_last_success_timestamp_seconds" {
					return time.Unix(int64(f.GetMetric()[0].GetGauge().GetValue()), 0)
				}
			}
			return time.Time{}
		}
		time.Sleep(10*periodic.SweepEvery + time.Second)
		good := last()
		if since := time.Since(good); since > periodic.SweepEvery {
			t.Errorf("the last success is told to be %s ago", since)
		}
		store.hangs.Store(true)
		time.Sleep(10 * periodic.SweepEvery)
		if got := last(); !got.Equal(good) {
			t.Errorf("a success is told %s after the database fell silent", got.Sub(good))
		}
		if n := strings.Count(logged.String(), "job=cleaning"); n < 9 || n > 10 {
			t.Errorf("%d runs in ten minutes are logged, want each minute's: %s", n, logged.String())
		}
		store.hangs.Store(false)
		time.Sleep(periodic.SweepEvery)
		if since := time.Since(last()); since > periodic.SweepEvery {
			t.Errorf("the database answers again, and the last success is %s ago", since)
		}
		stop()
		<-done
	})
}

func TestACheckSucceedsWhileNothingFails(t *testing.T) {
	t.Parallel()
	var failed error
	b := periodic.Check("it", func() error { return failed })
	if _, err := b.Do(t.Context()); err != nil {
		t.Errorf("%v while nothing fails", err)
	}
	failed = errors.New("gone")
	if _, err := b.Do(t.Context()); !errors.Is(err, failed) {
		t.Errorf("%v where something failed, want that", err)
	}
	for silence, ok := range map[quietFor]bool{0: true, quietFor(9 * time.Second): true, quietFor(time.Minute): false} {
		b := periodic.Following(silence)
		if _, err := b.Do(t.Context()); (err == nil) != ok {
			t.Errorf("%v where the database has been silent for %v", err, time.Duration(silence))
		}
	}
}

// quietFor is a clock that got no answer for so long.
type quietFor time.Duration

func (q quietFor) Silence() time.Duration { return time.Duration(q) }

// silent answers, or does not.
type silent struct {
	ports.Maintenance
	hangs atomic.Bool
}

func (s *silent) PurgeExpired(ctx context.Context, _ int) (int, bool, error) {
	if !s.hangs.Load() {
		return 0, false, nil
	}
	<-ctx.Done()
	return 0, false, errors.New("nothing was heard")
}

func TestARunThatPanicsIsAFailureAndFollowedByTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var logged stage.Log
		runs := 0
		runJob(ctx, periodic.Job{Name: "weaving", Every: time.Minute, Limit: time.Second, Level: slog.LevelError,
			Do: func(context.Context) (time.Duration, error) {
				if runs++; runs == 3 {
					stop()
					return 0, nil
				}
				panic("the thread broke")
			}}, telemetry.NewLogger(&logged, slog.LevelInfo, false))
		text := logged.String()
		if runs != 3 || strings.Count(text, "job=weaving") != 2 || strings.Count(text, "the thread broke") != 2 {
			t.Errorf("%d runs, logged %s", runs, text)
		}
	})
}

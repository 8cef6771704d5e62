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

	"waybill/adapters/periodic"
	"waybill/adapters/telemetry"
	"waybill/test/stage"
)

// uses fails as long as it has an error, or hangs as long as it may.
type uses struct {
	hangs bool
	err   error
	calls atomic.Int32
}

func (u *uses) RecordUses(ctx context.Context) error {
	u.calls.Add(1)
	if u.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return u.err
}

func TestUsesOfKeysAreRecordedEveryTenSecondsAndAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, u := range map[string]*uses{"written": {}, "not written": {err: errors.New("gone")}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				var logged stage.Log
				done := make(chan struct{})
				go func() {
					defer close(done)
					runJob(ctx, periodic.KeyUses("key_uses", u), telemetry.NewLogger(&logged, slog.LevelInfo, false))
				}()
				want := func(calls int) {
					t.Helper()
					synctest.Wait()
					lines := 0
					if u.err != nil {
						lines = calls
					}
					if int(u.calls.Load()) != calls || strings.Count(logged.String(), "error=gone") != lines {
						t.Errorf("%d calls, want %d; logged %q", u.calls.Load(), calls, logged.String())
					}
				}
				want(0)
				time.Sleep(3*10*time.Second + time.Second)
				want(3)
				stop()
				<-done
				want(4)
			})
		})
	}
}

func TestADatabaseThatHangsDelaysTheEndByTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		begun := time.Now()
		runJob(ctx, periodic.KeyUses("key_uses", &uses{hangs: true}), slog.New(slog.DiscardHandler))
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

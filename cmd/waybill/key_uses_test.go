package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/periodic"
	"waybill/adapters/telemetry"
	"waybill/configs"
	"waybill/domain"
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

func TestWhenAKeyWasUsedLastIsListedOnceTheServerHasStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, vars := startDev(t, dir)
	key := inDir[object](t, dir, "key", "create", "--app", vars["WAYBILL_APP_ID"], "--env", "live", "--scopes", "all")
	begun := time.Now()
	if code, answer := call(t, "GET", vars["WAYBILL_LIVE_URL"]+"/api-key", key["key"].(string), ""); code != http.StatusOK {
		t.Fatalf("%d: %v", code, answer)
	}
	ended := time.Now()
	r.terminate(t)
	used, unused, shown := 0, 0, "" // by the clock of the database, which this one is near
	for _, k := range inDir[[]object](t, dir, "key", "list", "--app", vars["WAYBILL_APP_ID"]) {
		text, there := k["last_used_at"]
		at, err := time.Parse(domain.TimeLayout, toText(text))
		switch {
		case !there:
			t.Errorf("%v lacks last_used_at", k)
		case k["id"] == key["id"] && (err != nil || at.Before(begun.Add(-time.Second)) || at.After(ended.Add(time.Second))):
			t.Errorf("used at %v, between %s and %s", text, begun, ended)
		case k["id"] == key["id"]:
			used, shown = used+1, toText(text)
		case text == nil:
			unused++
		}
	}
	if used != 1 || unused != 2 {
		t.Errorf("%d keys were used and %d were not, want the demo keys unused", used, unused)
	}
	if o := command(t, nil, "key", "list", "--app", vars["WAYBILL_APP_ID"], "--data-dir", dir); !strings.Contains(o.stdout, "LAST USED") ||
		!strings.Contains(o.stdout, shown) {
		t.Errorf("people read\n%s", o.stdout)
	}
}

func toText(v any) string {
	s, _ := v.(string)
	return s
}

func TestAServerForgetsAKeyWhenItIsToldToAndNotOnlyInTime(t *testing.T) {
	t.Parallel()
	c, err := configs.Load(configs.Sources{Environ: served(t)})
	if err != nil {
		t.Fatal(err)
	}
	servers, err := listen(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	urls := settings.PublicURLsOf(c, settings.Origin(servers.live), settings.Origin(servers.sandbox))
	s, closeService, err := openService(t.Context(), c, urls, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer closeService()
	d, err := s.seed.Demo(t.Context(), domain.AuditActor{Name: "test"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.process(servers, "serve").Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if code, answer := call(t, "GET", urls.Live+"/api-key", d.LiveKey, ""); code != http.StatusOK {
		t.Fatalf("%d: %v", code, answer)
	}
	// set tells how long it takes until it shows.
	set := func(disabled bool, status int) time.Duration {
		if _, err := s.seed.Tenants.SetDisabled(t.Context(), domain.AuditActor{Name: "test"}, d.App.ID, disabled); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		eventually(t, "the change shows", func() bool {
			code, _ := call(t, "GET", urls.Live+"/api-key", d.LiveKey, "")
			return code == status
		})
		return time.Since(begun)
	}
	var took time.Duration
	for range 3 { // a machine may be busy
		if took = set(true, http.StatusUnauthorized); took <= time.Second { // what is remembered is used for longer
			return
		}
		set(false, http.StatusOK)
	}
	t.Errorf("it took %s, and more than a second twice before", took)
}

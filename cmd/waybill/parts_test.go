package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/periodic"
	"waybill/adapters/telemetry"
	"waybill/configs"
	"waybill/ports"
)

// store purges what it is told to have, a batch at a time.
type store struct {
	ports.Maintenance
	batches []int
	err     error
	takes   time.Duration
	calls   atomic.Int32
}

func (s *store) PurgeExpired(_ context.Context, limit int) (int, bool, error) {
	s.calls.Add(1)
	time.Sleep(s.takes)
	if s.err != nil || len(s.batches) == 0 {
		return 0, false, s.err
	}
	n := s.batches[0]
	s.batches = s.batches[1:]
	return n, n == limit, nil
}

func TestTheJanitorGoesOnWhileBatchesAreFullThenWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := &store{takes: time.Millisecond, batches: []int{periodic.SweepBatch, periodic.SweepBatch, 7, periodic.SweepBatch, 0}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			runJob(ctx, periodic.Cleaning(s, slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		if s.calls.Load() != 3 {
			t.Errorf("%d batches at first, want 3", s.calls.Load())
		}
		time.Sleep(periodic.SweepEvery)
		synctest.Wait()
		if s.calls.Load() != 5 {
			t.Errorf("%d batches after a minute, want 5", s.calls.Load())
		}
		stop()
		<-done
	})
}

func TestTheJanitorLeavesTheDatabaseToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const takes, enough = 20 * time.Millisecond, 1000 // batches: more than a minute has room for
		s := &store{takes: takes, batches: slices.Repeat([]int{periodic.SweepBatch}, enough)}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			runJob(ctx, periodic.Cleaning(s, slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
		}()
		calls := func() int { synctest.Wait(); return int(s.calls.Load()) }
		time.Sleep(periodic.SweepEvery)
		first := calls()
		if want := int(periodic.SweepEvery / (10 * takes)); first < want || first > want+1 {
			t.Errorf("%d batches of %s in a minute, want a tenth of it to be used: %d", first, takes, want)
		}
		time.Sleep(10 * time.Second)
		if more, want := calls()-first, int(10*time.Second/(2*takes)); more < want-10 || more > want+1 {
			t.Errorf("%d batches in the next 10 s, want half of that to be used: %d", more, want)
		}
		stop()
		<-done
	})
}

func TestALogLineShowsKnownKeysOnly(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{true, false} {
		var logged bytes.Buffer
		log := telemetry.NewLogger(&logged, slog.LevelInfo, asJSON)
		log.Info("request", "request_id", "req-1", "phone", "+233241234567", slog.Group("body", "name", "Ama"), "error", errors.New("broken"))
		log.With("authorization", "Bearer x").Info("request")
		log.Debug("too detailed")
		for _, hidden := range []string{"+233", "Ama", "Bearer", "too detailed"} {
			if strings.Contains(logged.String(), hidden) {
				t.Errorf("%q shows in %s", hidden, logged.String())
			}
		}
		for _, shown := range []string{"req-1", "broken", "omitted"} {
			if !strings.Contains(logged.String(), shown) {
				t.Errorf("%q is missing in %s", shown, logged.String())
			}
		}
	}
}

func TestPublicAddressesAreDerivedFromWhatIsKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config         configs.Config
		live, tracking string
	}{
		{configs.Config{}, "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/track"},
		{configs.Config{LiveBaseURL: "https://api.example.com/v1"}, "https://api.example.com/v1", "https://api.example.com/track"},
		{configs.Config{LiveBaseURL: "https://api.example.com/v1", TrackingBaseURL: "https://t.example.com"}, "https://api.example.com/v1",
			"https://t.example.com"},
	} {
		got := settings.PublicURLsOf(&c.config, "http://127.0.0.1:8080", "http://127.0.0.1:8081")
		if got.Live != c.live || got.Tracking != c.tracking || got.Sandbox != "http://127.0.0.1:8081/v1" {
			t.Errorf("%+v", got)
		}
	}
	for host, want := range map[string]string{"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "127.0.0.1", "10.0.0.7": "10.0.0.7",
		"localhost": "localhost"} {
		if got := settings.Reachable(host); got != want {
			t.Errorf("%q is reached at %q", host, got)
		}
	}
}

func TestTheKeysOfCursorsDependOnThePeppersAlone(t *testing.T) {
	t.Parallel()
	a, errA := newCursorKeys(&configs.Config{KeyPepper: "one pepper", SecretKey: "one secret"})
	again, errAgain := newCursorKeys(&configs.Config{KeyPepper: "one pepper", SecretKey: "another secret"})
	b, errB := newCursorKeys(&configs.Config{KeyPepper: "another pepper", SecretKey: "one secret"})
	if errA != nil || errAgain != nil || errB != nil || !slices.Equal(a, again) || slices.Equal(a, b) {
		t.Errorf("%x, %x, %x; %v, %v, %v", a, again, b, errA, errAgain, errB)
	}
	changing, err := newCursorKeys(&configs.Config{KeyPepper: "another pepper", KeyPepperPrevious: []configs.Secret{"one pepper"}})
	if err != nil || !slices.Equal(changing, cursorKeys{b[0], a[0]}) {
		t.Errorf("while the pepper changes: %x, %v", changing, err)
	}
	if _, err := newCursorKeys(&configs.Config{SecretKey: "one secret"}); err == nil {
		t.Error("there is a key without a pepper")
	}
}

func TestAPathIsQuotedForAShellWhereItNeedsThat(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		".waybill/dev.env": ".waybill/dev.env", "dev.env": "./dev.env", "/a b/dev.env": "'/a b/dev.env'", "/it's/x": `'/it'\''s/x'`,
	} {
		if got := term.ShellWord(path); got != want {
			t.Errorf("%s becomes %s", path, got)
		}
	}
}

func TestAFileOfVariablesIsReplacedWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dev.env")
	if err := os.WriteFile(path, []byte("OLD=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// Values stand as they are: quotes would be part of them for most readers.
	url := "postgres://u@/d?host=/tmp&port=5433#x y'\""
	if err := settings.WriteEnvFile(path, "comment=1", [][2]string{{"A", url}, {"B", ""}}); err != nil {
		t.Fatal(err)
	}
	got, err := settings.ReadEnvFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || len(got) != 2 || got["A"] != url || got["B"] != "" || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, %v, %v", got, err, statErr, info.Mode())
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("%d files are left", len(entries))
	}
	if none, err := settings.ReadEnvFile(path + ".none"); err != nil || len(none) != 0 {
		t.Errorf("no file: %v, %v", none, err)
	}
}

// FindLate counts as a call, and takes its time.
func (s *store) FindLate(context.Context) (int, error) {
	s.calls.Add(1)
	time.Sleep(s.takes)
	return 0, s.err
}

func TestLateWebhooksAreLookedForInATwentiethOfTheTime(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration]int32{
		0:                6 * 60, // an hour of looks every ten seconds
		30 * time.Second: 6,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			s := &store{takes: takes}
			done := make(chan struct{})
			go func() {
				defer close(done)
				runJob(ctx, periodic.LateWebhooks(s, slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
			}()
			time.Sleep(time.Hour)
			stop()
			<-done
			if n := s.calls.Load(); n < want-1 || n > want+1 {
				t.Errorf("looked %d times in an hour by looks of %s, want %d", n, takes, want)
			}
		})
	}
}

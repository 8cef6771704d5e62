package redis

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"waybill/domain"
	"waybill/test/backend"
	"waybill/test/stage"
)

func TestAFanOutIsHeardInAnotherProcess(t *testing.T) {
	t.Parallel()
	url := backend.RedisURL(t)
	here, there := NewFanouts(dialRedis(t, url), redispubsubSilent), NewFanouts(dialRedis(t, url), redispubsubSilent)
	here.on.announceTimeout = 10 * time.Second
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var heard []domain.ID
	var listening sync.WaitGroup
	listening.Go(func() {
		there.Listen(ctx, func(endpoints []domain.ID) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, endpoints...)
		})
	})
	defer listening.Wait()
	defer stop()
	want := []domain.ID{domain.ID("whe_" + t.Name() + "1"), domain.ID("whe_" + t.Name() + "2")}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		here.Announce(t.Context(), want)
		mu.Lock()
		all := slices.Contains(heard, want[0]) && slices.Contains(heard, want[1])
		mu.Unlock()
		if all {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("heard %q", heard)
		}
	}
}

// words counts what is published.
type words struct{ published atomic.Int64 }

func (*words) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (w *words) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "publish" {
			w.published.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (*words) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func TestWhereNobodyListensOneWordASecondIsSaid(t *testing.T) {
	t.Parallel()
	client, said := dialRedis(t, backend.OwnRedis(t).URL), &words{}
	client.AddHook(said)
	f := NewFanouts(client, redispubsubSilent)
	began := time.Now()
	for range 1000 {
		f.Announce(t.Context(), []domain.ID{"whe_1"})
	}
	if seconds := int64(time.Since(began)/silence) + 1; said.published.Load() > seconds {
		t.Errorf("%d words in %d s, and nobody listens", said.published.Load(), seconds)
	}
	if said.published.Load() == 0 {
		t.Error("nothing was said")
	}
}

// One outage gives two log lines, even if listening ends and begins again during it.
func TestAnOutageIsLoggedOnceHoweverOftenListeningBegins(t *testing.T) {
	t.Parallel()
	server, logged := backend.OwnRedis(t), &stage.Log{}
	f := NewFanouts(dialRedis(t, server.URL), slog.New(slog.NewTextHandler(logged, nil)))
	server.Kill()
	for range 2 {
		awhile, stop := context.WithTimeout(t.Context(), reconnectPause/2)
		f.Listen(awhile, func([]domain.ID) {})
		stop()
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	listening, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	f.Listen(listening, func([]domain.ID) { stop() }) // it is called when connected
	lost, heard := strings.Count(logged.String(), fanouts.lost), strings.Count(logged.String(), fanouts.heard)
	if lost != 1 || heard != 1 {
		t.Errorf("the outage was logged %d times and its end %d times:\n%s", lost, heard, logged.String())
	}
}

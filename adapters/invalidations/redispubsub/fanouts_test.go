package redispubsub

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/test/redis"
)

func TestAFanOutIsHeardInAnotherProcess(t *testing.T) {
	t.Parallel()
	url := redis.URL(t)
	here, there := NewFanouts(connect(t, url), silent), NewFanouts(connect(t, url), silent)
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
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
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

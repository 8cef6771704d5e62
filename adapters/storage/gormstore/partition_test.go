package gormstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/ports"
	"waybill/test/backend"
)

// servedWithin is how long after a partition has healed every call is served
// again: less than if each connection of the pool were found dead by a call of its own.
const servedWithin = 20 * time.Second

func TestLongAPoolWithOnlyDeadConnectionsServesAgainSoonAfterAPartition(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		url func(t *testing.T, direct string) string
		o   gormstore.Options
	}{
		"Postgres itself": {func(_ *testing.T, direct string) string { return direct }, gormstore.Options{}},
		"a pooler": {func(t *testing.T, direct string) string {
			return startPgBouncer(t, direct).URL(direct)
		}, gormstore.Options{TransactionPooler: true}},
	} {
		for _, lost := range []backend.Direction{backend.BothWays, backend.Sent, backend.Received} {
			t.Run(name+", "+lost.String(), func(t *testing.T) {
				t.Parallel()
				address := of.url(t, newDatabase(t))
				link := backend.NewLink(t, address)
				o := of.o
				o.PoolSize = 8 // below what PgBouncer has sessions
				s, err := gormstore.Open(t.Context(), link.URL(t, address), o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				fill(t, s)

				link.Cut(lost)
				var asking sync.WaitGroup
				for range 40 { // more than there are connections: all of the pool waits
					asking.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
						defer cancel()
						if err := s.Ping(ctx); err == nil {
							t.Error("a question was answered across the cut")
						}
					})
				}
				patient := make(chan error, 1)
				go func() { patient <- s.InTx(t.Context(), func(context.Context, ports.Stores) error { return nil }) }()
				asking.Wait()
				link.Heal()
				healed := time.Now()

				// One after the other, each as a caller would: what is dead must not be
				// met again and again.
				for n := 0; n < 40; {
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
					err := s.Ping(ctx)
					cancel()
					if err == nil {
						n++
					}
					if took := time.Since(healed); took > servedWithin {
						t.Fatalf("%s after healing %d questions were answered; the last error is %v", took, n, err)
					}
				}
				t.Logf("40 answers %.2f s after healing", time.Since(healed).Seconds())
				select { // a job without a deadline
				case err := <-patient:
					if err != nil && !ports.StorageUnavailable(err) {
						t.Errorf("a transaction without a deadline ended with %v", err)
					}
				case <-time.After(2 * servedWithin):
					t.Error("a transaction without a deadline hangs")
				}
			})
		}
	}
}

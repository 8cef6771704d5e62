package gormstore_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/test/partition"
)

// TestConnectionsThatDiedWhileNobodyUsedThemCostOneWait cuts the connections of a pool
// that is idle, and heals the network before a request finds out.
func TestConnectionsThatDiedWhileNobodyUsedThemCostOneWait(t *testing.T) {
	t.Parallel()
	const size = 8
	// One ping that is not answered takes a second; the rest is a slow machine's.
	const once = 4 * time.Second
	for _, c := range []struct {
		name    string
		callers int // at a time
	}{{"one after the other", 1}, {"all at once", 2 * size}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			direct := newDatabase(t)
			link := partition.New(t, direct)
			s := openWith(t, link.URL(t, direct), gormstore.Options{PoolSize: size})
			fill(t, s)
			link.Cut(partition.BothWays)
			time.Sleep(1200 * time.Millisecond) // how long the network is cut: longer than a connection counts as alive
			link.Heal()
			healed := time.Now()
			var asking sync.WaitGroup
			for range c.callers {
				asking.Go(func() {
					for n := range 2 * size / c.callers {
						if err := s.Ping(t.Context()); err != nil {
							t.Errorf("question %d after healing: %v", n+1, err)
						}
					}
				})
			}
			asking.Wait()
			if took := time.Since(healed); took > once {
				t.Errorf("%d questions took %s: they waited for one dead connection after the other", 2*size, took)
			}
		})
	}
}

// TestAHostThatIsSilentCostsAStartOneTimeout has the first host of an address take
// connections and say nothing, while the second one refuses TLS.
func TestAHostThatIsSilentCostsAStartOneTimeout(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	link := partition.New(t, direct)
	first, err := url.Parse(link.URL(t, direct))
	if err != nil {
		t.Fatal(err)
	}
	second, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	link.Cut(partition.BothWays)
	const timeout, slack = 4 * time.Second, 3 * time.Second // below the second time-out
	for mode, served := range map[string]bool{"prefer": true, "require": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			both := strings.Replace(direct, "@"+second.Host, "@"+first.Host+","+second.Host, 1)
			both = strings.Replace(both, "sslmode=disable", "sslmode="+mode, 1) + fmt.Sprintf("&connect_timeout=%d", int(timeout.Seconds()))
			begun := time.Now()
			s, err := gormstore.Open(context.WithoutCancel(t.Context()), both, gormstore.Options{PoolSize: 2})
			took := time.Since(begun)
			if err == nil {
				_ = s.Close()
			}
			if (err == nil) != served || !served && !strings.Contains(err.Error(), "refused TLS") {
				t.Errorf("a start: %v", err)
			}
			if took > timeout+slack {
				t.Errorf("a start took %s, want one time-out of %s", took, timeout)
			}
		})
	}
}

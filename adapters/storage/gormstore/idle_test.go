package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/sample"
)

// TestLongConnectionsThatDiedWhileIdleCostOneWait cuts the connections of a pool
// that is idle, and heals the network before a request finds out.
func TestLongConnectionsThatDiedWhileIdleCostOneWait(t *testing.T) {
	t.Parallel()
	const size = 40
	// One ping that is not answered takes a second; the rest is a slow machine's.
	const once = 20 * time.Second
	direct := newDatabase(t)
	link := backend.NewLink(t, direct)
	s := openWith(t, link.URL(t, direct), gormstore.Options{PoolSize: size})
	fill(t, s)
	link.Cut(backend.BothWays)
	time.Sleep(1450 * time.Millisecond) // how long the network is cut: longer than a connection counts as alive
	link.Heal()
	healed := time.Now()
	// Each keeps its connection while the next one asks for another.
	var nested func(n int) error
	nested = func(n int) error {
		return s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			if n == 1 {
				return tx.Tenancy.InsertBusiness(ctx, sample.Business())
			}
			return nested(n - 1)
		})
	}
	if err := nested(size); err != nil {
		t.Errorf("after healing: %v", err)
	}
	if took := time.Since(healed); took > once {
		t.Errorf("%d requests took %s: they waited for one dead connection after the other", size, took)
	}
}

// TestLongAHostThatIsSilentCostsAStartOneTimeout has the first host of an address take
// connections and say nothing, while the second one refuses TLS.
func TestLongAHostThatIsSilentCostsAStartOneTimeout(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	link := backend.NewLink(t, direct)
	first, err := url.Parse(link.URL(t, direct))
	if err != nil {
		t.Fatal(err)
	}
	second, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	link.Cut(backend.BothWays)
	const timeout, slack = 10 * time.Second, 9 * time.Second // below the second time-out
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

func TestAConnectionThatWasGivenUpClosesWithoutAnError(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	made, err := net.Dial("tcp", silent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := gormstore.NewLimitedConn(made, 10*time.Millisecond)
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: %v, want that the database did not answer", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("closed with %v", err)
	}
}

package gormstore_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/ports"
	"waybill/test/partition"
	"waybill/test/sample"
)

// change is what any request does that changes something.
func change(ctx context.Context, s *gormstore.Store) error {
	return s.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		return tx.Tenancy.InsertBusiness(ctx, sample.Business())
	})
}

func TestSessionsThatMayOnlyReadAreLeftAsSoonAsOthersCanBeHad(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, direct, address string, o gormstore.Options) {
		conn := connect(t, direct)
		u, err := url.Parse(direct)
		if err != nil {
			t.Fatal(err)
		}
		readOnly := func(value string) {
			do(t, conn, `ALTER DATABASE "`+strings.TrimPrefix(u.Path, "/")+`" SET default_transaction_read_only = `+value)
		}
		readOnly("on")
		defer readOnly("off")
		o.PoolSize = 4
		if s, err := gormstore.Open(t.Context(), address, o); err == nil {
			_ = s.Close()
			t.Fatal("a pool was opened that may only read, and its URL did not ask for one")
		} else if !strings.Contains(err.Error(), "read only") {
			t.Errorf("the error does not say why: %v", err)
		}
		s := openWith(t, address+separator(address)+"target_session_attrs=any", o)
		fill(t, s)
		if err := s.Ping(t.Context()); !errors.Is(err, ports.ErrStorageGone) {
			t.Errorf("Ping on a database that may only be read: %v", err)
		}
		fill(t, s)
		if err := change(t.Context(), s); !errors.Is(err, ports.ErrStorageGone) {
			t.Errorf("a change of a database that may only be read: %v", err)
		}
		fill(t, s)
		readOnly("off")
		if address != direct { // the pooler keeps sessions of its own, with what they began with
			do(t, conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		}
		for n := range 8 { // more than there are connections
			if err := change(t.Context(), s); err != nil {
				t.Fatalf("change %d after the database may be written again: %v", n+1, err)
			}
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("Ping after the database may be written again: %v", err)
		}
	})
}

func separator(address string) string {
	if strings.Contains(address, "?") {
		return "&"
	}
	return "?"
}

func TestTheSecondHostOfAnAddressServesWhereTheFirstIsSilent(t *testing.T) {
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
	both := strings.Replace(direct, "@"+second.Host, "@"+first.Host+","+second.Host, 1)
	link.Cut(partition.BothWays)
	s := openWith(t, both, gormstore.Options{PoolSize: 6})
	begun := time.Now()
	fill(t, s) // more connections, each of which would wait three seconds for the first host
	if took := time.Since(begun); took > 2500*time.Millisecond {
		t.Errorf("more connections by way of the second host took %s: they waited for the first", took)
	}
	if err := change(t.Context(), s); err != nil {
		t.Error(err)
	}
}

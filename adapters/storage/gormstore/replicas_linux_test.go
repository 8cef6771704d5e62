package gormstore_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/test/sample"
)

// used is the time of processors that the sessions of a server have had; a tick of the
// kernel is 10 ms.
func used(b *testing.B, server *pgx.Conn) (total time.Duration) {
	b.Helper()
	rows, _ := server.Query(b.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = 'waybill'")
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			b.Fatal(err)
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, ticks := range fields[11:13] {
			n, _ := strconv.Atoi(ticks)
			total += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return total
}

// BenchmarkListsCostThePrimary tells what a page of 100 of 5,000 deliveries costs the
// primary with and without a replica, in turn, and how long the page takes.
func BenchmarkListsCostThePrimary(b *testing.B) {
	const rounds, lists, listers = 5, 2000, 4
	c := startCluster(b, 1)
	url, o := c.database(b)
	o.ReplicaLag = time.Second
	alone, beside := openShares(b, url, gormstore.Options{}).live, openShares(b, url, o).live
	tenant := newTenant(b, alone)
	var booking sync.WaitGroup
	for range 50 {
		booking.Go(func() {
			for range 100 {
				if err := alone.Book(b.Context(), sample.BookingWrite(tenant)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	booking.Wait()
	do(b, connect(b, url), "VACUUM ANALYZE")
	server := connect(b, url)
	run := func(s *gormstore.Store, lists int) (cost, median time.Duration) {
		var asking sync.WaitGroup
		took := make([][]time.Duration, listers)
		before := used(b, server)
		for i := range listers {
			asking.Go(func() {
				for range lists / listers {
					begun := time.Now()
					page, err := s.Read().Deliveries.List(b.Context(), tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 100})
					if err != nil || len(page) != 101 {
						b.Errorf("%d, %v", len(page), err)
						return
					}
					took[i] = append(took[i], time.Since(begun))
				}
			})
		}
		asking.Wait()
		all := slices.Sorted(slices.Values(slices.Concat(took...)))
		return (used(b, server) - before) / time.Duration(lists), all[len(all)/2]
	}
	run(alone, 400)
	run(beside, 400)
	for round := range rounds {
		for name, s := range map[string]*gormstore.Store{"primary alone": alone, "with a replica": beside} {
			cost, median := run(s, lists)
			b.Logf("round %d, %s: %s of the primary's processors for a list, median time %s", round+1, name, cost, median)
		}
	}
	all, others := beside.Replicas()
	b.Logf("%d lists were read from the replica, %d from the primary", all[0].Lists, others)
}

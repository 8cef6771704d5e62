package gormstore_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/test/sample"
)

// fillDeliveries makes deliveries that were booked a second apart, the last one now, from
// one that is there. One of 50 is open, and one of 50 has failed.
func fillDeliveries(t testing.TB, s *gormstore.Store, of *domain.Delivery, many int, id func(ms, n string) string,
	instant func(ms string) string) {
	t.Helper()
	columns := []string{"id", "reference", "external_id", "recipient_phone", "status", "created_at", "updated_at"}
	ms := fmt.Sprintf("(%d - (%d - i) * 1000)", time.Now().UnixMilli(), many)
	values := []string{
		id(ms, "i"), "'R' || i", "NULL", "'+23320' || i",
		"CASE i % 50 WHEN 1 THEN 'booked' WHEN 2 THEN 'failed' ELSE 'delivered' END", instant(ms), instant(ms),
	}
	for _, column := range []string{"application_id", "business_id", "environment", "recipient_id", "recipient_name", "pickup_name",
		"pickup_contact", "pickup_address", "pickup_latitude", "pickup_longitude", "dropoff_id", "dropoff_address", "dropoff_latitude",
		"dropoff_longitude", "dropoff_label", "dropoff_municipality", "dropoff_notes", "payment_type", "vehicle_type", "currency",
		"requires_custom_quote",
		"distance_km", "distance_source", "instructions", "last_sequence"} {
		columns, values = append(columns, column), append(values, "d."+column)
	}
	exec(t, s, "INSERT INTO deliveries ("+strings.Join(columns, ", ")+
		") WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "+fmt.Sprint(many)+") SELECT "+strings.Join(values, ", ")+
		" FROM n, deliveries d WHERE d.reference = '"+string(of.Reference)+"'")
}

// What people look at all day reads the few deliveries that it is about.
func TestLongTheBoardAndItsListsAreReadFromPartialIndexes(t *testing.T) {
	for name, c := range map[string]struct {
		open             func(testing.TB) *gormstore.Store
		id               func(ms, n string) string
		instant          func(ms string) string
		explain, analyze string
		reads            *regexp.Regexp // of deliveries without one of the indexes, or of their rows for a count
	}{
		"SQLite": {
			openSQLite,
			func(ms, n string) string { return "printf('%012x70008000%012x', " + ms + ", " + n + ")" },
			func(ms string) string { return "strftime('%Y-%m-%dT%H:%M:%fZ', " + ms + " / 1000.0, 'unixepoch')" },
			"EXPLAIN QUERY PLAN ", "SELECT 'nobody analyzes it in production either'",
			regexp.MustCompile(`SCAN d( |\n|$)([^U]|$)|sqlite_autoindex_deliveries`),
		},
		"Postgres": {
			openPostgres, postgresID, postgresInstant, "EXPLAIN ", "VACUUM ANALYZE deliveries",
			regexp.MustCompile(`Seq Scan on deliveries|deliveries_pkey|deliveries_status_idx`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.open(t)
			tenant := newTenant(t, s)
			tenant.Environment = domain.Live
			w := sample.BookingWrite(tenant)
			if err := s.Book(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			fillDeliveries(t, s, w.Delivery, 20_000, c.id, c.instant)
			exec(t, s, c.analyze)
			var plans []string
			_, read := s.Pools()
			if err := s.WatchReads(func(query string, values []any) {
				plans = append(plans, query+"\n"+planOf(t, read, c.explain+query, values))
			}); err != nil {
				t.Fatal(err)
			}
			ctx, now := t.Context(), time.Now()
			list := func(f domain.DeliverySearch, p domain.PageRequest) func() (int, error) {
				return func() (int, error) {
					found, err := s.Read().Platform.Deliveries(ctx, f, p)
					return len(found), err
				}
			}
			page := domain.PageRequest{Limit: 50}
			behind := domain.PageRequest{Limit: 50, After: &domain.Position{ID: domain.MakeID(domain.PrefixDelivery, [16]byte{1})}}
			work := func(f domain.WorkFilter, newest bool) domain.DeliverySearch {
				f.Environment = domain.Live
				search := f.Search(now)
				search.NewestFirst = newest
				return search
			}
			old := domain.Age{From: time.Hour}
			for _, q := range []struct {
				what, index string
				want        int // at least
				run         func() (int, error)
			}{
				{"the counts", "deliveries_open_idx", 10, func() (int, error) {
					found, err := s.Read().Platform.Work(ctx, domain.Live, now)
					return len(found), err
				}},
				{"the failed in the counts", "deliveries_failed_idx", 10, func() (int, error) {
					found, err := s.Read().Platform.Work(ctx, domain.Live, now)
					return len(found), err
				}},
				{"what is open", "deliveries_open_idx", 51, list(work(domain.WorkFilter{}, false), page)},
				{"what is open, further on", "deliveries_open_idx", 51, list(work(domain.WorkFilter{}, false), behind)},
				{"what is booked and old", "deliveries_open_idx", 51, list(work(domain.WorkFilter{Status: domain.Booked, Age: old}, true), page)},
				{"what is assigned", "deliveries_open_idx", 0, list(work(domain.WorkFilter{Status: domain.Assigned, Age: old}, false), page)},
				{"what is open of a business", "deliveries_open_idx", 51, list(work(domain.WorkFilter{BusinessID: tenant.BusinessID}, true), page)},
				{"what was cancelled", "deliveries_cancelled_idx", 0,
					list(domain.DeliverySearch{Environment: domain.Live, Status: domain.Cancelled, NewestFirst: true}, page)},
				{"a sandbox with nothing", "deliveries_sandbox_idx", 0, list(domain.DeliverySearch{Environment: domain.Sandbox}, page)},
				{"a phone number", "deliveries_phone_idx", 1, list(domain.DeliverySearch{Phone: "+2332010500", NewestFirst: true}, page)},
			} {
				plans = nil
				n, err := q.run()
				if err != nil || n < q.want {
					t.Fatalf("%s: %d, want %d, %v", q.what, n, q.want, err)
				}
				all := strings.Join(plans, "\n")
				if len(plans) == 0 || !strings.Contains(all, q.index) {
					t.Errorf("%s: %s is not used:\n%s", q.what, q.index, all)
				}
				if c.reads.MatchString(all) {
					t.Errorf("%s reads more than it is about:\n%s", q.what, all)
				}
			}
			// Of these the rows of a page are read by their keys.
			for what, q := range map[string]struct {
				search domain.DeliverySearch
				want   int // at least
			}{
				"what failed in a minute": {work(domain.WorkFilter{Status: domain.Failed, Age: domain.Age{Until: 5 * time.Minute}}, true), 1},
				"all that failed":         {domain.DeliverySearch{Environment: domain.Live, Status: domain.Failed, NewestFirst: true}, 51},
			} {
				plans = nil
				n, err := list(q.search, page)()
				if all := strings.Join(plans, "\n"); err != nil || n < q.want || !strings.Contains(all, "deliveries_failed_idx") {
					t.Errorf("%s: %d, want %d, %v:\n%s", what, n, q.want, err, all)
				}
			}
		})
	}
}

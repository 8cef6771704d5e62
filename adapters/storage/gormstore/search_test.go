package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// hostileLocations stores locations whose text folds to nothing but f, twice
// as long as it was sent.
func hostileLocations(t testing.TB, s *gormstore.Store, tenant domain.Tenant, many int) {
	t.Helper()
	locations := make([]domain.PickupLocation, many)
	for i := range locations {
		locations[i] = sample.PickupLocation(func(p *domain.PickupLocation) {
			// With the trigrams of the patterns that are searched for.
			p.Name, p.Address = "xff"+strings.Repeat("ﬀ", 120)+"ffx", strings.Repeat("ﬀ", 500)
			p.CreatedAt = sample.Now.Add(time.Duration(i) * time.Millisecond)
		})
	}
	if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		return tx.PickupLocations.InsertAll(ctx, tenant, locations)
	}); err != nil {
		t.Fatal(err)
	}
}

// A pattern that is compared at each character of a row costs the product of both
// lengths. So none that the database gets is long, whatever folding makes of it.
func TestNoSearchGivesTheDatabaseALongPattern(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			hostileLocations(t, s, tenant, 300)
			longest := 0
			if err := s.WatchReads(func(_ string, values []any) {
				for _, v := range values {
					// An FTS5 query has each trigram in quotes.
					if text, ok := v.(string); ok && strings.Contains(text, "ff") && !strings.Contains(text, " AND ") {
						longest = max(longest, len(strings.Trim(text, "%")))
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			for _, search := range []string{strings.Repeat("ﬀ", 127) + "x", "x" + strings.Repeat("ﬀ", 127), strings.Repeat("ﬀ", 128)} {
				var found []domain.PickupLocation
				err := ports.ErrTookTooLong
				for try := 0; try < 5 && errors.Is(err, ports.ErrTookTooLong); try++ { // on a machine that does much else
					found, err = s.Read().PickupLocations.List(t.Context(), tenant, domain.PickupLocationFilter{Search: search},
						domain.PageRequest{Limit: 25})
				}
				if err != nil {
					t.Fatal(err)
				}
				want := 0
				if !strings.Contains(search, "x") {
					want = 26
				}
				if len(found) != want {
					t.Errorf("%d locations contain %.20q..., want %d", len(found), search, want)
				}
			}
			if longest == 0 || longest > 16*len("f") {
				t.Errorf("the longest pattern has %d characters, want 1 to 16", longest)
			}
		})
	}
}

// What few rows contain is found by an index, and not by reading all rows of the business.
func TestLongASearchForWhatIsRareReadsAnIndex(t *testing.T) {
	for name, c := range map[string]struct {
		open             func(testing.TB) *gormstore.Store
		explain, analyze string
		index            *regexp.Regexp
	}{
		"SQLite": {openSQLite, "EXPLAIN QUERY PLAN ", "", regexp.MustCompile(`VIRTUAL TABLE INDEX`)},
		"Postgres": {openPostgres, "EXPLAIN ", "VACUUM ANALYZE recipients, pickup_locations",
			regexp.MustCompile(`(recipients|pickup_locations)_search_idx`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.open(t)
			tenant := newTenant(t, s)
			if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				locations := make([]domain.PickupLocation, 10_000)
				for i := range locations {
					locations[i] = sample.PickupLocation(func(p *domain.PickupLocation) { p.Name = fmt.Sprintf("Kitchen %d", i) })
				}
				return tx.PickupLocations.InsertAll(ctx, tenant, locations)
			}); err != nil {
				t.Fatal(err)
			}
			exec(t, s, `INSERT INTO recipients (id, business_id, environment, phone_number, name, search_text, address_count, created_at, updated_at)
				SELECT id, business_id, environment, '+' || name, name, search_text, 0, created_at, updated_at FROM pickup_locations`)
			if c.analyze != "" {
				exec(t, s, c.analyze)
			}
			var statements []string
			var last []any
			if err := s.WatchReads(func(statement string, values []any) { statements, last = append(statements, statement), values }); err != nil {
				t.Fatal(err)
			}
			_, read := s.Pools()
			for what, list := range map[string]func(search string) (int, error){
				"recipients": func(search string) (int, error) {
					found, err := s.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{Search: search}, domain.PageRequest{Limit: 25})
					return len(found), err
				},
				"pickup locations": func(search string) (int, error) {
					found, err := s.Read().PickupLocations.List(t.Context(), tenant, domain.PickupLocationFilter{Search: search},
						domain.PageRequest{Limit: 25})
					return len(found), err
				},
			} {
				for search, want := range map[string]int{"KITCHEN 9": 26, "kitchen 9876": 1, "kitchen none": 0, "e": 26} {
					statements = nil
					found, err := list(search)
					if err != nil || found != want {
						t.Fatalf("%s with %q: %d (%v), want %d", what, search, found, err, want)
					}
					if want == 26 {
						continue
					}
					if plan := planOf(t, read, c.explain+statements[len(statements)-1], last); !c.index.MatchString(plan) {
						t.Errorf("%s with %q:\n%s\n%s\nwant %s", what, search, statements[len(statements)-1], plan, c.index)
					}
				}
			}
		})
	}
}

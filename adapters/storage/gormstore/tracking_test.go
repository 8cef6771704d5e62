package gormstore_test

import (
	"strings"
	"testing"

	"waybill/test/sample"
)

// Anyone may ask, for references that exist and for others: neither may scan a
// table.
func TestAReferenceIsFoundByIndexes(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	var plans []string
	_, read := s.Pools()
	err := s.WatchReads(func(query string, values []any) {
		plans = append(plans, planOf(t, read, "EXPLAIN QUERY PLAN "+query, values))
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = s.Read().Tracking.Find(t.Context(), sample.Reference())
	_, _ = s.Read().Tracking.Find(t.Context(), "none")
	if len(plans) != 2 || plans[0] != plans[1] {
		t.Fatalf("what is no reference is looked up in another way:\n%s", strings.Join(plans, "\n"))
	}
	for _, part := range []string{"(reference=?)", "(delivery_id=?)"} {
		if !strings.Contains(plans[0], part) || strings.Contains(plans[0], "SCAN") {
			t.Errorf("no index on %s:\n%s", part, plans[0])
		}
	}
}

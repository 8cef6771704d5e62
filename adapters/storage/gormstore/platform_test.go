package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// An operator's question must not read all deliveries there ever were. There are
// 40,000 here, five minutes apart, of 200 applications.
func TestLongOperatorsFindDeliveriesByIndexes(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tenant := newTenant(t, s)
	w := sample.BookingWrite(tenant)
	if err := s.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	const application = "CAST(lpad(to_hex(%), 32, '0') AS uuid)"
	exec(t, s, "INSERT INTO applications SELECT "+strings.ReplaceAll(application, "%", "i")+
		", business_id, 'a', disabled, created_at FROM applications, generate_series(1, 200) AS g(i)")
	// The columns that matter differ, the others are those of the one that was booked.
	copied := map[string]string{
		"id": "CAST(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - i::bigint * 300000), 12, '0') || '7000' || " +
			"lpad(to_hex(i), 16, '0') AS uuid)",
		"application_id": strings.ReplaceAll(application, "%", "1 + i % 200"),
		"environment":    "'live'", "recipient_id": "recipient_id", "reference": "'R-' || i", "external_id": "'order-' || i",
		"status": "CASE WHEN i % 100 = 0 THEN 'assigned' ELSE 'delivered' END", "created_at": "now() - i * interval '5 minutes'",
		"updated_at": "now() - i * interval '5 minutes'",
	}
	copyDeliveries(t, s, 40_000, copied)
	_, read := s.Pools()

	var plans []string
	if err := s.WatchReads(func(query string, values []any) {
		plans = append(plans, query+"\n"+planOf(t, read, "EXPLAIN "+query, values))
	}); err != nil {
		t.Fatal(err)
	}
	week, hour := time.Now().Add(-7*24*time.Hour), time.Now().Add(-time.Hour)
	page := domain.PageRequest{Limit: 25, After: &domain.Position{ID: w.Delivery.ID}}
	for what, q := range map[string]struct {
		search domain.DeliverySearch
		index  string
		from   domain.PageRequest
		some   bool
	}{
		"by ID": {domain.DeliverySearch{ID: w.Delivery.ID}, "deliveries_pkey", domain.PageRequest{Limit: 25}, true},
		"by reference": {domain.DeliverySearch{Reference: w.Delivery.Reference}, "deliveries_reference_key",
			domain.PageRequest{Limit: 25}, true},
		"by external_id": {domain.DeliverySearch{ExternalID: "order-77"}, "Index Cond: ((application_id = ANY",
			domain.PageRequest{Limit: 25}, true},
		"the last week": {domain.DeliverySearch{CreatedAfter: &week}, "deliveries_pkey", domain.PageRequest{Limit: 25}, true},
		"a page of it":  {domain.DeliverySearch{CreatedAfter: &week, NewestFirst: true}, "deliveries_pkey", page, true},
		"an hour of it": {domain.DeliverySearch{CreatedAfter: &week, CreatedBefore: &hour}, "deliveries_pkey",
			domain.PageRequest{Limit: 25}, true},
		"a rare status": {domain.DeliverySearch{CreatedAfter: &week, Status: domain.Assigned, NewestFirst: true}, "deliveries_",
			domain.PageRequest{Limit: 25}, true},
		"a status that is old": {domain.DeliverySearch{CreatedAfter: &week, Status: domain.Assigned, UpdatedBefore: &hour}, "deliveries_",
			domain.PageRequest{Limit: 25}, true},
		"of a business": {domain.DeliverySearch{CreatedAfter: &week, BusinessID: tenant.BusinessID}, "deliveries_",
			domain.PageRequest{Limit: 25}, true},
		"of an application": {domain.DeliverySearch{CreatedAfter: &week, ApplicationID: tenant.ApplicationID}, "deliveries_",
			domain.PageRequest{Limit: 25}, false},
		"of an environment": {domain.DeliverySearch{CreatedAfter: &week, Environment: domain.Live}, "deliveries_",
			domain.PageRequest{Limit: 25}, true},
		"of an application, an": {domain.DeliverySearch{ExternalID: "order-77", ApplicationID: tenant.ApplicationID},
			"deliveries_external_id_key", domain.PageRequest{Limit: 25}, false},
	} {
		plans = nil
		begun := time.Now()
		found, err := s.Read().Platform.Deliveries(t.Context(), q.search, q.from)
		if err != nil || q.some && len(found) == 0 {
			t.Errorf("%s: %d found, %v", what, len(found), err)
		}
		t.Logf("%s: %d found, %v with the plan", what, len(found), time.Since(begun))
		if plan := strings.Join(plans, "\n"); !strings.Contains(plan, q.index) || strings.Contains(plan, "Seq Scan on deliveries") {
			t.Errorf("%s reads the whole table, or not by %s:\n%s", what, q.index, plan)
		}
	}
}

// copyDeliveries makes so many of those there are, number i with these values.
func copyDeliveries(t *testing.T, s *gormstore.Store, many int, with map[string]string) {
	t.Helper()
	var names, values []string
	write, _ := s.Pools()
	rows, err := write.QueryContext(t.Context(), "SELECT column_name FROM information_schema.columns WHERE table_name = 'deliveries'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		value := with[name]
		if value == "" {
			value = name
		}
		names, values = append(names, name), append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	// What is only looked at here needs no recipient in its environment.
	exec(t, s, "ALTER TABLE deliveries DROP CONSTRAINT deliveries_recipient_fkey")
	conn, err := write.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range []string{
		"SET statement_timeout = 0", // a busy machine takes longer than the program would wait
		"INSERT INTO deliveries (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(values, ", ") +
			fmt.Sprintf(" FROM deliveries, generate_series(1, %d) AS g(i)", many),
		"VACUUM ANALYZE", "RESET statement_timeout",
	} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%.200s: %v", statement, err)
		}
	}
}

func TestAnAuditEntryIsStoredWithItsChangeOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	business := sample.Business()
	entry := domain.AuditEntry{ID: sample.ID(domain.PrefixAuditEntry), At: sample.Now,
		AuditRecord: domain.AuditRecord{Action: domain.ActionBusinessCreate, Target: business.ID}}
	refused := errors.New("refused")
	err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		return errors.Join(tx.Tenancy.InsertBusiness(ctx, business), tx.Audit.Append(ctx, entry), refused)
	})
	businesses, err2 := s.Read().Tenancy.Businesses(t.Context())
	entries, err3 := s.Read().Audit.List(t.Context(), domain.AuditFilter{}, domain.PageRequest{Limit: 5})
	if !errors.Is(err, refused) || err2 != nil || err3 != nil || len(businesses)+len(entries) != 0 {
		t.Errorf("%v, %v, %v: %d businesses, %d entries", err, err2, err3, len(businesses), len(entries))
	}
}

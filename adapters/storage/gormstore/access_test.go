package gormstore_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// A role with the rights to read and write rows does not own the tables of the request log. It
// keeps the log in the room that a migration has made, and deletes what is old row by row.
func TestARoleThatMayOnlyReadAndWriteKeepsTheRequestLog(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	if err := gormstore.PrepareRequests(t.Context(), direct); err != nil {
		t.Fatal(err)
	}
	address, _ := newRole(t, direct, 20)
	role := url.URL{}
	if u, err := url.Parse(address); err == nil {
		role = *u
	}
	s, owner := openWith(t, address, gormstore.Options{}), open(t, direct)
	if err := gormstore.PrepareRequests(t.Context(), address); err != nil {
		t.Errorf("the migration of a role that may make nothing: %v", err)
	}
	a, err := s.Access(t.Context())
	if err != nil || a.Role != role.User.Username() || a.Schema != "public" || len(a.Missing) > 0 || a.MakesRoom ||
		time.Until(a.RoomUntil) < 30*24*time.Hour || a.Isolation != "read committed" ||
		!slices.Contains(a.Limits, ports.ConnectionLimit{Of: "the role " + a.Role, Most: 20}) {
		t.Errorf("%+v (%v)", a, err)
	}
	if a, err := owner.Access(t.Context()); err != nil || !a.MakesRoom || len(a.Missing) > 0 {
		t.Errorf("the owner: %+v (%v)", a, err)
	}

	tenant := newTenant(t, owner)
	record := func(at time.Time) domain.RequestRecord {
		var id [16]byte
		for i, ms := range [6]int{40, 32, 24, 16, 8, 0} {
			id[i] = byte(at.UnixMilli() >> ms)
		}
		copy(id[6:], sample.ID(domain.PrefixRequest).Hex()[16:])
		return domain.RequestRecord{ID: domain.MakeID(domain.PrefixRequest, id), Environment: domain.Live, BusinessID: tenant.BusinessID,
			ApplicationID: tenant.ApplicationID, KeyID: sample.ID(domain.PrefixAPIKey), Route: "GET /v1/deliveries", Status: 200, Weight: 1}
	}
	minute := func(at time.Time) domain.UsageMinute {
		return domain.UsageMinute{Minute: at.Truncate(time.Minute), Environment: domain.Live, BusinessID: tenant.BusinessID,
			ApplicationID: tenant.ApplicationID, KeyID: sample.ID(domain.PrefixAPIKey), Route: "GET /v1/deliveries", Status: 200, Calls: 1}
	}
	now := time.Now().UTC()
	old := now.Add(-24*time.Hour - 30*time.Minute)
	skipped, err := s.WriteRequests(t.Context(), strings.Repeat("a", 32), []domain.RequestRecord{record(now), record(old)},
		[]domain.UsageMinute{minute(now), minute(old)})
	if err != nil || skipped.Records > 0 {
		t.Fatalf("%+v (%v)", skipped, err)
	}
	keep := domain.RequestLogKeeping{Successes: 10 * time.Minute, Failures: 10 * time.Minute, Usage: 10 * time.Minute}
	if err := s.RotateRequests(t.Context(), keep); err != nil {
		t.Error(err)
	}
	conn := connect(t, direct)
	for _, table := range []string{"request_successes", "usage_minutes", "usage_hours"} {
		var left int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&left); err != nil || left != 1 {
			t.Errorf("%s has %d rows, want the recent one (%v)", table, left, err)
		}
	}

	name := pgx.Identifier{a.Role}.Sanitize()
	do(t, conn, "REVOKE INSERT, DELETE ON deliveries FROM "+name+"; REVOKE USAGE ON SEQUENCE feed_positions FROM "+name)
	if a, err := s.Access(t.Context()); err != nil || !slices.Equal(a.Missing, []string{"INSERT, DELETE ON deliveries", "USAGE ON feed_positions"}) {
		t.Errorf("%+v (%v)", a, err)
	}

	// Without room for the days ahead the rotation tells, and still deletes what is old.
	for _, table := range []string{"request_successes", "request_failures", "usage_minutes", "usage_hours"} {
		do(t, conn, "DROP TABLE "+table+"_"+now.Add(3*24*time.Hour).Format("20060102"))
	}
	if err := s.RotateRequests(t.Context(), keep); !gormstore.LacksPrivilege(err) || !strings.Contains(err.Error(), "run waybill migrate up") {
		t.Error(err)
	}
}

// What a role that may not drop partitions leaves behind is dropped by the next migration.
func TestAMigrationDropsEmptyPartitionsOfThePast(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	conn := connect(t, direct)
	past := time.Now().UTC().Add(-40 * 24 * time.Hour).Format("20060102")
	do(t, conn, "CREATE TABLE usage_hours_"+past+" PARTITION OF usage_hours FOR VALUES FROM ('"+past+"T000000Z') TO ('"+past+"T120000Z')")
	if err := gormstore.PrepareRequests(t.Context(), direct); err != nil {
		t.Fatal(err)
	}
	var left bool
	if err := conn.QueryRow(t.Context(), "SELECT to_regclass('usage_hours_"+past+"') IS NOT NULL").Scan(&left); err != nil || left {
		t.Errorf("it is left: %v (%v)", left, err)
	}
}

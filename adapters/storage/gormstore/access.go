package gormstore

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"waybill/ports"
)

// pgAccess selects the role, its schema and the limits of connections; -1 means no limit. It reads
// the isolation of a statement outside a transaction, which a pooler leaves to the role.
const pgAccess = `SELECT current_user AS role, COALESCE(current_schema(), '') AS schema, current_setting('transaction_isolation') AS isolation,
	CASE WHEN r.rolsuper THEN -1 ELSE r.rolconnlimit END AS of_role, d.datname AS database,
	CASE WHEN r.rolsuper THEN -1 ELSE d.datconnlimit END AS of_database,
	current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
		- COALESCE(current_setting('reserved_connections', true), '0')::integer AS of_server
FROM pg_roles r, pg_database d WHERE r.rolname = session_user AND d.datname = current_database()`

// pgMissing selects the privileges on tables, views and sequences that a server needs and the role
// lacks. Inserts into partitions use the privileges on the whole table. It ignores relations of
// other owners in the schema.
const pgMissing = `SELECT string_agg(w.privilege, ', ' ORDER BY w.n) || ' ON ' || c.relname
FROM pg_class c
JOIN pg_class ours ON ours.oid = to_regclass('` + versionTable + `') AND ours.relowner = c.relowner AND ours.relnamespace = c.relnamespace
CROSS JOIN LATERAL unnest(CASE WHEN c.relkind = 'S' THEN '{USAGE,SELECT,UPDATE}'::text[]
	WHEN c.relkind = 'v' OR c.oid = ours.oid THEN '{SELECT}' ELSE '{SELECT,INSERT,UPDATE,DELETE}' END) WITH ORDINALITY AS w(privilege, n)
WHERE c.relkind IN ('r', 'p', 'v', 'S') AND NOT c.relispartition AND c.relname <> '` + versionTable + `_id_seq'
	AND NOT CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(c.oid, w.privilege) ELSE has_table_privilege(c.oid, w.privilege) END
GROUP BY c.relname ORDER BY c.relname`

// pgMakesRoom reports whether the role may create partitions of the request log, for which it needs
// the privileges of the owner of the tables. It returns NULL where there are no tables yet.
const pgMakesRoom = `SELECT bool_and(pg_has_role(relowner, 'USAGE')) AND has_schema_privilege(current_schema(), 'CREATE')
FROM pg_class WHERE oid IN (to_regclass('` + requestSuccesses + `'), to_regclass('` + requestFailures + `'), to_regclass('` + usageMinutes +
	`'), to_regclass('` + usageHours + `'))`

// Access reports what the database allows the role of its URL to do; nothing on SQLite.
func (s *Store) Access(ctx context.Context) (a ports.StorageAccess, err error) {
	if s.dialect.dialect != goose.DialectPostgres {
		return a, nil
	}
	var row struct {
		Role, Schema, Isolation, Database string
		OfRole, OfDatabase, OfServer      int
	}
	db := s.read.WithContext(ctx)
	if err := db.Raw(pgAccess).Scan(&row).Error; err != nil {
		return a, s.dialect.failed("ask the database for the rights of the role", err)
	}
	a = ports.StorageAccess{Role: row.Role, Schema: row.Schema, Isolation: row.Isolation}
	for _, l := range []ports.ConnectionLimit{{Of: "the role " + row.Role, Most: row.OfRole},
		{Of: "the database " + row.Database, Most: row.OfDatabase}, {Of: "the server", Most: row.OfServer}} {
		if l.Most >= 0 {
			a.Limits = append(a.Limits, l)
		}
	}
	if a.Schema == "" {
		return a, nil
	}
	if err := db.Raw(pgMissing).Scan(&a.Missing).Error; err != nil {
		return a, s.dialect.failed("ask the database for the rights of the role", err)
	}
	var makesRoom *bool
	if err := db.Raw(pgMakesRoom).Row().Scan(&makesRoom); err != nil {
		return a, s.dialect.failed("ask the database for the rights of the role", err)
	}
	if makesRoom == nil {
		return a, nil
	}
	a.MakesRoom = *makesRoom
	a.RoomUntil, err = s.roomUntil(ctx)
	return a, err
}

// roomUntil returns the first time at which a table of the request log has no partition.
func (s *Store) roomUntil(ctx context.Context) (until time.Time, err error) {
	sn := session{db: s.read.WithContext(ctx), dialect: s.dialect}
	for _, table := range requestTables {
		there, err := partitionsOf(ctx, sn, table)
		if err != nil {
			return until, err
		}
		end := time.Now().UTC().Truncate(day) // no partition at all
		if len(there) > 0 {
			end = there[len(there)-1].day.Add(day)
		}
		if until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return until, nil
}

// daysPrepared limits for how many days ahead PrepareRequests creates partitions. A month is
// enough: each is a table that every list of the request log reads.
const daysPrepared = 31

// PrepareRequests creates partitions of the request log on Postgres for daysPrepared days, as their
// owner: the role of the servers may lack that privilege. It drops empty partitions of the past,
// which such a role leaves behind. If its own role lacks the privilege, it changes nothing.
func PrepareRequests(ctx context.Context, url string) error {
	return withProvider(ctx, url, func(e *dialect, db *sql.DB, _ *goose.Provider) error {
		if e.dialect != goose.DialectPostgres {
			return nil
		}
		p := &pools{write: db, read: db, lists: db, dialector: func(db *sql.DB) gorm.Dialector {
			return postgres.New(postgres.Config{Conn: db})
		}}
		s, err := newStore(ctx, e, p, Options{}.withDefaults())
		if err != nil {
			return err
		}
		if _, _, err = makeRequestPartitions(ctx, s, daysPrepared); err == nil {
			err = s.dropEmptyPartitions(ctx)
		}
		if LacksPrivilege(err) {
			return nil
		}
		return err
	})
}

// dropEmptyPartitions drops empty partitions of days for which nothing is written any more.
func (s *Store) dropEmptyPartitions(ctx context.Context) error {
	sn := session{db: s.write.WithContext(ctx), dialect: s.dialect}
	for _, table := range requestTables {
		there, err := partitionsOf(ctx, sn, table)
		if err != nil {
			return err
		}
		for _, p := range there {
			var used bool
			if time.Since(p.day) < 2*daysBack*day {
				break
			}
			if err := sn.db.Raw("SELECT EXISTS (SELECT FROM " + p.name + ")").Row().Scan(&used); err != nil {
				return s.dialect.failed("look into "+p.name, err)
			}
			if used {
				continue
			}
			if err := s.dropPartition(ctx, p); err != nil && !TimedOut(err) {
				return err
			}
		}
	}
	return nil
}

// emptyPartition deletes the rows of a day, ten minutes at a time, where the role may not drop the
// partition.
func (s *Store) emptyPartition(ctx context.Context, p partition) error {
	column, bound := "id", func(t time.Time) any { return firstIDAt(t) }
	table := strings.TrimSuffix(p.name, "_"+p.day.Format(dayFormat))
	if name, isUsage := map[string]string{usageMinutes: "minute", usageHours: "hour"}[table]; isUsage {
		column, bound = name, func(t time.Time) any { return instantOf(t) }
	}
	db := s.write.WithContext(ctx)
	var used bool
	err := db.Raw("SELECT EXISTS (SELECT FROM "+table+" WHERE "+column+" >= ? AND "+column+" < ?)", bound(p.day), bound(p.day.Add(day))).Row().Scan(&used)
	if err != nil || !used {
		return s.dialect.failed("look into "+p.name, err)
	}
	const step = 10 * time.Minute
	for from := p.day; from.Before(p.day.Add(day)); from = from.Add(step) {
		err := db.Exec("DELETE FROM "+table+" WHERE "+column+" >= ? AND "+column+" < ?", bound(from), bound(from.Add(step))).Error
		if err != nil {
			return s.dialect.failed("delete the rows of "+p.name, err)
		}
	}
	return nil
}

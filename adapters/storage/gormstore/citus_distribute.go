package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"

	"waybill/ports"
)

// place describes where Citus keeps the rows of a table.
type place struct {
	table string
	by    string // the column that decides on the node of a row; empty: every node has all rows
	like  string // the table whose rows are on the same node, by the same value; empty: none
}

// tenants names the table that all other tables of businesses are colocated with.
const tenants = "recipients"

// places lists the tables that do not stay on the coordinator alone, in the order in which they are
// moved.
//
// Every node has the rows that foreign keys or statements of distributed tables need and that
// rarely change: each change is a commit on all nodes. Tables to which a business can add rows are
// distributed by business. So all of a create, and all that a tenant reads, is on one node. Records
// of the request log may be of no known business. They are distributed by their IDs, which spreads
// those of one business too.
//
// The others stay on the coordinator: API keys, people and their credentials, emails, audit, runs
// of operators, progress, figures of reports and the platform's own state. They are few or written
// by one process at a time, and never joined with rows of a distributed table. The use of a key,
// noted every few seconds, would be a commit on all nodes if keys were there.
var places = []place{
	{table: "businesses"}, {table: "applications"}, {table: "webhook_pauses"},
	{table: tenants, by: "business_id"},
	ofBusinesses("recipient_addresses"), ofBusinesses("pickup_locations"), ofBusinesses("deliveries"), ofBusinesses("delivery_events"),
	ofBusinesses("idempotency_keys"), ofBusinesses("bulk_items"), ofBusinesses("simulation_counts"), ofBusinesses("readiness"),
	ofBusinesses("feed_events"), ofBusinesses("feed_horizons"), ofBusinesses("webhook_endpoints"), ofBusinesses("webhook_leases"),
	ofBusinesses("webhook_deliveries"), ofBusinesses("webhook_attempts"), ofBusinesses(usageMinutes), ofBusinesses(usageHours),
	{table: requestFailures, by: "id"}, {table: requestSuccesses, by: "id", like: requestFailures},
}

func ofBusinesses(table string) place { return place{table: table, by: "business_id", like: tenants} }

// distributedKeys lists the foreign keys of distributed tables. Citus accepts none while only one
// of its tables is distributed. So they are dropped before, and added and checked at the end.
var distributedKeys = []struct{ table, name, of string }{
	{tenants, "recipients_business_id_fkey", "(business_id) REFERENCES businesses(id)"},
	{"recipient_addresses", "recipient_addresses_recipient_fkey",
		"(recipient_id, business_id, environment) REFERENCES recipients(id, business_id, environment)"},
	{"pickup_locations", "pickup_locations_business_id_fkey", "(business_id) REFERENCES businesses(id)"},
	{"deliveries", "deliveries_application_fkey", "(application_id, business_id) REFERENCES applications(id, business_id)"},
	{"deliveries", "deliveries_recipient_fkey",
		"(recipient_id, business_id, environment) REFERENCES recipients(id, business_id, environment)"},
	{"deliveries", "deliveries_address_fkey",
		"(dropoff_id, recipient_id, business_id) REFERENCES recipient_addresses(id, recipient_id, business_id)"},
	{"delivery_events", "delivery_events_delivery_fkey", "(delivery_id, business_id) REFERENCES deliveries(id, business_id)"},
	{"readiness", "readiness_application_id_fkey", "(application_id) REFERENCES applications(id)"},
	{"webhook_endpoints", "webhook_endpoints_business_id_fkey", "(business_id) REFERENCES businesses(id)"},
	{"webhook_endpoints", "webhook_endpoints_application_id_fkey", "(application_id) REFERENCES applications(id)"},
	{"webhook_leases", "webhook_leases_endpoint_fkey",
		"(endpoint_id, business_id) REFERENCES webhook_endpoints(id, business_id) ON DELETE CASCADE"},
}

// ErrNoCitus means that a database cannot be distributed.
var ErrNoCitus = errors.New("the database is on no coordinator of Citus with workers: create the extension citus in it and in the" +
	" database of this name on each worker, and add those with SELECT citus_add_node('HOST', PORT)")

// Distribute moves the rows of a database to the nodes of Citus, table by table. It reports each
// moved table with its row counts before and after, which were equal. Each table moves in a
// transaction, so a call continues after one that was cut off. Meanwhile no table that moves can be
// written, and running processes do not know the new places. So it refuses to begin while some run.
func Distribute(ctx context.Context, url string, tell func(ports.TableMoved)) error {
	move := func(db *sql.DB) error {
		state, err := citusOf(ctx, db)
		if err != nil {
			return err
		}
		if state.workers == 0 {
			return ErrNoCitus
		}
		var running int
		err = db.QueryRowContext(ctx, "SELECT count(*) FROM processes WHERE seen_at > now() - interval '20 seconds'").Scan(&running)
		if err != nil {
			return fmt.Errorf("look for processes that run: %w", err)
		}
		if running > 0 && !state.distributed {
			return fmt.Errorf("processes that ran within the last 20 seconds: %d. Stop all servers and workers, which would not find rows at"+
				" their new places, and call this again 20 seconds later", running)
		}
		return distribute(ctx, db, tell)
	}
	return withProvider(ctx, url, func(e *dialect, db *sql.DB, _ *goose.Provider) error {
		if e.dialect != goose.DialectPostgres {
			return ErrNoCitus
		}
		return oneAtATime(ctx, db, func() error { return move(db) })
	})
}

// distributeNew distributes a database on a coordinator of Citus that has no businesses yet. It
// also continues a distribution that was cut off then.
func distributeNew(ctx context.Context, db *sql.DB) error {
	state, err := citusOf(ctx, db)
	if err != nil || state.workers == 0 || state.distributed {
		return err
	}
	var used bool
	if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM businesses)").Scan(&used); err != nil || used {
		return err
	}
	return distribute(ctx, db, func(ports.TableMoved) {})
}

func distribute(ctx context.Context, db *sql.DB, tell func(ports.TableMoved)) error {
	if err := prepareToDistribute(ctx, db); err != nil {
		return err
	}
	for _, p := range places {
		moved, err := p.move(ctx, db)
		if err != nil {
			return fmt.Errorf("distribute %s: %w", p.table, err)
		}
		tell(moved)
	}
	for _, key := range distributedKeys {
		there, err := exists(ctx, db, "SELECT FROM pg_constraint WHERE conrelid = $1::regclass AND conname = $2", key.table, key.name)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if _, err := db.ExecContext(ctx, "ALTER TABLE "+key.table+" ADD CONSTRAINT "+key.name+" FOREIGN KEY "+key.of); err != nil {
			return fmt.Errorf("add the foreign key %s: %w", key.name, err)
		}
	}
	return nil
}

// prepareToDistribute changes what Citus does not accept. It adds the column that a table is
// distributed by to every key, and drops triggers, whose work statements do there (citus.go). On
// plain Postgres the column at the end would only enlarge indexes. Without a key of its own, a
// reference is unique in its business, and among all businesses by its 60 random bits.
func prepareToDistribute(ctx context.Context, db *sql.DB) error {
	return inTransaction(ctx, db, func(tx *sql.Tx) error {
		// The coordinator becomes a node without rows of businesses. Tables of every node are there
		// too, and its own tables may refer to them.
		if _, err := tx.ExecContext(ctx, "SELECT citus_set_coordinator_host(host(inet_server_addr()), inet_server_port())"+
			" WHERE inet_server_addr() IS NOT NULL AND NOT EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0)"); err != nil {
			return fmt.Errorf("add the coordinator to the nodes of Citus: %w", err)
		}
		var changes []string
		for _, p := range places {
			if at, err := p.distributed(ctx, tx); err != nil {
				return err
			} else if at || p.by == "" {
				continue
			}
			for _, key := range distributedKeys {
				if key.table == p.table {
					changes = append(changes, "ALTER TABLE "+p.table+" DROP CONSTRAINT IF EXISTS "+key.name)
				}
			}
			more, err := collect(ctx, tx, `SELECT format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass) FROM pg_trigger t
				WHERE t.tgrelid = $1::regclass AND NOT t.tgisinternal
				UNION ALL SELECT format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %2$I %s, %I)', c.conrelid::regclass, c.conname,
					rtrim(pg_get_constraintdef(c.oid), ')'), $2::text) FROM pg_constraint c
				WHERE c.conrelid = $1::regclass AND c.contype IN ('p', 'u')
					AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.conrelid AND a.attname = $2 AND a.attnum = ANY (c.conkey))`,
				p.table, p.by)
			if err != nil {
				return err
			}
			changes = append(changes, more...)
		}
		for _, change := range changes {
			if _, err := tx.ExecContext(ctx, change); err != nil {
				return fmt.Errorf("%s: %w", change, err)
			}
		}
		return nil
	})
}

// move distributes a table with its rows, unless it is distributed. It empties what is left of it
// on the coordinator.
func (p place) move(ctx context.Context, db *sql.DB) (moved ports.TableMoved, err error) {
	moved = ports.TableMoved{Table: p.table, By: p.by}
	err = inTransaction(ctx, db, func(tx *sql.Tx) error {
		there, err := p.distributed(ctx, tx)
		if err != nil {
			return err
		}
		if !there {
			if _, err := tx.ExecContext(ctx, "LOCK TABLE "+p.table+" IN SHARE ROW EXCLUSIVE MODE"); err != nil {
				return err
			}
		}
		count := "SELECT count(*) FROM " + p.table
		if err := tx.QueryRowContext(ctx, count).Scan(&moved.Before); err != nil {
			return err
		}
		if !there {
			statement, values := "SELECT create_reference_table($1::regclass)", []any{p.table}
			if p.by != "" {
				statement, values = "SELECT create_distributed_table($1::regclass, $2::text, colocate_with => $3::text)", []any{p.table, p.by, "none"}
			}
			if p.like != "" {
				values[2] = p.like
			}
			if _, err := tx.ExecContext(ctx, statement, values...); err != nil {
				return err
			}
		}
		moved.Moved = !there
		if err := tx.QueryRowContext(ctx, count).Scan(&moved.After); err != nil {
			return err
		}
		if moved.Before != moved.After {
			return fmt.Errorf("it had %d rows and has %d at its new place: nothing was changed", moved.Before, moved.After)
		}
		return nil
	})
	if err != nil {
		return moved, err
	}
	if _, err = db.ExecContext(ctx, "SELECT truncate_local_data_after_distributing_table($1::regclass)", p.table); err != nil {
		return moved, fmt.Errorf("empty it on the coordinator: %w", err)
	}
	return moved, nil
}

func (p place) distributed(ctx context.Context, tx *sql.Tx) (bool, error) {
	return exists(ctx, tx, "SELECT FROM pg_dist_partition WHERE logicalrelid = $1::regclass AND (partmethod = 'h' OR repmodel = 't')", p.table)
}

// citusState reports what Citus knows of a database.
type citusState struct {
	workers     int  // known to its coordinator; 0: it is on none
	distributed bool // all tables are at their places
	begun       bool // some are
}

func citusOf(ctx context.Context, db *sql.DB) (state citusState, err error) {
	there, err := exists(ctx, db, "SELECT FROM pg_extension WHERE extname = 'citus'")
	if err != nil || !there {
		return state, err
	}
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM pg_dist_node WHERE groupid <> 0 AND noderole = 'primary' AND isactive"+
		" AND (SELECT groupid FROM pg_dist_local_group) = 0").Scan(&state.workers)
	if err != nil {
		return state, fmt.Errorf("look for workers of Citus: %w", err)
	}
	if state.workers == 0 {
		return state, nil
	}
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = quoted(p.table)
	}
	var taken int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = ANY (ARRAY(SELECT to_regclass(name)"+
		" FROM unnest(ARRAY["+strings.Join(names, ", ")+"]) AS t (name))) AND (partmethod = 'h' OR repmodel = 't')").Scan(&taken)
	if err != nil {
		return state, fmt.Errorf("look what is distributed: %w", err)
	}
	state.begun, state.distributed = taken > 0, taken == len(places)
	return state, nil
}

// querier runs queries on a pool or in a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, values ...any) *sql.Row
	QueryContext(ctx context.Context, query string, values ...any) (*sql.Rows, error)
}

func exists(ctx context.Context, db querier, query string, values ...any) (there bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT EXISTS ("+query+")", values...).Scan(&there)
	if err != nil {
		err = fmt.Errorf("look what is distributed: %w", err)
	}
	return there, err
}

func collect(ctx context.Context, db querier, query string, values ...any) (all []string, err error) {
	rows, err := db.QueryContext(ctx, query, values...)
	if err != nil {
		return nil, fmt.Errorf("look what is to be distributed: %w", err)
	}
	defer func() { _ = rows.Close() }() // read to its end
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, fmt.Errorf("look what is to be distributed: %w", err)
		}
		all = append(all, one)
	}
	return slices.Clip(all), rows.Err()
}

// inTransaction runs work in one transaction. Citus sends a notice of each step, of which only
// warnings are useful.
func inTransaction(ctx context.Context, db *sql.DB, work func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // committed by then, or given up
	if err := work(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

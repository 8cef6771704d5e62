package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// openPostgresForMigrations opens sessions without any time-out but those in the URL. Building an
// index may take long, and an interrupted build leaves an index that cannot be used. A role or a
// database may have time-outs of its own, so each is set. Within transactions the wait for a lock
// is short: all other statements on the table queue behind it. Outside of them it has no limit, as
// for CREATE INDEX CONCURRENTLY, which locks nobody out.
//
// A pooler may be in front. There nothing can be set for a statement outside of a transaction:
// those that must run there allow no other statement beside them.
func openPostgresForMigrations(url string) (*sql.DB, error) {
	config, err := parsePostgresURL(url)
	if err != nil {
		return nil, err
	}
	setDefault(config, "application_name", "waybill-migrate")
	_, searches := config.RuntimeParams["search_path"]

	pooled := config.Copy()
	setDefault(pooled, "lock_timeout", milliseconds(defaultLockTimeout))
	for _, name := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout"} {
		setDefault(config, name, "0")
		setDefault(pooled, name, "0")
	}
	m := migrationConnector{}
	settings, err := perTransaction(pooled)
	switch {
	case err != nil:
		m.noPooler = err
		settings = "SET LOCAL lock_timeout = " + quoted(pooled.RuntimeParams["lock_timeout"])
	case searches:
		m.noPooler = errors.New("search_path in the database URL gets lost in a pooler between transactions: migrate by the address of Postgres" +
			" itself, or set it for the role, ALTER ROLE name SET search_path = ...")
	}
	begin := pgBegin + "; " + settings
	answers := answerLimit(config) // none, unless the URL says otherwise
	m.direct = pgConnector{hosts: newHosts(url, config, answers, mayWrite, nil), begin: begin, direct: true}
	m.pooled = pgConnector{hosts: newHosts(url, pooled, answers, mayWrite, nil), begin: begin}
	return sql.OpenDB(m), nil
}

// migrationConnector connects to Postgres itself, or through a pooler where one responds.
type migrationConnector struct {
	direct, pooled pgConnector
	noPooler       error // why no pooler is allowed; nil: one is
}

// noTransactionTimeout removes the transaction_timeout of Postgres 17 and newer.
const noTransactionTimeout = "SELECT set_config('transaction_timeout', '0', false) WHERE current_setting('transaction_timeout', true) <> '0'"

func (m migrationConnector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := m.direct.Connect(ctx)
	if errors.Is(err, ErrPooler) {
		if m.noPooler != nil {
			return nil, &refusal{why: ErrPooler, said: m.noPooler.Error(), err: err}
		}
		return m.pooled.Connect(ctx)
	}
	if err != nil {
		return nil, err
	}
	conn := made.(*pgConn) //nolint:forcetypeassert // ours
	if _, err := conn.pgx().Exec(ctx, noTransactionTimeout, pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, errors.Join(fmt.Errorf("set the time-outs of a migration: %w", err), conn.Close())
	}
	return conn, nil
}

// Driver returns that of pgx.
func (m migrationConnector) Driver() driver.Driver { return m.direct.Driver() }

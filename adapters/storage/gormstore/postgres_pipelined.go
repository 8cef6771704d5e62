package gormstore

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waybill/adapters/storage/gormstore/pgfast"
)

// pipelinedTx is a transaction that begins in the pipeline of its statements, where BEGIN
// costs no round trip. Before that it is one of database/sql alone.
type pipelinedTx struct {
	ctx  context.Context //nolint:containedctx // driver.Tx is not given one when it ends
	conn *pgx.Conn
}

// idleStatus is that of a connection without a transaction.
const idleStatus = 'I'

func (t pipelinedTx) begun() bool { return t.conn.PgConn().TxStatus() != idleStatus }

func (t pipelinedTx) Commit() error {
	if !t.begun() {
		return pgx.ErrTxClosed
	}
	done, err := t.conn.Exec(t.ctx, "commit")
	switch {
	case err != nil && t.begun():
		_ = t.conn.Close(t.ctx) // whatever state it is in
	case err == nil && done.String() == "ROLLBACK":
		return pgx.ErrTxCommitRollback
	}
	return err
}

func (t pipelinedTx) Rollback() error {
	if !t.begun() {
		return nil
	}
	_, err := t.conn.Exec(t.ctx, "rollback")
	if err != nil {
		_ = t.conn.Close(t.ctx)
	}
	return err
}

var _ driver.Tx = pipelinedTx{}

// beginning are the statements that a pipeline begins its transaction with. begun is called
// once Postgres has answered the first.
func (c *pgConn) beginning(begun func()) []pgfast.Step {
	steps := []pgfast.Step{{What: "begin", Statement: pgBegin, Read: func(rows *pgconn.ResultReader) ([]int, error) {
		begun()
		return pgfast.Discard(rows)
	}}}
	return append(steps, c.parameters(c.lockWait)...)
}

// parameters sets those of a transaction that is sent together.
func (c *pgConn) parameters(lockWait time.Duration) (steps []pgfast.Step) {
	if c.alone != "" {
		steps = append(steps, pgfast.Step{What: "set parameters", Statement: c.alone, Read: pgfast.Discard})
	}
	return append(steps, pgfast.Step{
		What: "set parameters", Statement: inPipelines, Read: pgfast.Discard, Values: []pgfast.Value{pgfast.Text.One(milliseconds(lockWait))},
	})
}

// inPipelines sets parameters for a transaction. A plan for the one ID that a statement
// looks for looks cheaper than a plan for any number, so that Postgres would make one for
// each booking.
const inPipelines = "SELECT set_config('lock_timeout', $1, true), set_config('plan_cache_mode', 'force_generic_plan', true)"

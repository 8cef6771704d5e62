package gormstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"waybill/ports"
)

// The reasons why a Postgres that responds cannot be used. Waiting helps only with ErrReadOnly,
// after a failover, and with ErrTooManyConnections.
var (
	ErrNoDatabase         = errors.New("the server has no such database")
	ErrTLS                = errors.New("the server and this address do not agree on TLS")
	ErrRefused            = errors.New("the server refuses the connection")
	ErrEncoding           = errors.New("the database does not store UTF-8")
	ErrReadOnly           = errors.New("the database may only be read")
	ErrTooManyConnections = errors.New("the database gives no more connections")
)

// refusal is the response of a server that cannot be used, once: the driver repeats it for each
// address and TLS mode that it tried.
type refusal struct {
	why    error
	said   string
	err    error
	passes bool // it may be over in a moment
}

func (r *refusal) Error() string { return r.why.Error() + ": " + r.said }

func (r *refusal) Unwrap() []error {
	all := []error{r.why, r.err}
	if r.passes {
		all = append(all, ports.ErrStorageGone)
	}
	return all
}

// refusalOf returns nil for a connection error without a response. It also returns nil where the
// server refuses only for now, for a reason that an operator cannot fix.
func refusalOf(err error) error {
	if known, ok := errors.AsType[*refusal](err); ok {
		return known
	}
	if errors.Is(err, pgconn.ErrReadOnlyConnection) {
		return &refusal{why: ErrReadOnly, said: "its sessions are read-only", err: err, passes: true}
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		why := ErrRefused
		switch {
		case pg.Code == pgTooManyConnections:
			return &refusal{why: ErrTooManyConnections, said: pg.Message, err: err, passes: true}
		case goneOnPostgres(err) && !lockedOut(err):
			return nil
		case pg.Code == pgUnknownDatabase:
			why = ErrNoDatabase
		case pg.Code == "28000" && (strings.Contains(pg.Message, "no encryption") || strings.Contains(pg.Message, "SSL encryption")):
			why = ErrTLS // pg_hba.conf wants it otherwise
		}
		return &refusal{why: why, said: pg.Message, err: err}
	}
	if _, network := errors.AsType[*net.OpError](err); network {
		return nil // one of several servers, perhaps
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &refusal{why: ErrTLS, said: bad.Error(), err: err}
	}
	const noTLS = "server refused TLS connection" // pgx has no name for it
	if err != nil && strings.Contains(err.Error(), noTLS) {
		return &refusal{why: ErrTLS, said: noTLS, err: err}
	}
	return nil
}

// mayWrite refuses a server whose sessions are read-only, and says why they are.
func mayWrite(ctx context.Context, c *pgconn.PgConn) error {
	answer := c.ExecParams(ctx, "SELECT current_setting('transaction_read_only'), pg_is_in_recovery(), current_user", nil, nil, nil, nil).Read()
	switch {
	case answer.Err != nil:
		return answer.Err
	case string(answer.Rows[0][0]) != "on":
		return nil
	}
	said := fmt.Sprintf("default_transaction_read_only is on for the role %s, its database or the server", answer.Rows[0][2])
	if string(answer.Rows[0][1]) == "t" {
		said = "the server is a standby"
	}
	return &refusal{why: ErrReadOnly, said: said, err: pgconn.ErrReadOnlyConnection, passes: true}
}

// storesUTF8 refuses a database that was made with another encoding. It would refuse characters, or
// take bytes for them.
func storesUTF8(c *pgconn.PgConn) error {
	const utf8 = "UTF8"
	if encoding := c.ParameterStatus("server_encoding"); encoding != "" && encoding != utf8 {
		return &refusal{why: ErrEncoding, said: "it was made with the encoding " + encoding, err: errors.New("the encoding of the server")}
	}
	return nil
}

// HintOf returns what Postgres suggests to do about an error, or an empty text.
func HintOf(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Hint
	}
	return ""
}

// LacksPrivilege reports that the role may not run a statement.
func LacksPrivilege(err error) bool { return isPg(err, pgNoPrivilege) }

// TimedOut reports that a time-out of the session has ended a statement.
func TimedOut(err error) bool { return isPg(err, pgQueryCanceled, pgLockNotAvailable) }

package gormstore

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Reasons why a Postgres that answers refuses connections. Waiting mends none of
// them.
var (
	ErrNoDatabase = errors.New("the server has no such database")
	ErrTLS        = errors.New("the server and this address do not agree on TLS")
	ErrRefused    = errors.New("the server refuses the connection")
)

// refusal is the answer of a server that refuses connections, once: the driver
// repeats it for each address and TLS mode it tried.
type refusal struct {
	why  error
	said string
	err  error
}

func (r *refusal) Error() string   { return r.why.Error() + ": " + r.said }
func (r *refusal) Unwrap() []error { return []error{r.why, r.err} }

// refusalOf is nil for the error of a connection without an answer, or with one
// that refuses it for now only.
func refusalOf(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		why := ErrRefused
		switch {
		case goneOnPostgres(err) && !lockedOut(err):
			return nil
		case pg.Code == pgUnknownDatabase:
			why = ErrNoDatabase
		case pg.Code == "28000" && (strings.Contains(pg.Message, "no encryption") || strings.Contains(pg.Message, "SSL encryption")):
			why = ErrTLS // pg_hba.conf wants it otherwise
		}
		return &refusal{why, pg.Message, err}
	}
	if _, network := errors.AsType[*net.OpError](err); network {
		return nil // one of several servers, perhaps
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &refusal{ErrTLS, bad.Error(), err}
	}
	const noTLS = "server refused TLS connection" // pgx has no name for it
	if err != nil && strings.Contains(err.Error(), noTLS) {
		return &refusal{ErrTLS, noTLS, err}
	}
	return nil
}

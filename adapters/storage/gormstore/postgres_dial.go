package gormstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// A network can fail silently: packets vanish, the sockets stay open, and TCP alone would wait for
// minutes. So each wait on a connection to Postgres has a limit of its own, whatever its context. A
// connection that did not respond is closed, with all that were silent for as long.

const (
	// pgConnectTimeout limits the time to connect to one host, unless connect_timeout in the URL
	// does. database/sql dials for its waiting callers one after the other. Until this ends, none
	// of them is served.
	pgConnectTimeout = 3 * time.Second
	// pgAnswerGrace is added to the statement_timeout for the wait for a response.
	pgAnswerGrace = 2 * time.Second
	// pgUnacknowledged limits how long sent packets stay unacknowledged, or keep-alive probes
	// unanswered, before the kernel drops a connection. Only this ends a migration, whose
	// statements have no time limit.
	pgUnacknowledged = 8 * time.Second
	// A connection that was not used for pgQuiet must respond to a ping within pgPingTimeout before
	// it is used again. An idle process uses one each second, without a ping.
	pgQuiet       = 1250 * time.Millisecond
	pgPingTimeout = time.Second
)

var pgKeepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: time.Second, Count: 3}

// errSilent ends the wait for a response. pgx does not take it for a time-out, after which it would
// keep the connection.
var errSilent = fmt.Errorf("the database did not answer in time: %w", net.ErrClosed)

// pgHosts holds the hosts of a URL, and what the connections of a pool know of each other.
type pgHosts struct {
	hosts   []driver.Connector // pgx's own, one for each
	timeout time.Duration
	// last is the host of the last connection. It is tried first: a host that has failed silently
	// would cost each new connection its time-out.
	last atomic.Int64

	// Times since the process began. A connection that last heard from its server before lostAt
	// counts as dead. One that was made before turnedAt may be to a read-only server.
	lostAt, turnedAt atomic.Int64
	// begunAt is when the last transaction began.
	begunAt atomic.Int64

	// open counts the connections of the pool. refused is why the last one that it asked for was
	// not made; nil: it was made.
	open    atomic.Int64
	refused atomic.Pointer[error]
}

// newHosts sets how connections to the hosts of a configuration are made, and how long they wait
// for a response; 0: no limit. validate chooses the servers, unless the address does. current is as
// CurrentURL of Options.
func newHosts(address string, config *pgx.ConnConfig, answers time.Duration, validate pgconn.ValidateConnectFunc, current func() string) *pgHosts {
	h := &pgHosts{timeout: cmp.Or(config.ConnectTimeout, pgConnectTimeout)}
	config.ConnectTimeout = h.timeout
	config.DialFunc = pgDialer(h.timeout, answers)
	if !namesSessions(address) {
		config.ValidateConnect = validate
	}
	closes := config.OnPgError
	config.OnPgError = func(c *pgconn.PgConn, e *pgconn.PgError) bool {
		if e.Code == pgReadOnly {
			h.turnedAt.Store(sinceStart())
			return false
		}
		return closes(c, e)
	}
	for _, one := range eachHost(config) {
		h.hosts = append(h.hosts, stdlib.GetConnector(*one, stdlib.OptionBeforeConnect(func(_ context.Context, c *pgx.ConnConfig) error {
			if current == nil {
				return nil
			}
			if now, err := pgx.ParseConfig(current()); err == nil { // else the previous ones
				c.User, c.Password = now.User, now.Password
			}
			return nil
		})))
	}
	return h
}

// connect makes a connection, or records why it could not.
func (h *pgHosts) connect(ctx context.Context) (*stdlib.Conn, error) {
	made, err := h.connectToAny(ctx)
	switch {
	case err == nil:
		h.refused.Store(nil)
	case ctx.Err() == nil: // else the caller did not wait for it
		h.refused.Store(&err)
	}
	return made, err
}

// connectToAny tries the hosts, starting with the last good one.
func (h *pgHosts) connectToAny(ctx context.Context) (*stdlib.Conn, error) {
	var failed []error
	first := int(h.last.Load())
	for i := range h.hosts {
		n := (first + i) % len(h.hosts)
		made, err := h.connectTo(ctx, n)
		if err == nil {
			h.last.Store(int64(n))
			return made, nil
		}
		if failed = append(failed, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failed...)
}

// connectTo also limits the look-up of a name. A name may have several addresses.
func (h *pgHosts) connectTo(ctx context.Context, n int) (*stdlib.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*h.timeout)
	defer cancel()
	made, err := h.hosts[n].Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn := made.(*stdlib.Conn) //nolint:forcetypeassert // of stdlib's connector
	if err := storesUTF8(conn.Conn().PgConn()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// eachHost returns a configuration for each host of one. A host has several entries where TLS is
// tried first but not required.
func eachHost(config *pgx.ConnConfig) []*pgx.ConnConfig {
	entries := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	var each []*pgx.ConnConfig
	for len(entries) > 0 {
		first := entries[0]
		n := slices.IndexFunc(entries, func(e *pgconn.FallbackConfig) bool { return e.Host != first.Host || e.Port != first.Port })
		if n < 0 {
			n = len(entries)
		}
		one := config.Copy()
		one.Host, one.Port, one.TLSConfig, one.Fallbacks = first.Host, first.Port, first.TLSConfig, entries[1:n]
		each, entries = append(each, one), entries[n:]
	}
	return each
}

// namesSessions reports whether the URL, or the environment, says what kind of server is wanted.
func namesSessions(address string) bool {
	_, query, _ := strings.Cut(address, "?") // several hosts are no URL to net/url
	return strings.Contains("&"+query, "&target_session_attrs=") || os.Getenv("PGTARGETSESSIONATTRS") != ""
}

// endDeadSessions makes Postgres detect that this process is gone. After a partition it would
// otherwise keep the dead sessions, of a scarce number, for two hours. Behind a pooler the pooler
// does that.
func endDeadSessions(config *pgx.ConnConfig) {
	setDefault(config, "tcp_keepalives_idle", "10")
	setDefault(config, "tcp_keepalives_interval", "5")
	setDefault(config, "tcp_keepalives_count", "3")
	setDefault(config, "tcp_user_timeout", "15s")
	setDefault(config, "client_connection_check_interval", "5s")
}

// answerLimit returns how long to wait for a response, by the statement_timeout of the session; 0:
// no limit.
func answerLimit(config *pgx.ConnConfig) time.Duration {
	statementTimeout := config.RuntimeParams["statement_timeout"]
	number := strings.TrimRight(statementTimeout, "abcdefghijklmnopqrstuvwxyz ")
	units := map[string]time.Duration{"": time.Millisecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
		"min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	n, err := strconv.ParseFloat(number, 64)
	unit, known := units[strings.TrimSpace(statementTimeout[len(number):])]
	if err != nil || !known || n <= 0 {
		return 0
	}
	return time.Duration(n*float64(unit)) + pgAnswerGrace
}

// pgDialer makes connections that end by themselves: in the kernel, when nothing acknowledges what
// was sent, and in Read, when nothing comes within the limit.
func pgDialer(timeout, limit time.Duration) pgconn.DialFunc {
	d := &net.Dialer{Timeout: timeout, KeepAliveConfig: pgKeepAlive, Control: func(network, _ string, c syscall.RawConn) error {
		if strings.HasPrefix(network, "unix") {
			return nil
		}
		return limitUnacknowledged(c, pgUnacknowledged)
	}}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		made, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newLimitedConn(made, limit), nil
	}
}

// started is the time from which sinceStart counts.
var started = time.Now()

func sinceStart() int64 { return int64(time.Since(started)) }

// limitedConn is a connection with a limit for each wait, and with the time of the last response.
type limitedConn struct {
	net.Conn
	limit         time.Duration // of a Read or a Write; 0: none
	reads, writes *time.Timer
	silent        atomic.Bool
	lastHeard     atomic.Int64 // since the process began
}

func newLimitedConn(c net.Conn, limit time.Duration) *limitedConn {
	h := &limitedConn{Conn: c, limit: limit}
	h.lastHeard.Store(sinceStart())
	if limit > 0 {
		h.reads, h.writes = time.AfterFunc(limit, h.giveUp), time.AfterFunc(limit, h.giveUp)
		h.reads.Stop()
		h.writes.Stop()
	}
	return h
}

// giveUp ends the waits on the connection.
func (h *limitedConn) giveUp() {
	h.silent.Store(true)
	_ = h.Conn.Close() // it is dead already
}

// Close returns no error for a connection that was given up. Its Read may have got a response in
// that moment, so that no caller noticed.
func (h *limitedConn) Close() error {
	err := h.Conn.Close()
	if h.silent.Load() {
		return nil
	}
	return err
}

func (h *limitedConn) Read(p []byte) (int, error) {
	if h.limit > 0 {
		h.reads.Reset(h.limit)
		defer h.reads.Stop()
	}
	n, err := h.Conn.Read(p)
	if n > 0 {
		h.lastHeard.Store(sinceStart())
	}
	return n, h.silenced(err)
}

func (h *limitedConn) Write(p []byte) (int, error) {
	if h.limit > 0 {
		h.writes.Reset(h.limit)
		defer h.writes.Stop()
	}
	n, err := h.Conn.Write(p)
	return n, h.silenced(err)
}

func (h *limitedConn) silenced(err error) error {
	if err != nil && h.silent.Load() {
		return errSilent
	}
	return err
}

// limitedConnOf returns the network connection below one of pgx.
func limitedConnOf(c net.Conn) *limitedConn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	h, _ := c.(*limitedConn)
	return h
}

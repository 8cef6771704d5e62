package gormstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/storage/gormstore"
	"waybill/ports"
	"waybill/test/sample"
)

// newRole makes a role that may have so many connections, and returns the address by
// which it comes to the database, and a statement runner of an operator.
func newRole(t *testing.T, direct string, connections int) (address string, operator func(statement string)) {
	t.Helper()
	conn := connect(t, direct)
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	role := "limited_in_" + strings.TrimPrefix(u.Path, "/")
	do(t, conn, `CREATE ROLE "`+role+`" LOGIN CONNECTION LIMIT `+strconv.Itoa(connections))
	do(t, conn, `GRANT ALL ON ALL TABLES IN SCHEMA public TO "`+role+`"`)
	do(t, conn, `GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO "`+role+`"`)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), direct)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close(context.Background()) }() // done with
		for _, what := range []string{"OWNED BY", "ROLE"} {
			if _, err := conn.Exec(context.Background(), "DROP "+what+` "`+role+`"`); err != nil {
				t.Error(err)
			}
		}
	})
	u.User = url.User(role)
	return u.String(), func(statement string) {
		do(t, connect(t, direct), strings.ReplaceAll(statement, "ROLE", `ROLE "`+role+`"`))
	}
}

func TestAPoolThatGetsNoMoreConnectionsTellsHowManyItHas(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	address, operator := newRole(t, direct, 3)
	s := openWith(t, address, gormstore.Options{PoolSize: 5})
	if err := s.Connections(t.Context()); err != nil {
		t.Errorf("a pool that was refused nothing: %v", err)
	}
	// nested has so many transactions open at a time.
	var nested func(n int) error
	nested = func(n int) error {
		return s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			if err := tx.Tenancy.InsertBusiness(ctx, sample.Business()); err != nil || n == 1 {
				return err
			}
			return nested(n - 1)
		})
	}
	if err := nested(4); !ports.StorageUnavailable(err) || sqlState(err) != "53300" {
		t.Errorf("more transactions than connections: %v, want 53300, and that the database is not available", err)
	}
	err := s.Connections(t.Context())
	if err == nil || errors.Is(err, ports.ErrStorageGone) || !strings.Contains(err.Error(), "all has 3 connections") ||
		sqlState(err) != "53300" {
		t.Errorf("a pool that has three and gets no more: %v", err)
	}
	if err := change(t.Context(), s); err != nil {
		t.Errorf("a transaction on what is left: %v", err)
	}

	operator("ALTER ROLE CONNECTION LIMIT 0")
	endSessions(t, direct)
	if err := change(t.Context(), s); !ports.StorageUnavailable(err) {
		t.Errorf("a transaction without connections: %v", err)
	}
	if err := s.Connections(t.Context()); !errors.Is(err, ports.ErrStorageGone) || !strings.Contains(err.Error(), "gets none") {
		t.Errorf("a pool that has none and gets none: %v", err)
	}
	operator("ALTER ROLE CONNECTION LIMIT 20")
	if err := s.Connections(t.Context()); err != nil {
		t.Errorf("with connections again, and before a request asked for one: %v", err)
	}
	if err := nested(4); err != nil {
		t.Errorf("with connections again: %v", err)
	}
}

// rewriting passes on what a server says with some bytes exchanged for as many others.
func rewriting(t *testing.T, address, old, new string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", u.Host)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() {
				defer client.Close()
				for buffer := make([]byte, 64<<10); ; {
					n, err := server.Read(buffer)
					if _, failed := client.Write(bytes.ReplaceAll(buffer[:n], []byte(old), []byte(new))); err != nil || failed != nil {
						return
					}
				}
			}()
		}
	}()
	return withHost(t, address, l.Addr().String())
}

// A Postgres before 17 knows no transaction_timeout: there another end of a session is
// told as that.
func TestATransactionThatTookTooLongForPostgresIsUnavailableAndTheNextOneGoesOn(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	address, o := rewriting(t, direct, "C25P03\x00", "C25P04\x00"),
		gormstore.Options{PoolSize: 2, IdleInTransactionTimeout: 100 * time.Millisecond}
	var version int
	if err := connect(t, direct).QueryRow(t.Context(), "SELECT current_setting('server_version_num')::integer").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if version >= 170000 {
		address, o = direct+separator(direct)+"transaction_timeout=100", gormstore.Options{PoolSize: 2}
	}
	s := openWith(t, address, o)
	err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Tenancy.InsertBusiness(ctx, sample.Business()); err != nil {
			return err
		}
		sessionsGone(t, direct)
		return tx.Tenancy.InsertBusiness(ctx, sample.Business())
	})
	if sqlState(err) != "25P04" || !ports.StorageUnavailable(err) {
		t.Errorf("%v, want 25P04, and that the database is not available", err)
	}
	await(t, func() bool { return change(t.Context(), s) == nil }) // a loaded machine may need longer than the time-out
}

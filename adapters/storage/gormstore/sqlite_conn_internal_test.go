package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// sqliteConnection is a connection to a database of its own.
func sqliteConnection(t *testing.T) *sql.Conn {
	t.Helper()
	db, err := sqlitePool(sqliteDSN(filepath.Join(t.TempDir(), "db")), "BEGIN IMMEDIATE", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestAStatementIsKeptAndNotGivenOutWhileItIsReadFrom(t *testing.T) {
	t.Parallel()
	conn := sqliteConnection(t)
	exec := func(statement string) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE numbers (n INTEGER)")
	exec("INSERT INTO numbers VALUES (1), (2), (3)")
	const query = "SELECT * FROM numbers ORDER BY n"
	open := func() *sql.Rows {
		t.Helper()
		rows, err := conn.QueryContext(t.Context(), query) //nolint:rowserrcheck // rest checks it
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rest := func(rows *sql.Rows) (all []int) {
		t.Helper()
		defer rows.Close()
		for rows.Next() {
			var n int
			if err := rows.Scan(&n); err != nil {
				t.Fatal(err)
			}
			all = append(all, n)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return all
	}

	one := open() //nolint:rowserrcheck // rest checks it
	one.Next()
	if got := rest(open()); !slices.Equal(got, []int{1, 2, 3}) { //nolint:rowserrcheck // rest checks it
		t.Errorf("the same statement while another reads from it: %v, want 1, 2 and 3", got)
	}
	for i := range 2 * statementsKept {
		exec(fmt.Sprintf("DELETE FROM numbers WHERE n = %d", 100+i))
	}
	if got := rest(one); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("the rest of a statement that was dropped meanwhile: %v, want 2 and 3", got)
	}

	_ = rest(open()) //nolint:rowserrcheck // rest checks it
	exec("ALTER TABLE numbers ADD COLUMN other INTEGER")
	exec("ALTER TABLE numbers DROP COLUMN other")
	if got := rest(open()); !slices.Equal(got, []int{1, 2, 3}) { //nolint:rowserrcheck // rest checks it
		t.Errorf("a statement that was kept while its table changed: %v, want 1, 2 and 3", got)
	}
	_ = conn.Raw(func(driven any) error {
		c := driven.(*sqliteConn) //nolint:forcetypeassert // of this pool
		kept, _ := c.kept.Get(query)
		again, err := c.take(t.Context(), query)
		if err != nil || again != kept {
			t.Errorf("a statement was prepared anew: %v", err)
		}
		again.release()
		if n := c.kept.Len(); n != statementsKept {
			t.Errorf("%d statements are kept, want %d", n, statementsKept)
		}
		return nil
	})
}

func TestAStatementThatFailsTellsSoAndIsKept(t *testing.T) {
	t.Parallel()
	conn := sqliteConnection(t)
	const query = "SELECT abs(n) FROM numbers ORDER BY rowid" // too large where n is the smallest number
	for _, step := range []struct {
		change string
		want   []int64
		fails  bool
	}{
		{"CREATE TABLE numbers (n INTEGER)", nil, false},
		{"INSERT INTO numbers VALUES (-1), (-9223372036854775808)", []int64{1}, true},
		{"DELETE FROM numbers WHERE n = -1", nil, true},
		{"UPDATE numbers SET n = -2", []int64{2}, false},
	} {
		if _, err := conn.ExecContext(t.Context(), step.change); err != nil {
			t.Fatal(err)
		}
		got, err := numbers(t.Context(), conn, query)
		if !slices.Equal(got, step.want) || (err != nil) != step.fails {
			t.Errorf("after %s: %v (%v), want %v, and a failure: %t", step.change, got, err, step.want, step.fails)
		}
		_ = conn.Raw(func(driven any) error {
			c := driven.(*sqliteConn) //nolint:forcetypeassert // of this pool
			if kept, known := c.kept.Get(query); !known || kept.busy {
				t.Errorf("after %s: the statement is not kept, or in use: %+v", step.change, kept)
			}
			return nil
		})
	}
}

// numbers are those that a query has told when it ended or failed.
func numbers(ctx context.Context, conn *sql.Conn, query string) (all []int64, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return all, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}

// A transaction that begins at the moment at which its caller gives up must not stay open: nothing
// could be written any more by the one connection that writes. The driver reports the end of the
// context then, although BEGIN was run.
func TestATransactionThatIsGivenUpAsItBeginsDoesNotStayOpen(t *testing.T) {
	t.Parallel()
	err := sqliteConnection(t).Raw(func(driverConn any) error {
		c := driverConn.(*sqliteConn) //nolint:forcetypeassert // as the connector makes it
		c.sqliteDriverConn = givenUp{c.sqliteDriverConn}
		if _, err := c.BeginTx(t.Context(), driver.TxOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("begin: %v", err)
		}
		c.kept.Purge()
		c.sqliteDriverConn = c.sqliteDriverConn.(givenUp).sqliteDriverConn //nolint:forcetypeassert // see above
		tx, err := c.BeginTx(t.Context(), driver.TxOptions{})
		if err != nil {
			return err
		}
		return tx.Rollback()
	})
	if err != nil {
		t.Errorf("the next transaction: %v", err)
	}
}

// givenUp runs BEGIN and reports that its context was cancelled.
type givenUp struct{ sqliteDriverConn }

func (c givenUp) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.sqliteDriverConn.PrepareContext(ctx, query)
	if err != nil || query != "BEGIN IMMEDIATE" {
		return s, err
	}
	return givenUpStatement{s.(sqliteStatement)}, nil //nolint:forcetypeassert // the driver's
}

type givenUpStatement struct{ sqliteStatement }

func (s givenUpStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if _, err := s.sqliteStatement.ExecContext(ctx, args); err != nil {
		return nil, err
	}
	return nil, context.Canceled
}

package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/domain"
)

// filling is so many deliveries of one customer, spread over a year that ends now. Of all
// tables only those are filled that are read here.
type filling struct {
	rows  int
	begun time.Time // when the first was made
}

const year = 365 * 24 * time.Hour

func yearOf(rows int) filling { return filling{rows: rows, begun: time.Now().Add(-year)} }

// open is how many deliveries are under way: those of about twelve hours.
func (f filling) open() int { return f.rows / 700 }

// scattered gives each number another one, far from those of its neighbours.
func scattered(n int) uint64 {
	return uint64(n) * 0x9e3779b97f4a7c15 //nolint:gosec // it overflows on purpose, and is odd: no two are equal
}

//go:embed large.sql
var keptSQL string

// keptTables are those that it fills, but for the request log.
var keptTables = []string{"delivery_events", "feed_events", "idempotency_keys", "webhook_deliveries", "webhook_attempts"}

// Kinds of records, which their IDs are made of.
const (
	deliveryKind = iota + 1
	recipientKind
	addressKind
)

// recipients are fewer than deliveries.
func (f filling) recipients() int { return max(1, f.rows/10) }

// moment is when a record was made.
func (f filling) moment(n int) time.Time {
	return f.begun.Add(time.Duration(n) * (year / time.Duration(f.rows)))
}

// id is a UUIDv7 of when the record was made, as a hexadecimal number.
func (f filling) id(kind, n int) string {
	return fmt.Sprintf("%012x7000%04x%012x", f.moment(n).UnixMilli(), 0x8000+kind, n)
}

func (f filling) at(n int) string { return f.moment(n).UTC().Format("2006-01-02 15:04:05.000Z07:00") }

// varied are those columns of a record that differ from record to record.
type varied map[string]func(n int) string

// yearBytes is what a delivery of a year needs on disk at most, with all that is kept of it.
const yearBytes = 4000

// disk is the directory of a Postgres on this machine, and the bytes that its disk has free;
// known is false where it is on another machine.
func (b *bench) disk(ctx context.Context) (dir string, free int, known bool) {
	var disk syscall.Statfs_t
	if b.master == 0 || b.admin.QueryRow(ctx, "SHOW data_directory").Scan(&dir) != nil || syscall.Statfs(dir, &disk) != nil {
		return "", 0, false
	}
	return dir, int(disk.Bavail) * int(disk.Bsize), true //nolint:gosec // no disk is that large
}

// fill copies what was booked once until there are as many as there shall be. It
// takes indexes and keys away meanwhile.
func (f filling) fill(ctx context.Context, db *pgx.Conn) error {
	recipient := func(n int) string { return f.id(recipientKind, n%f.recipients()) }
	address := func(n int) string { return f.id(addressKind, n%f.recipients()) }
	phone := func(n int) string { return fmt.Sprintf("+23327%07d", n%f.recipients()) }
	// late is text of the deliveries that are under way, and other text of those before.
	late := func(open, over string) func(int) string {
		return func(n int) string {
			if n >= f.rows-f.open() {
				return open
			}
			return over
		}
	}
	tables := []struct {
		name string
		rows int
		varied
	}{
		{"recipients", f.recipients(), varied{"id": recipient, "phone_number": phone, "created_at": f.at, "updated_at": f.at}},
		{"recipient_addresses", f.recipients(), varied{"id": address, "recipient_id": recipient, "created_at": f.at}},
		{"deliveries", f.rows, varied{
			"id":           func(n int) string { return f.id(deliveryKind, n) },
			"reference":    func(n int) string { return string(domain.MakeReference(scattered(n))) },
			"external_id":  func(n int) string { return "filled-" + strconv.Itoa(n) },
			"recipient_id": recipient, "recipient_phone": phone, "dropoff_id": address, "created_at": f.at, "updated_at": f.at,
			"status":        late(string(domain.Booked), string(domain.Delivered)),
			"last_sequence": late("1", "5"),
		}},
	}
	names := slices.Clone(keptTables)
	for _, t := range tables {
		names = append(names, t.name)
	}
	rebuild, err := strip(ctx, db, names)
	if err != nil {
		return fmt.Errorf("take indexes away: %w", err)
	}
	for _, t := range tables {
		if err := multiply(ctx, db, t.name, t.rows, t.varied); err != nil {
			return fmt.Errorf("fill %s: %w", t.name, err)
		}
	}
	if _, err := db.PgConn().Exec(ctx, keptSQL).ReadAll(); err != nil {
		return fmt.Errorf("fill what is kept besides: %w", err)
	}
	rest := append(rebuild,
		// So that readers take the positions for settled.
		"VACUUM ANALYZE", "CHECKPOINT")
	for _, statement := range rest {
		if _, err := db.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// strip drops the indexes and unique keys of tables and all foreign keys, and
// tells the statements that make them again.
func strip(ctx context.Context, db *pgx.Conn, tables []string) (rebuild []string, err error) {
	rows, err := db.Query(ctx, `SELECT * FROM (
		SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
			format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)),
			CASE contype WHEN 'f' THEN 1 ELSE 2 END AS turn
		FROM pg_constraint
		WHERE connamespace = 'public'::regnamespace AND (contype = 'f' OR contype IN ('p', 'u') AND conrelid = ANY ($1::text[]::regclass[]))
		UNION ALL
		SELECT format('DROP INDEX %I', indexname), indexdef, 3
		FROM pg_indexes
		WHERE schemaname = 'public' AND tablename = ANY ($1::text[])
			AND indexname NOT IN (SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace)
	) AS all_of_them ORDER BY turn, 1`, tables)
	if err != nil {
		return nil, err
	}
	var drop []string
	var dropped, made string
	var turn, keys int
	if _, err := pgx.ForEachRow(rows, []any{&dropped, &made, &turn}, func() error {
		drop, rebuild = append(drop, dropped), append(rebuild, made)
		if turn == 1 {
			keys++
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for _, statement := range append(drop, "SET maintenance_work_mem = '256MB'") {
		if _, err := db.Exec(ctx, statement); err != nil {
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
	}
	// Foreign keys need the others.
	return slices.Concat(rebuild[keys:], rebuild[:keys]), nil
}

// multiply copies the one row of a table, as text, with other values.
func multiply(ctx context.Context, db *pgx.Conn, table string, rows int, vary varied) error {
	var columns []string
	err := db.QueryRow(ctx, "SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = $1::text::regclass AND "+
		"attnum > 0 AND NOT attisdropped", table).
		Scan(&columns)
	if err != nil {
		return err
	}
	names := strings.Join(columns, ", ")
	var line bytes.Buffer
	if _, err := db.PgConn().CopyTo(ctx, &line, "COPY (SELECT "+names+" FROM "+table+" LIMIT 1) TO STDOUT"); err != nil {
		return err
	}
	fields := strings.Split(strings.TrimSuffix(line.String(), "\n"), "\t")
	if len(fields) != len(columns) {
		return fmt.Errorf("its row has %d fields for %d columns", len(fields), len(columns))
	}
	made := make([]func(int) string, len(columns))
	for i, name := range columns {
		made[i] = vary[name]
	}
	for name := range vary {
		if !slices.Contains(columns, name) {
			return fmt.Errorf("it has no column %s", name)
		}
	}
	in, out := io.Pipe()
	go func() {
		w := bufio.NewWriterSize(out, 1<<16)
		var err error
		for n := 0; n < rows && err == nil; n++ {
			for i, field := range fields {
				if i > 0 {
					_ = w.WriteByte('\t') // an error stays and is told by the next
				}
				if made[i] != nil {
					field = made[i](n)
				}
				_, err = w.WriteString(field)
			}
			_ = w.WriteByte('\n')
		}
		out.CloseWithError(errors.Join(err, w.Flush()))
	}()
	tag, err := db.PgConn().CopyFrom(ctx, in, "COPY "+table+" ("+names+") FROM STDIN")
	_ = in.Close() // so that the writer ends, too
	if err == nil && tag.RowsAffected() != int64(rows) {
		err = fmt.Errorf("%d rows were copied, not %d", tag.RowsAffected(), rows)
	}
	return err
}

package faults

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// programOf builds an earlier version of the program, and keeps it. Where the history of the
// source has not got that far back, as in a shallow clone, the test is left out.
func programOf(t *testing.T, commit string) string {
	t.Helper()
	const root = "../.."
	kept, err := filepath.Abs(filepath.Join(root, ".bin", "waybill-"+commit[:12]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err == nil {
		return kept
	}
	git := []string{"-C", root, "-c", "safe.directory=*"} // in CI another user may own the checkout
	if out, err := exec.Command("git", append(git, "cat-file", "-e", commit)...).CombinedOutput(); err != nil {
		t.Skipf("the version before is not in the history here: %s", out)
	}
	packed, err := exec.Command("git", append(git, "archive", commit)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpack(t, packed, dir)
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil { //nolint:gosec // as make does
		t.Fatal(err)
	}
	built := fmt.Sprintf("%s.%d", kept, os.Getpid())
	if out, err := exec.Command("go", "build", "-C", dir, "-o", built, "waybill/cmd/waybill").CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", commit, err, out)
	}
	if err := os.Rename(built, kept); err != nil {
		t.Fatal(err)
	}
	return kept
}

func unpack(t *testing.T, packed []byte, dir string) {
	t.Helper()
	for files := tar.NewReader(bytes.NewReader(packed)); ; {
		header, err := files.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name)) //nolint:gosec // of this repository
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755) //nolint:gosec // removed with the test
		case tar.TypeReg:
			var text []byte
			if text, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(path, text, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// multiple is so many rows of a table: copies of one that is there, but for some columns,
// which are expressions of i, from 1 on.
type multiple struct {
	table, like string
	rows        int
	columns     map[string]string
}

// fill has the tables hold what a year leaves: five events of each delivery, and of a month
// the feed and the webhooks.
func (u *upgrade) fill(t *testing.T, rows int) {
	t.Helper()
	begun := time.Now()
	key, body := order(newClerk(0, 0), nil)
	if r, err := u.owner.insist(t.Context(), "POST", singlePath, key, body); err != nil || r.status != 201 {
		t.Fatalf("the delivery to be copied: %s (%v)", r, err)
	}
	u.walk(t.Context(), u.apps[0], newClerk(0, 0), "assigned")
	u.drain(t, time.Minute)
	const days, month, year = 24 * 60 * 60 * 1000, 29 * 24 * 60 * 60 * 1000, 365 * 24 * 60 * 60 * 1000
	deliveries, recent := rows/5, rows/10
	// An ID is made of a moment in milliseconds, the kind and the number.
	now := time.Now().UnixMilli()
	at := func(i string, of, span int) string {
		return fmt.Sprintf("(%d + %s * %d / %d)", now-int64(span), i, span, of)
	}
	id := func(kind int, i string, of, span int) string {
		return fmt.Sprintf("CAST(lpad(to_hex(%s), 12, '0') || '700080%02d' || lpad(to_hex(%s), 12, '0') AS uuid)", at(i, of, span), kind, i)
	}
	var position int64
	if err := u.db.QueryRowContext(t.Context(), "SELECT setval('feed_positions', nextval('feed_positions') + $1)", recent+1).
		Scan(&position); err != nil {
		t.Fatal(err)
	}
	owner := "application_id = '" + hexOf(u.owner.customer.AppID) + "'"
	const sequence = "((i - 1) % 5 + 1)"
	of := func(states string) string { return "('{" + states + "}'::text[])[" + sequence + "]" }
	for _, m := range []multiple{
		{"deliveries", owner, deliveries, map[string]string{"id": id(1, "i", deliveries, year), "reference": "'F' || i",
			"external_id": "'filled-' || i", "created_at": "to_timestamp(" + at("i", deliveries, year) + " / 1000.0)",
			"status": "'delivered'", "last_sequence": "5"}},
		{"delivery_events", "delivery_id IN (SELECT id FROM deliveries WHERE " + owner + ")", rows, map[string]string{
			"id": id(2, "i", rows, year), "delivery_id": id(1, "((i - 1) / 5 + 1)", deliveries, year), "sequence": sequence,
			"type":   of("delivery.created,delivery.assigned,delivery.picked_up,delivery.in_transit,delivery.delivered"),
			"status": of("booked,assigned,picked_up,in_transit,delivered"), "previous_status": of(`"",booked,assigned,picked_up,in_transit`),
			"occurred_at": "to_timestamp(" + at("i", rows, year) + " / 1000.0)"}},
		{"feed_events", owner, recent, map[string]string{"id": id(3, "i", recent, month),
			"position": fmt.Sprintf("%d + i", position-int64(recent)-1)}},
		{"idempotency_keys", owner, recent / 10, map[string]string{"key": "'filled-' || i", "claim_id": id(4, "i", recent/10, days)}},
		{"webhook_deliveries", "status = 'succeeded'", recent, map[string]string{"id": id(5, "i", recent, month)}},
		{"webhook_attempts", "true", recent, map[string]string{"id": id(6, "i", recent, month),
			"webhook_delivery_id": id(5, "i", recent, month)}},
	} {
		u.multiply(t, m)
	}
	for _, statement := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := u.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.db.QueryRowContext(t.Context(), "SELECT string_agg(replace(id::text, '-', ''), ',') FROM (SELECT id FROM deliveries"+
		" WHERE "+owner+" ORDER BY md5(id::text) LIMIT 1000) AS a_thousand").Scan((*list)(&u.some)); err != nil {
		t.Fatal(err)
	}
	t.Logf("filled in %s: %s", time.Since(begun).Round(time.Second), u.sizes(t))
}

// list is a text with commas.
type list []string

func (l *list) Scan(src any) error {
	*l = strings.Split(fmt.Sprint(src), ",")
	return nil
}

// multiply fills a table, without its triggers, and its indexes afterwards.
func (u *upgrade) multiply(t *testing.T, m multiple) {
	t.Helper()
	rows, err := u.db.QueryContext(t.Context(), "SELECT attname FROM pg_attribute"+
		" WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped", m.table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var columns, values []string
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			t.Fatal(err)
		}
		columns, values = append(columns, column), append(values, cmp.Or(m.columns[column], "r."+column))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"SET session_replication_role = replica; SET maintenance_work_mem = '256MB';" +
			" UPDATE pg_index SET indisready = false WHERE indrelid = '" + m.table + "'::regclass",
		fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM (SELECT * FROM %s WHERE %s LIMIT 1) AS r, generate_series(1, %d::bigint) AS i",
			m.table, strings.Join(columns, ", "), strings.Join(values, ", "), m.table, m.like, m.rows),
		"REINDEX TABLE " + m.table,
		"SET session_replication_role = origin",
	} {
		if _, err := u.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

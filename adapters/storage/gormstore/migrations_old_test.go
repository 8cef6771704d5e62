package gormstore_test

import (
	"testing"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
)

// A database from before tokens had kinds, with a token and the mark of its pepper.
func TestTokensAndThePepperFromBeforeThereWereKindsStay(t *testing.T) {
	const lastBefore = 11
	for name, empty := range emptyDatabases {
		t.Run(name, func(t *testing.T) {
			url := empty(t)
			if err := gormstore.MigrateTo(t.Context(), url, lastBefore); err != nil {
				t.Fatal(err)
			}
			s := open(t, url)
			write, _ := s.Pools()
			mark := [32]byte{1, 2, 3}
			id := domain.ID("opr_0198f3a27c4e7b1d9a6e5c2f10d3b847")
			insert := map[string][]any{
				"INSERT INTO key_pepper (id, mark) VALUES (1, $1)": {mark[:]},
				"INSERT INTO operator_tokens (id, name, digest, last_four, created_at) VALUES ('0198f3a27c4e7b1d9a6e5c2f10d3b847', 'Dispatch', $1, " +
					"'abcd', '2026-11-01T00:00:00.000Z')": {mark[:]},
			}
			for statement, arguments := range insert {
				if _, err := write.ExecContext(t.Context(), statement, arguments...); err != nil {
					t.Fatal(err)
				}
			}
			if err := gormstore.Migrate(t.Context(), url); err != nil {
				t.Fatal(err)
			}
			token, err := s.Read().Operators.Get(t.Context(), id)
			if err != nil || token.Kind != domain.OperatorAdmin || token.Pepper != [32]byte{} || token.ExpiresAt != nil {
				t.Errorf("%+v, %v", token, err)
			}
			if marks, err := s.Read().Tenancy.PepperMarks(t.Context()); err != nil || len(marks) != 1 || marks[0] != mark {
				t.Errorf("marks %x, %v", marks, err)
			}
			if installation, err := s.Installation(t.Context()); err != nil || len(installation) != 32 {
				t.Errorf("installation %q, %v", installation, err)
			}
		})
	}
}

// Figures from before those of months were kept are counted once more, and never by a
// process that does not count months: such a one waits until there are three streams.
func TestFiguresFromBeforeThereWereMonthsAreCountedOnceMore(t *testing.T) {
	const lastBefore = 30
	for name, empty := range emptyDatabases {
		t.Run(name, func(t *testing.T) {
			url := empty(t)
			if err := gormstore.MigrateTo(t.Context(), url, lastBefore); err != nil {
				t.Fatal(err)
			}
			s := open(t, url)
			write, _ := s.Pools()
			for _, stream := range []string{"live", "past", "sandbox"} { // as far as a process of then had counted
				if _, err := write.ExecContext(t.Context(), "INSERT INTO report_progress (stream, position, sequence, event_id, done)"+
					" VALUES ('"+stream+"', 0, 0, 'ffffffffffffffffffffffffffffffff', FALSE)"); err != nil {
					t.Fatal(err)
				}
			}
			nothing := map[string]string{"SQLite": "x''", "Postgres": "''"}[name]
			if _, err := write.ExecContext(t.Context(), "INSERT INTO report_figures VALUES ('live', 4, '2026-10-01T00:00:00.000Z',"+
				" '0198f3a27c4e7b1d9a6e5c2f10d3b847', '', '', 1, 0, 0, '{}', "+nothing+", "+nothing+")"); err != nil {
				t.Fatal(err)
			}
			if err := gormstore.Migrate(t.Context(), url); err != nil {
				t.Fatal(err)
			}
			number := func(of string) (n int) {
				t.Helper()
				if err := write.QueryRowContext(t.Context(), "SELECT count(*) FROM "+of).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			if n := number("report_figures"); n != 0 {
				t.Errorf("%d figures are left", n)
			}
			if n := number("report_progress"); n == 0 || n == 3 {
				t.Errorf("a process from before finds %d streams, and counts", n)
			}
			if _, more, err := s.CountReports(t.Context(), 10); more || err != nil {
				t.Fatalf("counted nothing: more %t, %v", more, err)
			}
			if n := number("report_progress"); n != 4 {
				t.Errorf("a process from before finds %d streams, and counts", n)
			}
			if p, err := s.Read().Reports.Progress(t.Context()); err != nil || p != (domain.ReportProgress{}) {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

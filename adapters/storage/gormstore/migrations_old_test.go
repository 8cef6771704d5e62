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

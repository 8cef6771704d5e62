package gormstore

import (
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"waybill/ports"
	"waybill/test/sample"
)

func TestStatementsNameTheBusinessOnCitusAlone(t *testing.T) {
	for statement, want := range map[string][2]string{
		"WHERE endpoint_id = ?$node AND a":               {"WHERE endpoint_id = ? AND a", "WHERE endpoint_id = ? AND business_id = ? AND a"},
		"WHERE d.endpoint_id = ?$node(d)":                {"WHERE d.endpoint_id = ?", "WHERE d.endpoint_id = ? AND d.business_id = ?"},
		"d JOIN e ON d.e = e.id$with(d,e)":               {"d JOIN e ON d.e = e.id", "d JOIN e ON d.e = e.id AND d.business_id = e.business_id"},
		"SELECT 1 WHERE cost = '$5' AND d.id = $1::uuid": {"SELECT 1 WHERE cost = '$5' AND d.id = $1::uuid", ""},
	} {
		if want[1] == "" {
			want[1] = want[0]
		}
		for i, e := range []*dialect{&postgresDialect, citusDialect()} {
			if got := e.placed(statement); got != want[i] {
				t.Errorf("%q became %q, want %q", statement, got, want[i])
			}
		}
	}
	for lease, want := range map[string]string{
		"$lease(?) l":    "(SELECT * FROM webhook_leases WHERE endpoint_id = ? AND business_id = ?) l",
		"$lease(e.id) l": "(SELECT * FROM webhook_leases WHERE endpoint_id = e.id AND webhook_leases.business_id = e.business_id) l",
	} {
		if got := citusDialect().leases(lease); got != want {
			t.Errorf("%q became %q, want %q", lease, got, want)
		}
	}
}

func TestArraysBecomeRows(t *testing.T) {
	x := "x"
	s := step{values: []any{[]string{"a", "b"}, []*string{&x, nil}, []float64{0, 1}}}
	asRows(&s, "INSERT INTO t (a, b, c) ", "now() + make_interval(secs => $)", " ON CONFLICT DO NOTHING")
	const want = "INSERT INTO t (a, b, c) VALUES ($1, $2, now() + make_interval(secs => $3)), ($4, $5, now() + make_interval(secs => $6))" +
		" ON CONFLICT DO NOTHING"
	if s.statement != want {
		t.Errorf("the statement is %s, want %s", s.statement, want)
	}
	if values := []any{"a", &x, 0.0, "b", (*string)(nil), 1.0}; !reflect.DeepEqual(s.values, values) {
		t.Errorf("the values are %v, want %v", s.values, values)
	}
}

func TestABatchOnCitusIsOfOneBusiness(t *testing.T) {
	b := newBookings(nil, 2)
	batchByBusiness(b)
	one, other := sample.Tenant(), sample.Tenant()
	admits := b.Admit(64)
	for i, c := range []struct {
		of   ports.BookingWrite
		want bool
	}{{sample.BookingWrite(one), true}, {sample.BookingWrite(other), false}, {sample.BookingWrite(one), true}} {
		e, err := newEntry(c.of)
		if err != nil {
			t.Fatal(err)
		}
		if got := admits(e); got != c.want {
			t.Errorf("booking %d: admitted %t, want %t", i, got, c.want)
		}
	}
}

func TestAKeyThatANodeTellsOfIsKnownByItsName(t *testing.T) {
	err := &pgconn.PgError{Code: pgUniqueViolation,
		Message: `duplicate key value violates unique constraint "deliveries_external_id_key_102041"`}
	if key := citusDialect().violated(err); key != externalIDKey {
		t.Errorf("the key is %q, want %q", key, externalIDKey)
	}
	if key := citusDialect().violated(&pgconn.PgError{Code: pgCheckViolation, Message: err.Message}); key != "" {
		t.Errorf("another violation is of the key %q", key)
	}
}

func TestACommitThatFailedAtANodeIsNotRefused(t *testing.T) {
	for code, want := range map[string]bool{pgInternalError: false, "08006": false, pgSerializationFailure: true} {
		err := &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code}
		if got := citusDialect().refused(t.Context(), nil, err); got != want {
			t.Errorf("%s: refused %t, want %t", code, got, want)
		}
	}
}

func TestStatementsOfBatchesAreKnownOnCitus(t *testing.T) {
	for name, pair := range map[string][2]string{
		"fill names":      {fillNames, fillNamesOnNode},
		"count addresses": {countAddresses, countAddressesOnNode},
		"fan out":         {fanOutAll, fanOutOnNode},
	} {
		if strings.Count(pair[1], "business_id = $") == 0 || pair[0] == pair[1] {
			t.Errorf("%s does not name the business: %s", name, pair[1])
		}
	}
}

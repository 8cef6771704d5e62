package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waybill/test/overlay"
)

// variant is the program with one mechanism taken out. Measured beside the program, it tells what that mechanism is worth.
type variant struct {
	name  string
	edits []edit
}

// edit is an overlay.Edit.
type edit struct{ file, old, new string }

func (v variant) overlay() (edits []overlay.Edit) {
	for _, e := range v.edits {
		edits = append(edits, overlay.Edit{File: e.file, Old: e.old, New: e.new})
	}
	return edits
}

const (
	fast       = "adapters/storage/gormstore/pgfast/"
	statements = "adapters/storage/gormstore/bookings_statements.go"
)

var variants = []variant{
	{"no buffer swap", []edit{
		{fast + "pipeline.go", "	b := bufferFor(steps)\n	pg.Frontend().Send(b)\n", ""},
		{fast + "pipeline.go", "	b.giveBack(pg.Frontend())\n", ""},
	}},
	{"arrays by pgx", []edit{
		{fast + "values.go", "	whole, nulls := arrayHeader, uint32(0)\n",
			"	if n > 0 {\n		return Value{OID: t.oidOfMany, Data: encodeByPgx(t, n, at)}\n	}\n	whole, nulls := arrayHeader, uint32(0)\n"},
		{fast + "values.go", "import (\n", "import (\n	\"sync\"\n"},
		{fast + "values.go", "", encodeByPgx},
	}},
	{"statement a row", append(slices.Clone(rowsInsteadOfColumns), edit{statements, "", statementForEachRow})},
	{"VALUES a row", append(slices.Clone(rowsInsteadOfColumns), edit{statements, "", valuesForEachRow})},
}

const variantsArgument = "variants"

// buildVariants builds all of them into the directory of the next argument.
func buildVariants(ctx context.Context) error {
	if len(os.Args) != 3 {
		return errors.New("give a directory: bench variants DIR")
	}
	var beside []string
	for _, v := range variants {
		dir := filepath.Join(os.Args[2], strings.ReplaceAll(v.name, " ", "-"))
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return err
		}
		binary, err := overlay.Build(ctx, dir, v.overlay())
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		beside = append(beside, v.name+"="+binary)
	}
	fmt.Println(strings.Join(beside, ","))
	return nil
}

// encodeByPgx encodes arrays as pgx encodes slices.
const encodeByPgx = `
var pgxMaps = sync.Pool{New: func() any { return pgtype.NewMap() }}

func encodeByPgx[T any](t Type[T], n int, at func(i int) T) []byte {
	all := make([]T, n)
	for i := range all {
		all[i] = at(i)
	}
	var sent any = all
	switch t.oid {
	case pgtype.UUIDOID:
		sent = eachOf(all, func(v T) (u pgtype.UUID) {
			if u.Valid = t.size(v) > 0; u.Valid {
				t.put(u.Bytes[:0], v)
			}
			return u
		})
	case pgtype.TimestamptzOID:
		sent = eachOf(all, func(v T) (at pgtype.Timestamptz) {
			if at.Valid = t.size(v) > 0; at.Valid {
				var b [8]byte
				t.put(b[:0], v)
				at.Time = time.UnixMicro(int64(binary.BigEndian.Uint64(b[:])) + epoch)
			}
			return at
		})
	}
	switch all := any(all).(type) {
	case []int:
		sent = eachOf(all, func(i int) int32 { return int32(i) })
	case []*int:
		sent = eachOf(all, func(i *int) (n *int32) {
			if i != nil {
				n = new(int32(*i))
			}
			return n
		})
	}
	types := pgxMaps.Get().(*pgtype.Map)
	defer pgxMaps.Put(types)
	b, err := types.Encode(t.oidOfMany, pgtype.BinaryFormatCode, sent, nil)
	if err != nil {
		panic(err)
	}
	return b
}

func eachOf[A, B any](all []A, of func(A) B) []B {
	each := make([]B, len(all))
	for i, a := range all {
		each[i] = of(a)
	}
	return each
}
`

var rowsInsteadOfColumns = []edit{
	{statements, `	"slices"
	"time"
`, `	"slices"
	"strings"
	"time"
`},
	{statements, `	t.insert("insert recipients", storeRecipients, b, of, recipientIDOf, recipientColumns.Values(b.recipientRows(of))...)
`, `	addRows(t.add, recipientTable, b.recipientRows(of))
`},
	{statements, `	t.insert("insert addresses", storeAddresses, b, of, func(e *entry) rowID { return rowIDOf(e.Address.ID) }, addressColumns.Values(rows)...)
`, `	addRows(t.add, addressTable, rows)
`},
	{statements, `	t.insert("insert deliveries", storeDeliveries, b, of, func(e *entry) rowID { return e.row.ID }, deliveryColumns.Values(rows)...)
`, `	addRows(t.add, deliveryTable, rows)
`},
	{statements, `	t.add(pgfast.Step{What: "insert events", Read: pgfast.Discard}, eventColumns.Statement, eventColumns.Values(events)...)
`, `	addRows(t.add, eventTable, events)
`},
	{statements, "", `
type oneKind struct {
	sqlType string
	one     func(reflect.Value) pgfast.Value
}

func kindOfOne[T any](sqlType string, t pgfast.Type[T]) oneKind {
	return oneKind{sqlType, func(v reflect.Value) pgfast.Value { return t.One(v.Interface().(T)) }}
}

var oneKinds = map[reflect.Type]oneKind{
	reflect.TypeFor[rowID]():    kindOfOne("uuid", pgUUID),
	reflect.TypeFor[*rowID]():   kindOfOne("uuid", pgfast.Optional(pgUUID)),
	reflect.TypeFor[string]():   kindOfOne("text", pgfast.Text),
	reflect.TypeFor[*string]():  kindOfOne("text", pgfast.Optional(pgfast.Text)),
	reflect.TypeFor[int]():      kindOfOne("integer", pgfast.Integer),
	reflect.TypeFor[*int]():     kindOfOne("integer", pgfast.Optional(pgfast.Integer)),
	reflect.TypeFor[int64]():    kindOfOne("bigint", pgfast.Bigint),
	reflect.TypeFor[*int64]():   kindOfOne("bigint", pgfast.Optional(pgfast.Bigint)),
	reflect.TypeFor[float64]():  kindOfOne("double precision", pgfast.Double),
	reflect.TypeFor[bool]():     kindOfOne("boolean", pgfast.Boolean),
	reflect.TypeFor[[]byte]():   kindOfOne("bytea", pgfast.Bytes),
	reflect.TypeFor[instant]():  kindOfOne("timestamptz", pgTime),
	reflect.TypeFor[*instant](): kindOfOne("timestamptz", pgfast.Optional(pgTime)),
}

// valuesOf are those of a row, with the placeholders that they have from a number on.
func valuesOf(t table, row reflect.Value, from int) (string, []pgfast.Value) {
	places, values := make([]string, len(t.fields)), make([]pgfast.Value, len(t.fields))
	for i, f := range t.fields {
		field := row.Field(f.StructField.Index[0])
		kind := oneKinds[field.Type()]
		places[i], values[i] = fmt.Sprint("$", from+i, "::", kind.sqlType), kind.one(field)
	}
	return "(" + strings.Join(places, ", ") + ")", values
}
`},
}

const statementForEachRow = `
func addRows[Row any](add func(pgfast.Step, string, ...pgfast.Value), t table, rows []Row) {
	insert, _, _ := strings.Cut(t.insert, "VALUES (")
	for _, row := range rows {
		places, values := valuesOf(t, reflect.ValueOf(row), 1)
		add(pgfast.Step{What: "insert a row", Read: pgfast.Discard}, insert+"VALUES "+places, values...)
	}
}
`

const valuesForEachRow = `
func addRows[Row any](add func(pgfast.Step, string, ...pgfast.Value), t table, rows []Row) {
	insert, _, _ := strings.Cut(t.insert, "VALUES (")
	var all []string
	var params []pgfast.Value
	for _, row := range rows {
		places, values := valuesOf(t, reflect.ValueOf(row), 1+len(params))
		all, params = append(all, places), append(params, values...)
	}
	add(pgfast.Step{What: "insert rows", Read: pgfast.Discard}, insert+"VALUES "+strings.Join(all, ", "), params...)
}
`

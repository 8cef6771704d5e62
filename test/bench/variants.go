package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

const store = "adapters/storage/gormstore/"

var variants = []variant{
	{"no buffer swap", []edit{
		{store + "wire.go", "	r := roomFor(steps)\n	pg.Frontend().Send(r)\n", ""},
		{store + "wire.go", "	r.leave(pg.Frontend())\n", ""},
	}},
	{"arrays by pgx", []edit{
		{store + "wire.go", "	whole, nulls := arrayHeader, uint32(0)\n", "	if n >= 0 {\n		return param{oid: w.oidOfMany, data: encodeByPgx(w.oidOfMany, n, at)}\n	}\n	whole, nulls := arrayHeader, uint32(0)\n"},
		{store + "wire.go", "", encodeByPgx},
	}},
	{"statement a row", append(rowsInsteadOfColumns, edit{store + "columnar.go", "", statementForEachRow})},
	{"VALUES a row", append(rowsInsteadOfColumns[:len(rowsInsteadOfColumns):len(rowsInsteadOfColumns)], edit{store + "columnar.go", "", valuesForEachRow})},
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

// encodeByPgx encodes arrays as pgx does for who gives it slices.
const encodeByPgx = `
var pgxMaps = sync.Pool{New: func() any { return pgtype.NewMap() }}

func encodeByPgx[T any](oid uint32, n int, at func(i int) T) []byte {
	all := make([]T, n)
	for i := range all {
		all[i] = at(i)
	}
	var sent any = all
	switch all := any(all).(type) {
	case []rowID:
		sent = eachOf(all, uuidOf)
	case []*rowID:
		sent = eachOf(all, func(id *rowID) (u pgtype.UUID) {
			if id != nil {
				u = uuidOf(*id)
			}
			return u
		})
	case []instant:
		sent = eachOf(all, func(i instant) time.Time { return i.time })
	case []*instant:
		sent = eachOf(all, func(i *instant) (t *time.Time) {
			if i != nil {
				t = &i.time
			}
			return t
		})
	case []int:
		sent = eachOf(all, func(i int) int32 { return int32(i) })
	case []*int:
		sent = eachOf(all, func(i *int) *int32 {
			if i == nil {
				return nil
			}
			return new(int32(*i))
		})
	}
	types := pgxMaps.Get().(*pgtype.Map)
	defer pgxMaps.Put(types)
	b, err := types.Encode(oid, pgtype.BinaryFormatCode, sent, nil)
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
	{store + "bookings_postgres.go", `		add(step{what: "insert recipients", wanted: f.wants(of, recipient)},
			recipientColumns.insert, recipientColumns.values(rows)...)
`, `		addRows(f, add, recipientTable, rows, of, " ON CONFLICT (business_id, environment, phone_number) DO NOTHING RETURNING id", recipient)
`},
	{store + "bookings_postgres.go", `		add(step{what: "insert addresses", wanted: f.wants(of, func(e *entry) rowID { return rowIDOf(e.Address.ID) })},
			addressColumns.insert, addressColumns.values(rows)...)
`, `		addRows(f, add, addressTable, rows, of, " ON CONFLICT (recipient_id, match_hash) DO NOTHING RETURNING id", func(e *entry) rowID { return rowIDOf(e.Address.ID) })
`},
	{store + "bookings_postgres.go", `	add(step{what: "insert deliveries", wanted: f.wants(of, func(e *entry) rowID { return e.row.ID })},
		deliveryColumns.insert, deliveryColumns.values(rows)...)
`, `	addRows(f, add, deliveryTable, rows, of, " ON CONFLICT DO NOTHING RETURNING id", func(e *entry) rowID { return e.row.ID })
`},
	{store + "bookings_postgres.go", `	add(step{what: "insert events", read: discard}, eventColumns.insert, eventColumns.values(events)...)
`, `	addRows(f, add, eventTable, events, of, "", nil)
`},
	{store + "columnar.go", "", `
var oneOfKind = map[reflect.Type]func(any) param{
	reflect.TypeFor[rowID]():    func(v any) param { return wireUUID.one(v.(rowID)) },
	reflect.TypeFor[*rowID]():   func(v any) param { return optional(wireUUID).one(v.(*rowID)) },
	reflect.TypeFor[string]():   func(v any) param { return wireText.one(v.(string)) },
	reflect.TypeFor[*string]():  func(v any) param { return optional(wireText).one(v.(*string)) },
	reflect.TypeFor[int]():      func(v any) param { return wireInteger.one(v.(int)) },
	reflect.TypeFor[*int]():     func(v any) param { return optional(wireInteger).one(v.(*int)) },
	reflect.TypeFor[int64]():    func(v any) param { return wireBigint.one(v.(int64)) },
	reflect.TypeFor[*int64]():   func(v any) param { return optional(wireBigint).one(v.(*int64)) },
	reflect.TypeFor[float64]():  func(v any) param { return wireDouble.one(v.(float64)) },
	reflect.TypeFor[bool]():     func(v any) param { return wireBoolean.one(v.(bool)) },
	reflect.TypeFor[[]byte]():   func(v any) param { return wireBytes.one(v.([]byte)) },
	reflect.TypeFor[instant]():  func(v any) param { return wireInstant.one(v.(instant)) },
	reflect.TypeFor[*instant](): func(v any) param { return optional(wireInstant).one(v.(*instant)) },
}

// valuesOf are those of a row, with the placeholders that they have from a number on.
func valuesOf(t table, row reflect.Value, from int) (places string, values []param) {
	var b strings.Builder
	for i, f := range t.fields {
		field := row.Field(f.StructField.Index[0])
		b.WriteString(map[bool]string{true: "($", false: ", $"}[i == 0] + strconv.Itoa(from+i) + "::" + columnKinds[field.Type()].sqlType)
		values = append(values, oneOfKind[field.Type()](field.Interface()))
	}
	return b.String() + ")", values
}
`},
}

const statementForEachRow = `
func addRows[Row any](f *pgFold, add adding, t table, rows []Row, of []int, suffix string, id func(*entry) rowID) {
	insert, _, _ := strings.Cut(t.insert, "VALUES (")
	for i, row := range rows {
		places, values := valuesOf(t, reflect.ValueOf(row), 1)
		s := step{what: "insert a row", read: discard}
		if id != nil {
			s = step{what: "insert a row", wanted: f.wants(of[i:i+1], id)}
		}
		add(s, insert+"VALUES "+places+suffix, values...)
	}
}
`

const valuesForEachRow = `
func addRows[Row any](f *pgFold, add adding, t table, rows []Row, of []int, suffix string, id func(*entry) rowID) {
	insert, _, _ := strings.Cut(t.insert, "VALUES (")
	var all []string
	var params []param
	for _, row := range rows {
		places, values := valuesOf(t, reflect.ValueOf(row), 1+len(params))
		all, params = append(all, places), append(params, values...)
	}
	s := step{what: "insert rows", read: discard}
	if id != nil {
		s = step{what: "insert rows", wanted: f.wants(of, id)}
	}
	add(s, insert+"VALUES "+strings.Join(all, ", ")+suffix, params...)
}
`

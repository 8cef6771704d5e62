package gormstore

import (
	"encoding/hex"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// columnar stores many rows of a table by one statement of Postgres, whatever
// their number: each parameter is a column of them, an array.
type columnar struct {
	insert  string // up to the rows
	columns []column
}

// column is where a row has its value, and what becomes of many.
type column struct {
	field   int
	sqlType string
	gather  func(rows reflect.Value, field int) any
}

// columnarOf goes through the columns of a row type, which newTable has read.
func columnarOf(t table, row any) columnar {
	c := columnar{insert: strings.TrimSuffix(t.insert, "VALUES (?"+strings.Repeat(", ?", len(t.columns)-1)+")") + "SELECT * FROM "}
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		kind, known := columnKinds[reflect.TypeOf(row).FieldByIndex(f.StructField.Index).Type]
		if !known || len(f.StructField.Index) != 1 {
			panic("gormstore: no array for column " + f.DBName) // a row type of this package is declared wrongly
		}
		kind.field = f.StructField.Index[0]
		c.columns = append(c.columns, kind)
		names[i] = "$" + strconv.Itoa(i+1) + "::" + kind.sqlType + "[]"
	}
	c.insert += "unnest(" + strings.Join(names, ", ") + ")"
	return c
}

// values are the parameters for a slice of rows.
func (c columnar) values(rows any) []any {
	of := reflect.ValueOf(rows)
	values := make([]any, len(c.columns))
	for i, col := range c.columns {
		values[i] = col.gather(of, col.field)
	}
	return values
}

// columnKinds are the types of fields in rows, and of their columns.
var columnKinds = map[reflect.Type]column{
	reflect.TypeFor[rowID]():    {sqlType: "uuid", gather: gathering(uuidOf)},
	reflect.TypeFor[*rowID]():   {sqlType: "uuid", gather: gathering(optionalUUID)},
	reflect.TypeFor[string]():   {sqlType: "text", gather: gathering(itself[string])},
	reflect.TypeFor[*string]():  {sqlType: "text", gather: gathering(itself[*string])},
	reflect.TypeFor[int]():      {sqlType: "integer", gather: gathering(func(n int) int32 { return int32(n) })},
	reflect.TypeFor[*int]():     {sqlType: "integer", gather: gathering(optionalInt32)},
	reflect.TypeFor[int64]():    {sqlType: "bigint", gather: gathering(itself[int64])},
	reflect.TypeFor[*int64]():   {sqlType: "bigint", gather: gathering(itself[*int64])},
	reflect.TypeFor[float64]():  {sqlType: "double precision", gather: gathering(itself[float64])},
	reflect.TypeFor[bool]():     {sqlType: "boolean", gather: gathering(itself[bool])},
	reflect.TypeFor[[]byte]():   {sqlType: "bytea", gather: gathering(itself[[]byte])},
	reflect.TypeFor[instant]():  {sqlType: "timestamptz", gather: gathering(func(i instant) time.Time { return i.time })},
	reflect.TypeFor[*instant](): {sqlType: "timestamptz", gather: gathering(optionalTime)},
}

func itself[T any](v T) T { return v }

func optionalInt32(n *int) *int32 {
	if n == nil {
		return nil
	}
	return new(int32(*n))
}

// uuidOf is an ID as pgx sends it fastest; one that is malformed becomes NULL,
// which no column takes.
func uuidOf(id rowID) (u pgtype.UUID) {
	if len(id) == 2*len(u.Bytes) {
		_, err := hex.Decode(u.Bytes[:], []byte(id))
		u.Valid = err == nil
	}
	return u
}

func optionalUUID(id *rowID) pgtype.UUID {
	if id == nil {
		return pgtype.UUID{}
	}
	return uuidOf(*id)
}

func gathering[Field, Element any](element func(Field) Element) func(reflect.Value, int) any {
	return func(rows reflect.Value, field int) any {
		all := make([]Element, rows.Len())
		for i := range all {
			all[i] = element(*rows.Index(i).Field(field).Addr().Interface().(*Field))
		}
		return all
	}
}

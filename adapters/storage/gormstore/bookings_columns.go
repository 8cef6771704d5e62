package gormstore

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// columns inserts any number of rows into a table on Postgres. Each parameter is an array, one
// column of the rows. So the statement has one text and one plan.
type columns struct {
	statement string
	gather    []func(rows reflect.Value) any
}

// columnsOf prepares the INSERT of a table and appends end to it. It panics where a field has no
// array, which is a mistake in the row type.
func columnsOf(t table, end string) columns {
	var c columns
	names, arrays := make([]string, len(t.fields)), make([]string, len(t.fields))
	for i, f := range t.fields {
		array, known := arraysOf[f.StructField.Type]
		if !known || len(f.StructField.Index) != 1 {
			panic("no array for column " + f.DBName + " of " + t.name)
		}
		field := f.StructField.Index[0]
		c.gather = append(c.gather, func(rows reflect.Value) any { return array.gather(rows, field) })
		names[i], arrays[i] = f.DBName, "$"+strconv.Itoa(i+1)+"::"+array.sqlType+"[]"
	}
	c.statement = "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ") SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")" + end
	return c
}

// values returns the parameters for a slice of rows.
func (c columns) values(rows any) []any {
	of, values := reflect.ValueOf(rows), make([]any, len(c.gather))
	for i, gather := range c.gather {
		values[i] = gather(of)
	}
	return values
}

// array collects a column of fields of one type.
type array struct {
	sqlType string
	gather  func(rows reflect.Value, field int) any
}

// sentAs returns the array of fields of type T. Each field is sent as a P.
func sentAs[T, P any](sqlType string, as func(T) P) array {
	return array{sqlType, func(rows reflect.Value, field int) any {
		all := make([]P, rows.Len())
		for i := range all {
			all[i] = as(*rows.Index(i).Field(field).Addr().Interface().(*T))
		}
		return all
	}}
}

func itself[T any](v T) T { return v }

// optional sends nil as NULL.
func optional[T, P any](as func(T) P) func(*T) *P {
	return func(v *T) *P {
		if v == nil {
			return nil
		}
		p := as(*v)
		return &p
	}
}

func int32Of(n int) int32 { return int32(n) } //nolint:gosec // columns are checked to hold it

//nolint:gochecknoglobals // a table
var arraysOf = map[reflect.Type]array{
	reflect.TypeFor[string]():  sentAs("text", itself[string]),
	reflect.TypeFor[*string](): sentAs("text", itself[*string]),
	reflect.TypeFor[int]():     sentAs("integer", int32Of),
	reflect.TypeFor[*int]():    sentAs("integer", optional(int32Of)),
	reflect.TypeFor[int64]():   sentAs("bigint", itself[int64]),
	reflect.TypeFor[*int64]():  sentAs("bigint", itself[*int64]),
	reflect.TypeFor[float64](): sentAs("double precision", itself[float64]),
	reflect.TypeFor[bool]():    sentAs("boolean", itself[bool]),
	reflect.TypeFor[[]byte]():  sentAs("bytea", itself[[]byte]),
	reflect.TypeFor[rowID]():   sentAs("uuid", uuidOf),
	reflect.TypeFor[*rowID](): sentAs("uuid", func(id *rowID) (u pgtype.UUID) {
		if id != nil {
			u = uuidOf(*id)
		}
		return u
	}),
	reflect.TypeFor[instant]():  sentAs("timestamptz", func(i instant) time.Time { return i.time }),
	reflect.TypeFor[*instant](): sentAs("timestamptz", optional(func(i instant) time.Time { return i.time })),
}

package gormstore

import (
	"reflect"
	"strconv"
	"strings"
)

// columnar stores many rows of a table by one statement of Postgres, whatever
// their number: each parameter is a column of them, an array.
type columnar struct {
	insert  string // all of it, with what is done about conflicts
	columns []column
}

// column is where a row has its value, and what becomes of many.
type column struct {
	field   int
	sqlType string
	gather  func(rows reflect.Value, field int) param
}

// columnarOf goes through the columns of a row type, which newTable has read.
func columnarOf(t table, row any, conflicts string) columnar {
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
	c.insert += "unnest(" + strings.Join(names, ", ") + ")" + conflicts
	return c
}

// values are the parameters for a slice of rows.
func (c columnar) values(rows any) []param {
	of := reflect.ValueOf(rows)
	values := make([]param, len(c.columns))
	for i, col := range c.columns {
		values[i] = col.gather(of, col.field)
	}
	return values
}

// columnKinds are the types of fields in rows, and of their columns.
var columnKinds = map[reflect.Type]column{
	reflect.TypeFor[rowID]():    columnOf(wireUUID),
	reflect.TypeFor[*rowID]():   columnOf(optional(wireUUID)),
	reflect.TypeFor[string]():   columnOf(wireText),
	reflect.TypeFor[*string]():  columnOf(optional(wireText)),
	reflect.TypeFor[int]():      columnOf(wireInteger),
	reflect.TypeFor[*int]():     columnOf(optional(wireInteger)),
	reflect.TypeFor[int64]():    columnOf(wireBigint),
	reflect.TypeFor[*int64]():   columnOf(optional(wireBigint)),
	reflect.TypeFor[float64]():  columnOf(wireDouble),
	reflect.TypeFor[bool]():     columnOf(wireBoolean),
	reflect.TypeFor[[]byte]():   columnOf(wireBytes),
	reflect.TypeFor[instant]():  columnOf(wireInstant),
	reflect.TypeFor[*instant](): columnOf(optional(wireInstant)),
}

func columnOf[T any](w wireType[T]) column {
	return column{sqlType: w.name, gather: func(rows reflect.Value, field int) param {
		return w.many(rows.Len(), func(i int) T {
			return *rows.Index(i).Field(field).Addr().Interface().(*T)
		})
	}}
}

package pgfast

import (
	"reflect"
	"strconv"
	"strings"
)

// Kinds are the types of fields in rows, and how a column of them is sent.
type Kinds map[reflect.Type]Kind

// Kind is the type of a column.
type Kind struct {
	sqlType string
	gather  func(rows reflect.Value, field int) Value
}

// KindOf is the kind of fields of type T.
func KindOf[T any](t Type[T]) Kind {
	return Kind{sqlType: t.name, gather: func(rows reflect.Value, field int) Value {
		return t.Many(rows.Len(), func(i int) T {
			return *rows.Index(i).Field(field).Addr().Interface().(*T)
		})
	}}
}

// With adds the kind of one more type of field.
func (k Kinds) With(field reflect.Type, kind Kind) Kinds {
	k[field] = kind
	return k
}

// StandardKinds are the kinds of types outside the product.
func StandardKinds() Kinds {
	return Kinds{
		reflect.TypeFor[string]():  KindOf(Text),
		reflect.TypeFor[*string](): KindOf(Optional(Text)),
		reflect.TypeFor[int]():     KindOf(Integer),
		reflect.TypeFor[*int]():    KindOf(Optional(Integer)),
		reflect.TypeFor[int64]():   KindOf(Bigint),
		reflect.TypeFor[*int64]():  KindOf(Optional(Bigint)),
		reflect.TypeFor[float64](): KindOf(Double),
		reflect.TypeFor[bool]():    KindOf(Boolean),
		reflect.TypeFor[[]byte]():  KindOf(Bytes),
	}
}

// Columns stores many rows of a table by one statement, whatever their number: each
// parameter is a column of them, an array.
type Columns struct {
	Statement string
	fields    []int
	kinds     []Kind
}

// Field is a field of a row and the name of its column.
type Field struct {
	reflect.StructField
	Column string
}

// ColumnsOf prepares INSERT INTO a table, for rows with these fields. It panics where a
// field has no kind, which is a mistake in the row type.
func ColumnsOf(table string, fields []Field, kinds Kinds) Columns {
	var c Columns
	names, arrays := make([]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		kind, known := kinds[f.Type]
		if !known || len(f.Index) != 1 {
			panic("no array for column " + f.Column + " of " + table)
		}
		c.fields, c.kinds = append(c.fields, f.Index[0]), append(c.kinds, kind)
		names[i], arrays[i] = f.Column, "$"+strconv.Itoa(i+1)+"::"+kind.sqlType+"[]"
	}
	c.Statement = "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")"
	return c
}

// Values are the parameters for a slice of rows.
func (c Columns) Values(rows any) []Value {
	of := reflect.ValueOf(rows)
	values := make([]Value, len(c.kinds))
	for i, kind := range c.kinds {
		values[i] = kind.gather(of, c.fields[i])
	}
	return values
}

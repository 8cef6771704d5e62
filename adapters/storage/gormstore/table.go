package gormstore

import (
	"context"
	"reflect"
	"strings"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// The tables whose statements are written by hand.
var (
	businessTable    = newTable(businessRow{})
	applicationTable = newTable(applicationRow{})
	apiKeyTable      = newTable(apiKeyRow{})
	recipientTable   = newTable(recipientRow{})
	addressTable     = newTable(addressRow{})
	deliveryTable    = newTable(deliveryRow{})
	eventTable       = newTable(eventRow{})
	feedEventTable   = newTable(feedEventRow{})
	keyTable         = newTable(keyRow{})
	pickupTable      = newTable(pickupLocationRow{})

	webhookEndpointTable = newTable(webhookEndpointRow{})
	webhookDeliveryTable = newTable(webhookDeliveryRow{})
)

// table knows the columns of a row type, from the same declaration that gorm reads. So a statement
// written by hand cannot forget one.
type table struct {
	name    string
	fields  []*schema.Field
	columns []string
	insert  string
}

var schemas sync.Map

func newTable(row any) table {
	parsed, err := schema.Parse(row, &schemas, schema.NamingStrategy{})
	if err != nil {
		panic(err) // a row type of this package is declared wrongly
	}
	t := table{name: parsed.Table, columns: parsed.DBNames}
	for _, name := range t.columns {
		t.fields = append(t.fields, parsed.FieldsByDBName[name])
	}
	t.insert = "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") +
		") VALUES (?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
	return t
}

// selectAs lists the columns of the table called alias under prefixed names.
func (t table) selectAs(alias, prefix string) string {
	parts := make([]string, len(t.columns))
	for i, c := range t.columns {
		parts[i] = alias + "." + c + " AS " + prefix + c
	}
	return strings.Join(parts, ", ")
}

// list names the columns.
func (t table) list() string { return strings.Join(t.columns, ", ") }

// insertInto stores the row. It costs a third of Create, which builds its statement anew each time.
// suffix may say what to do on a conflict.
func (t table) insertInto(ctx context.Context, db *gorm.DB, row any, suffix string) *gorm.DB {
	value := reflect.ValueOf(row)
	values := make([]any, len(t.fields))
	for i, f := range t.fields {
		values[i], _ = f.ValueOf(ctx, value)
	}
	return db.Exec(t.insert+suffix, values...)
}

// all converts rows into records.
func all[Row, Record any](rows []Row, one func(*Row) Record) []Record {
	records := make([]Record, len(rows))
	for i := range rows {
		records[i] = one(&rows[i])
	}
	return records
}

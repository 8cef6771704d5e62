package gormstore

import (
	"database/sql"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"
)

// sqliteDialector writes gorm's statements for SQLite. Dialectors in the module proxy bring a
// driver of their own, which prepares each statement anew and cannot be replaced. It creates no
// tables: migrations do.
type sqliteDialector struct{ db *sql.DB }

func (sqliteDialector) Name() string { return "sqlite" }

func (d sqliteDialector) Initialize(db *gorm.DB) error {
	db.ConnPool = d.db
	callbacks.RegisterDefaultCallbacks(db, &callbacks.Config{
		CreateClauses:        []string{"INSERT", "VALUES", "ON CONFLICT", "RETURNING"},
		UpdateClauses:        []string{"UPDATE", "SET", "FROM", "WHERE", "RETURNING"},
		DeleteClauses:        []string{"DELETE", "FROM", "WHERE", "RETURNING"},
		LastInsertIDReversed: true,
	})
	// One connection writes, so there are no row locks, and no words for them.
	db.ClauseBuilders["FOR"] = func(clause.Clause, clause.Builder) {}
	// SQLite plans by the value of a LIMIT. So it would prepare a statement again for each value
	// that is bound to one.
	db.ClauseBuilders["LIMIT"] = func(c clause.Clause, b clause.Builder) {
		limit, ok := c.Expression.(clause.Limit)
		if !ok || limit.Limit == nil {
			c.Build(b)
			return
		}
		_, _ = b.WriteString("LIMIT " + strconv.Itoa(*limit.Limit))
		if limit.Offset > 0 {
			_, _ = b.WriteString(" OFFSET " + strconv.Itoa(limit.Offset))
		}
	}
	return nil
}

func (sqliteDialector) BindVarTo(w clause.Writer, _ *gorm.Statement, _ any) { _ = w.WriteByte('?') }

func (sqliteDialector) QuoteTo(w clause.Writer, name string) {
	_, _ = w.WriteString("`" + strings.ReplaceAll(name, ".", "`.`") + "`") // of this package's rows
}

func (sqliteDialector) Explain(statement string, values ...any) string {
	return logger.ExplainSQL(statement, nil, `"`, values...)
}

func (sqliteDialector) DefaultValueOf(*schema.Field) clause.Expression {
	return clause.Expr{SQL: "NULL"} // of a number that the database counts up
}

func (sqliteDialector) Migrator(*gorm.DB) gorm.Migrator { return nil }

func (sqliteDialector) DataTypeOf(*schema.Field) string { return "" }

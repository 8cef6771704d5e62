// Package pgfast is the path past gorm for statements that run thousands of times a
// second: many rows as arrays, many statements in one round trip, many lookups in one
// statement.
//
// It knows no table of the product: gormstore passes columns and statements. What it
// does not do: transactions, retries, and choosing a connection.
//
// Decisions that bind this package:
//
//   - Arrays are encoded here (values.go) and not by pgx, which calls an interface for
//     each value: that was half of all that a server allocated while it created
//     deliveries.
//   - A pipeline is encoded into a buffer of this package (buffer.go), which it
//     hands to pgx as a message. pgx has no setting for its buffer; sending each
//     statement by itself was rejected, as it saves only half as much.
//   - Rows go as one array for each column (columns.go), so that a statement has the same
//     text and plan for any number of rows.
package pgfast

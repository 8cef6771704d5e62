// Package pgfast sends to Postgres past gorm what is sent thousands of times a second:
// many rows as arrays, many statements in one round trip, many lookups in one.
//
// It knows no table of the product: gormstore says what is stored and looked up. What
// it does not do: transactions, retries, and choosing a connection.
//
// Decisions that bind this package:
//
//   - Arrays are encoded here (values.go) and not by pgx, which calls an interface for
//     each value: that was half of all that a server allocated while it created
//     deliveries.
//   - A pipeline is written to a buffer of ours (buffer.go), which goes under pgx's
//     messages as one of them. pgx has no setting for it; to send each statement by
//     itself was rejected, as it saves half of that.
//   - Rows go as one array for each column (columns.go), so that a statement has the same
//     text and plan for any number of rows.
//
// What each of the three is worth is in test/bench/results.md, and measured again by
// test/bench/variants.go.
package pgfast

// Package domain holds the nouns and rules of the delivery API: what a delivery, a quote, a
// recipient or an API key is, and what may happen to it.
//
// It imports the standard library only and does no input or output. Time, identifiers and
// randomness are arguments, so that a rule can be tested with a table and replayed with the same
// outcome.
//
// Decisions that bind this package:
//
//   - Status changes have one way in, the table in delivery_states.go. Scattered "if status =="
//     checks were rejected: the sandbox helper, live operations and the simulator would drift
//     apart.
//   - Money is an integer of minor units. Floats and a decimal library were rejected: the API has
//     two decimals and never divides.
//   - One error type, Error, crosses every layer. A type per failure was rejected: the HTTP edge
//     would need a case for each.
package domain

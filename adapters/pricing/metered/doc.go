// Package metered counts the prices that any other ports.Pricing is asked for,
// by how it answered. It changes nothing about an answer.
package metered

// Package metered counts and times what any other ports.Routing is asked for,
// by how it answered. It changes nothing about an answer.
package metered

// Package webhooks tests the sending of webhooks whole: the engine with a real
// database, a real queue and a real sender, and receivers that verify. What the
// engine does by itself is tested, to the millisecond, beside it.
package webhooks

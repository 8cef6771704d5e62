// Package databaseclock tells the time of the database, in every process that
// works on it.
//
// What is due and what is old is decided by one clock. Machines differ by seconds
// or by days; a process whose own clock is wrong must neither delay a webhook nor
// delete what is young. So a process asks the database for its time once a second
// and goes on from there by the machine's monotonic clock, which no operator and no
// time server sets.
//
// An answer bounds the time: at its arrival it is at least what the database said,
// and at most that plus the round trip. The clock moves only where it is outside of
// these bounds, so that a slow answer cannot shift it. It moves ahead at once, and
// back by at most 100 ms a second: a database that was set back by an hour, or a
// standby with another clock, stops nothing. While the database is away the clock
// goes on by itself.
//
// Rejected: asking within each statement. The time of an event is in the bytes that
// are made before the transaction begins.
package databaseclock

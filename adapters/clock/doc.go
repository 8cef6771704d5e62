// Package clock tells the time: that of the database, which all processes of an installation
// share (Database), or that of the machine (System).
//
// # The time of the database
//
// One clock decides which jobs are due and which rows are old. Machines differ by
// seconds or by days; a process whose own clock is wrong must neither delay a
// webhook nor delete recent rows. So a process asks the database for its time
// once a second and goes on from there by the machine's monotonic clock, which no
// operator and no time server sets.
//
// An answer bounds the time: at its arrival it is at least what the database said,
// and at most that plus the round trip. The clock moves only where it is outside of
// these bounds, so that a slow answer cannot shift it. It moves ahead at once. While
// the database is away the clock goes on by itself.
//
// It does not go back. Where the database's clock is set back, or a standby with
// another one takes over, what is due would stand still, or go by the times of two
// clocks, those of processes that began before and after. So the database keeps how
// far the installation's time is ahead of its clock: all processes share that, also
// those that begin later, and it shrinks by 100 ms a second. Each minute, and when a
// process notices the jump, the database keeps what its clock shows: a jump while no
// process runs is noticed too, to the minute. By more than two hours no clock is set
// back that was right before; then processes that begin take the new time.
//
// Rejected: asking within each statement. The time of an event is in the bytes that
// are made before the transaction begins.
//
// # The time of the machine
//
// The time is what people and databases see: it may step when the machine's
// clock is set. Whatever measures how long something took uses the monotonic
// reading of the time package instead.
package clock

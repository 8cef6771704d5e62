// Package clock provides the time: that of the database, which all processes of an installation
// share (Database), or that of the machine (System).
//
// # The time of the database
//
// One clock decides which jobs are due and which rows are old. Machines differ by seconds or by
// days. A process with a wrong clock must neither delay a webhook nor delete recent rows. So a
// process asks the database for its time once a second and continues from there by the
// machine's monotonic clock, which no operator and no time server sets.
//
// An answer bounds the time: at its arrival it is at least what the database said, and at most
// that plus the round trip. The clock moves only when it is outside of these bounds, so that a
// slow answer cannot shift it. It moves ahead at once. While the database is away the clock
// continues by itself.
//
// It does not go back. The database's clock may be set back, or a standby with another clock
// may take over. Following it would delay due jobs, or processes that started before and after
// would use two different times. So the database stores how far the installation's time is
// ahead of its clock. All processes share that, also those that start later, and it shrinks by
// 100 ms a second. Each minute, and when a process notices the jump, the database stores the
// time of its clock: so a jump while no process runs is noticed too, to the minute. No correct
// clock is set back by more than two hours; after such a jump processes that start take the new
// time.
//
// Rejected: asking within each statement. The time of an event is in the bytes that are made
// before the transaction begins.
//
// # The time of the machine
//
// The time is for people and databases: it may step when the machine's clock is set. To measure
// durations, use the monotonic reading of the time package instead.
package clock

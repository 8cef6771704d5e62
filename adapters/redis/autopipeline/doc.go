// Package autopipeline sends commands to Redis that are asked for at the same time
// in one pipeline. A command by itself costs Redis and its client two system calls
// each, several times what the command costs; of twenty in one pipeline each costs
// a twentieth of that.
//
// A command that comes alone goes out at once. Where several came together, the
// next pipeline begins a millisecond after theirs and takes all that came
// meanwhile.
//
// A pipeline that hangs holds up nobody for long: after a few milliseconds the next
// one goes out on another connection. It lasts no longer than its callers wait, so
// that nothing is carried out when they have long gone on without it.
//
// What it does not do: retry. A command may count something.
package autopipeline

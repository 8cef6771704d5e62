// Package autopipeline sends commands to Redis that are asked for at the same time
// in one pipeline. A command by itself costs Redis and its client two system calls
// each, several times what the command costs; of twenty in one pipeline each costs
// a twentieth of that.
//
// Nobody waits for company: a command goes out at once, unless some are under way.
// Then it waits for those, one round trip at most, and goes with all that came
// meanwhile.
//
// What it does not do: retry. A command may count something.
package autopipeline

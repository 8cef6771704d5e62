// Package cached remembers what another ports.Routing measured lately, so that
// the trips a shop asks for again, as for a quote and then its delivery, cost
// nothing and have the same length.
//
//   - Points are rounded to five decimals, about a metre, before anybody is
//     asked: the answer then depends on the trip, not on who asked first.
//   - Live and sandbox share what was measured: roads are the same.
//   - That there is no way is remembered for a minute: an engine whose map is not
//     loaded yet says so too. A failure is not: the next caller asks again.
//   - Callers of one business and environment who want the same trip at the same
//     time wait for one answer; others do not, so that no customer waits for
//     what is held up for another one. It is
//     asked for without anybody's deadline, since the first caller may leave
//     while others wait; the routing behind has to end by itself. Each caller
//     leaves at the end of their own.
//   - What is known lasts an hour, and 65,536 trips are known at most: about 20
//     MB, and the least used one goes first.
package cached

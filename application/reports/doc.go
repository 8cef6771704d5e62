// Package reports shows the delivery company what happened to deliveries: figures by day (Reports),
// the current work (Board), and where open deliveries are now (Map).
//
// A background job adds up the figures of a day as events happen, and stores them. Reports reads
// over all customers, and reads no delivery for a figure: a report costs the same however many
// deliveries there are in a day.
//
// # Board
//
// Board shows how many deliveries are in which status, for how long and of which customer, and what
// needs attention. All readers in a process share one count of each environment. It is renewed only
// while there are readers, at most every RefreshEvery, and more rarely where it is slow.
//
// Numbers and the lists that they link to both come from domain.WorkFilter. Board changes nothing.
package reports

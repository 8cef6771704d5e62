// Package reports tells the delivery company what became of deliveries: figures by day (Reports),
// how the work of the day stands (Board), and where open deliveries are now (Map).
//
// Figures of a day are added up by a background job as events happen, and kept. Reports
// reads over all customers, and reads no delivery for a
// figure: a report costs the same however many deliveries there are in a day.
//
// # Board
//
// Board tells people how many deliveries are in which status, for how long and of which customer, and what needs attention. All
// readers in a process share one count of each environment, which is made anew only
// while there are readers, at most every RefreshEvery, and more rarely where it is dear.
//
// Numbers come from domain.WorkFilter, as the lists do that they lead to. Board
// changes nothing.
package reports

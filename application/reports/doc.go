// Package reports tells the delivery company what became of deliveries: figures by day,
// which are kept for it and added up by a background job as events happen, and where
// open deliveries are now. It reads over all customers, and reads no delivery for a
// figure: a report costs the same however many deliveries there are in a day.
package reports

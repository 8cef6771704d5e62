// Package idempotency makes a create happen once, however often the request is sent. The same
// Idempotency-Key with the same request gets the same response bytes.
//
// How it survives crashes: the key record commits in the same transaction as what was created. It
// is the first statement of that transaction. The request that inserts the record creates; every
// other request with the key waits for that commit and replays.
//
// Rejected: a record written in its own commit before or after the create, because a crash between
// the two commits loses or doubles the create. Also rejected: a record written last, because the
// loser of a race would first meet the winner's external_id and report a conflict with itself.
//
// The process remembers the keys whose first request is running, so that a retry is refused before
// it asks for a price again. Other processes are not asked. The record in the database decides
// between them, and a lock in Redis would cost each create two round trips.
//
// Refusals are not remembered. After a 4xx or 5xx nothing was created and the key is free, so a
// corrected body may use it.
package idempotency

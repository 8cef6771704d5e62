// Package gormstore stores all data in one database through gorm: Postgres in production, SQLite in
// one file where there is no server.
//
// It implements ports.Database. It caches nothing but the businesses of endpoints on Citus, and
// decides nothing that the domain can decide. The schema is in
// migrations/postgres/0001_schema.sql, and migrations.go has the rules for changing it. Of the files
//
//   - store.go, open.go and pools.go open the database and share its connections; transaction.go
//     runs transactions, contention.go lets them queue for held rows,
//   - a file named after a port has its methods, and rows_*.go the type of each row,
//   - bookings*.go store a booking with all that belongs to it, alone or in a batch, and
//     lookups*.go read many rows by one statement,
//   - replicas.go sends lists to replicas of Postgres, and replicas_looks.go checks their health,
//   - outbox.go and webhook_leases.go serve the senders of webhooks, and feed.go publishes an
//     event to them and in the feed,
//   - dialect.go lists the differences of the databases; postgres*.go and sqlite*.go implement
//     them,
//   - citus.go is the dialect of Postgres on a coordinator of Citus, citus_bookings.go its
//     batches, and citus_distribute.go the places of tables and the move there,
//   - cleaning*.go delete expired records, within the limits of retention.go.
//
// Decisions that bind this package:
//
//   - One row model for both engines. The differences (opening, the clock, the meaning of an error)
//     are values of type dialect; a query is written once. Two packages were rejected: they would
//     drift apart in the rare branches.
//   - SQLite has one connection that writes and a few that only read. A shared pool was rejected:
//     its writers fail each other with SQLITE_BUSY.
//   - There is no in-memory database, since readers could not see it. Tests use a file in a
//     temporary directory.
//   - Foreign keys carry the tenant. The database refuses a wrong ID that slips through the code,
//     and the caller gets domain.ErrNotFound.
//   - Every row of a business has business_id, even if another column shows whose it is: only then
//     can a table be distributed by business. Keys and queries of a tenant have it, too; keys at
//     their end, so that an ID alone finds its row. References of deliveries and digests of API
//     keys are unique across businesses, since a look-up by them does not know the business.
//   - READ COMMITTED with unique keys and row locks. SERIALIZABLE was rejected: its retries cost
//     more than the locks, which are needed for order anyway.
//   - gorm's TranslateError stays off: on SQLite it drops the name of the violated constraint, and
//     with it the difference between a taken external_id and a taken reference.
//   - gorm's PrepareStmt stays off: pgx caches statements itself, and a second cache prepares them
//     again in every transaction. Connections of SQLite cache theirs below database/sql, for all
//     of its transactions (sqlite_conn.go).
//   - Bookings that arrive at the same time are stored by one transaction (bookings_batch.go), and
//     rows looked up by one statement (lookups.go), on Postgres past gorm, as one pgx.Batch. One
//     multi-table statement was rejected for batches: it fails as a whole, and does not show which
//     booking is the reason. Sending BEGIN and COMMIT with the statements was rejected: it saved
//     two round trips of each batch, but took a second way to store it and connection states of
//     our own.
//   - Nothing relies on a session of Postgres but its time-outs and prepared statements, and those
//     only where no pooler in transaction mode is in front of it. Detecting a pooler and
//     continuing was rejected: a hidden pooler would be taken for Postgres, and missing time-outs
//     would not show before the day they are needed. Only migrations do both: they are watched,
//     and set again in each transaction what they set.
//   - What a role or a database sets for its sessions changes nothing that this package relies on:
//     isolation, encoding and the form of values (postgres_session.go), and the time-outs of
//     migrations (postgres_migrating.go).
package gormstore

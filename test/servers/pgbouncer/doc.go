// Package pgbouncer starts throw-away PgBouncers in front of a Postgres, from
// the binary that is installed on this machine.
//
// A PgBouncer runs in transaction mode with the settings it comes with, beyond
// what it takes to find the server: what passes here passes one that was not
// prepared for this program. It listens on 127.0.0.1 only and lets every client
// in, as the user of the Postgres. Its pools are small, so that clients do share
// sessions.
//
// Its temporary directory is removed by Stop. Its parent's death ends it (on
// Linux; elsewhere only Stop does).
package pgbouncer

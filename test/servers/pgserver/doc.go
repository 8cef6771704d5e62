// Package pgserver starts throw-away Postgres servers from the binaries that
// are installed on this machine.
//
// A server listens on 127.0.0.1 only, trusts every client there, and lives in a
// temporary directory that Stop removes. Its parent's death ends it (on Linux;
// elsewhere only Stop does).
//
// Durability stays on: fsync and synchronous_commit are the defaults of
// Postgres, so that a test that kills the server proves what a crash in
// production would do, and a benchmark measures real commits. Faster settings
// were rejected for that reason.
//
// The package does not migrate, and it does not choose between this server and
// one that already runs; test/servers does the second, test/postgres the first.
package pgserver

// Package backend starts what the program stands on, for tests: Postgres with standbys,
// PgBouncer or Citus, Redis, Valhalla and Dex, each from what is installed on this
// machine, and networks between them that fail.
//
// A server listens on 127.0.0.1 only, trusts every client there, and lives in a temporary
// directory that Stop removes. Its parent's death ends it (on Linux; elsewhere only Stop does).
// RedisURL and Database give a test the servers that test/servers has started for all; what a
// test breaks it starts itself.
//
// # Postgres
//
// Durability stays on: fsync and synchronous_commit are the defaults of
// Postgres, so that a test that kills the server proves what a crash in
// production would do, and a benchmark measures real commits. Faster settings
// were rejected for that reason.
//
// # A database for each test
//
// Database gives each test a fresh, migrated database of its own. One template database per content of the migrations is made once, by
// whichever test process comes first, and each test gets a copy. Copying and
// dropping cost 0.1 to 0.3 s on two cores, whatever the number of migrations, and
// let tests run in parallel and commit for real. Rolling back one shared database after each
// test was rejected: it hides what happens at COMMIT.
// The caller passes its migrations in.
//
// # Citus
//
// A Citus is a coordinator and workers, each a Postgres of its own, from the Citus that is
// installed beside this machine's Postgres. A database is of one cluster
// once FormCitus has made it so on each server: Citus keeps its nodes by database.
//
// # PgBouncer
//
// A PgBouncer runs in transaction mode with the settings it comes with, beyond
// what it takes to find the server: what passes here passes one that was not
// prepared for this program. It lets every client in, as the user of the Postgres. Its pools are small, so that clients do share
// sessions.
//
// # Redis
//
// A Redis asks for no password and keeps nothing on disk: what it holds is gone with its
// process, as in the worst case of production.
//
// Besides being killed and started again it can be paused: a paused Redis
// accepts connections, since the kernel does that, and never answers. Clients
// tell that apart from one that is gone by waiting only.
//
// What tests write to the shared server has names that no other test has, and
// ends by itself. They never flush it: other data may be in it.
//
// # Valhalla
//
// A Valhalla is the routing engine, on roads of our own whose lengths are known.
//
// The engine is the real one: the program that builds its tiles and its library
// come from the npm package of the project, which is installed once for a user
// into the folder of caches. Debian's osmium-tool turns the roads, which are
// written in Go, into the form that the engine reads.
//
// The npm package has the library and not the HTTP server, so valhalla.js stands for
// that: it passes questions on unread, and answers an error with the code, the
// status and the text that the engine's own documentation gives for it. The
// library itself tells the text only.
//
// # Dex
//
// A Dex is an OpenID Connect provider, from the module in .tools/dex. The first start on a machine builds it, which takes a minute of two
// processors; what Go has built before is taken from its cache.
//
// A Dex keeps everything in memory. Every account has the password DexPassword.
//
// # Networks that fail
//
// A Link carries TCP connections. While it is cut nothing passes, and neither end
// notices: sockets stay open, nothing is reset, new connections are taken and
// never answered. What was open or dialled during a cut stays dead for ever, as
// where a firewall has forgotten it; only connections that are made after healing
// work.
//
// It does not lose packets below TCP: both kernels believe that all was received.
// Dropping does, where it may.
package backend

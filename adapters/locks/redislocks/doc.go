// Package redislocks keeps courtesy locks in Redis, so that processes see each
// other's.
//
// Decisions that bind this package:
//
//   - A lock that Redis does not confirm or refuse within 50 ms counts as
//     acquired: nothing correct depends on it, and an outage of Redis must not
//     be one of the API. After five failures in a row a circuit breaker opens
//     and Redis is not asked for a second, but to release what is held for sure.
//   - A lock is a key with a random token that ends after ten seconds. Release
//     removes it where the token is still ours, so that a late one cannot free
//     the next holder's.
//   - Release waits for Redis, 50 ms at most, before it returns. Doing it in the
//     background was rejected: a client that repeats at once what was refused
//     would meet its own lock.
//   - A SET without an answer may have been carried out, so that its release
//     tries to remove the key too; a lock that stays behind ends by itself.
//   - Names are hashed. They hold texts that clients chose, which do not belong
//     in Redis and may be long.
package redislocks

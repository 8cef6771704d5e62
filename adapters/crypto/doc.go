// Package crypto generates identifiers and secrets. It encrypts secrets, digests API keys and
// hashes passwords.
//
// # Identifiers
//
// Identifiers generates identifiers, references and API keys from the operating system's
// cryptographic random source.
//
// IDs are UUIDs of version 7: 48 bits of milliseconds, 12 bits below them that only increase within
// the process, and 62 random bits. Later IDs of one process sort after earlier ones, even within
// one millisecond and when the clock steps back. Their time is that of ports.Clock, since records
// are deleted by the age of their IDs. IDs of different processes sort as those clocks do.
//
// # API keys
//
// KeyDigester digests API keys with HMAC-SHA256 under a pepper.
//
// A stolen table lacks the pepper. A slow password hash was rejected: keys have 190 random bits,
// which nobody can guess, and every request computes the digest.
//
// # Passwords
//
// PasswordHasher hashes passwords with Argon2id (RFC 9106). It stores them in the PHC string format
// with their parameters, so that these can change. A hash with other parameters still verifies, and
// is reported as outdated.
//
// The parameters are 19 MiB of memory, 2 passes and a parallelism of 1. This is the minimum for
// Argon2id in OWASP's Password Storage Cheat Sheet (2023). The second recommendation of RFC 9106,
// 64 MiB and a parallelism of 4, was rejected. A sign-in would take every processor of a small
// machine away from deliveries. Each password here has at least twelve characters and is not a
// common one.
//
// At most two hashes of strangers run at a time in a process, 38 MiB in all. On a machine with
// fewer than four processors it is one. So a flood of sign-ins takes half of a machine away from
// deliveries and not all of it. The same number runs for callers known by a session or by their
// browser: no flood of strangers delays them. Others wait for up to five seconds and then get
// ports.ErrPasswordsBusy. Networks of strangers and businesses of known callers take turns, and so
// do the addresses and persons of each.
//
// # Secrets of webhooks
//
// Sealer encrypts secrets with AES-256-GCM.
//
// Sealed text is a version, the ID of the key, a random nonce and the ciphertext with its tag:
//
//	1 byte | 8 bytes | 12 bytes | as long as the text + 16 bytes
//
// The tag also authenticates the purpose and everything before the nonce. The key is derived from
// the server's secret by HKDF-SHA256, so that the same secret may serve other purposes. The key ID
// is the beginning of a hash of the key. To rotate the server's secret, keep the old one among the
// previous secrets. It still opens, but no longer seals or derives.
//
// Nonces are random: a key is good for 2^32 texts, far more than there are endpoints. A counter was
// rejected, because several processes seal.
package crypto

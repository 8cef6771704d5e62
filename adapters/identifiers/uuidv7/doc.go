// Package uuidv7 draws identifiers, references and API keys from the
// operating system's cryptographic source.
//
// IDs are UUIDs of version 7: 48 bits of milliseconds, 12 bits below them that
// only ever rise within the process, 62 random bits. Later IDs of one process
// sort behind earlier ones, also within one millisecond and when the machine's
// clock steps back. Between processes they sort as their clocks do.
package uuidv7

// Package uuidv7 draws identifiers, references and API keys from the
// operating system's cryptographic source.
//
// IDs are UUIDs of version 7: 48 bits of milliseconds, 12 bits below them that
// only ever rise within the process, 62 random bits. Later IDs of one process
// sort behind earlier ones, also within one millisecond and when the clock steps
// back. Their time is that of ports.Clock, since records are deleted by the age of
// their IDs; between processes they sort as those clocks do.
package uuidv7

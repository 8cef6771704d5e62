// Package doctor implements the command that finds what would make a start fail, and how to fix
// it. It changes nothing: it rolls back what it tries in the database. It opens the
// Instruments, which are created like the adapters of a start.
package doctor

// Package doctor has the command that finds what would make a start fail, with the
// cure. It changes nothing: its attempts in the database are rolled back. It opens
// the Instruments, made as a start makes its adapters.
package doctor

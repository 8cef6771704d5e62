// Package doctor has the command that tells what a start would trip over, and the
// cure. It looks and changes nothing: what it tries in the database is rolled back.
// What it opens are the Instruments, made as a start makes its adapters.
package doctor

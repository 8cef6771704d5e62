// Package traces holds the tests of what a collector of OpenTelemetry sees of
// the real program, and of what becomes of the program when it sees nothing.
package traces

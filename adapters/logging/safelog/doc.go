// Package safelog makes the logger of a process. It lets through only values of keys
// that are known to be neither personal nor secret.
package safelog

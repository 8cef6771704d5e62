// Package memlocks keeps courtesy locks inside the process. Two processes do
// not see each other's; nothing correct depends on them.
package memlocks

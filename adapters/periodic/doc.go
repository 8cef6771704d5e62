// Package periodic has what a process does again and again by itself, without a
// request: it cleans, refreshes statistics and records the uses of keys, and shows
// of each job when it last succeeded. What is due at a time is not here: that is
// the queue's.
package periodic

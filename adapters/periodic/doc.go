// Package periodic has what a process does again and again by itself, without a
// request: it cleans, refreshes statistics and records the uses of keys, and shows
// of each job when it last succeeded, in its metrics and to the staff. Work that is due at a certain time is not
// here but in the queue.
package periodic

// Package systemclock tells the time of the machine.
//
// The time is what people and databases see: it may step when the machine's
// clock is set. Whatever measures how long something took uses the monotonic
// reading of the time package instead.
package systemclock

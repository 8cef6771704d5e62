// Package connect opens a client of Redis, from the URL of one or of a Sentinel,
// with bounds that keep a Redis which hangs from holding up requests.
package connect

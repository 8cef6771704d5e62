package server

// Bounds divides the connections that a process may have among its
// listeners; the portal gets as many as operations. Where it may open few files, they take at most five eighths of them:
// the others are for the database, Redis, webhooks and the services it asks.
func Bounds(most, files int) (live, sandbox, ops int) {
	live = min(most, files*2/5)
	return live, live / 2, max(live/16, 16)
}

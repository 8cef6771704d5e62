package server

// Bounds divides the connections of a process among its listeners. The portal gets as many as
// operations. When the process may open few files, they get at most five eighths of them: the
// others are for the database, Redis, webhooks and external services.
func Bounds(most, files int) (live, sandbox, ops int) {
	live = min(most, files*2/5)
	return live, live / 2, max(live/16, 16)
}

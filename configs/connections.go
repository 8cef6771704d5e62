package configs

// Connections divides the connections of one server process to Postgres. No share takes from
// another: work that uses all connections of one leaves the others free.
type Connections struct {
	Live, LiveLists       int // requests of live; lists, searches and feeds among them
	Sandbox, SandboxLists int
	Background            int // operations API, web sites, tracking pages, jobs; in `waybill dev` webhooks too
	// BackgroundLists serve lists, searches, reports and the map among these. If it is 0, since
	// there are few connections, they use those of Background.
	BackgroundLists int
}

// RequestLogConnections come on top in each process. So writing the request log and handling
// requests do not wait for each other's connections.
const RequestLogConnections = 1

// ConnectionsOf divides database_pool_size, which is at least 8.
func ConnectionsOf(all int) Connections {
	c := Connections{
		LiveLists: max(1, all/8), SandboxLists: max(1, all/12),
		Sandbox: max(2, all/5), Background: max(2, all/4), BackgroundLists: all / 12,
	}
	c.Live = all - c.LiveLists - c.SandboxLists - c.Sandbox - c.Background
	c.Background -= c.BackgroundLists
	return c
}

package configs

// Connections are how the connections that one server process holds to Postgres
// are shared out. No share takes from another: what keeps all connections of one
// busy leaves the others as they are.
type Connections struct {
	Live, LiveLists       int // requests of live; lists, searches and feeds among them
	Sandbox, SandboxLists int
	Background            int // operations API, tracking pages, jobs; in `waybill dev` webhooks too
}

// RequestLogConnections are one process's beside all those: what writes the request
// log takes none from requests, and is kept from none by them.
const RequestLogConnections = 1

// ConnectionsOf shares out database_pool_size, which is at least 8.
func ConnectionsOf(all int) Connections {
	c := Connections{
		LiveLists: max(1, all/8), SandboxLists: max(1, all/12),
		Sandbox: max(2, all/5), Background: max(2, all/4),
	}
	c.Live = all - c.LiveLists - c.SandboxLists - c.Sandbox - c.Background
	return c
}

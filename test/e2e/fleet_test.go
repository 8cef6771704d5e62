package e2e

import (
	"testing"

	"waybill/test/backend"
)

// fleet is a layout of production on one Postgres and one Redis: a server, and
// a worker that a test starts.
type fleet struct {
	*server
	worker *server
}

func startFleet(t *testing.T, settings ...string) *fleet {
	t.Helper()
	s := prepare(t, postgres, append(settings, "WAYBILL_REDIS_URL="+backend.OwnRedis(t).URL, "WAYBILL_RATE_LIMIT_PER_KEY=1000000/60s",
		"WAYBILL_KEY_PEPPER=the-pepper-of-a-whole-fleet-in-a-test", "WAYBILL_SECRET_KEY=the-secret-of-a-whole-fleet-in-a-test")...)
	s.hide("the-pepper-of-a-whole-fleet-in-a-test", "the-secret-of-a-whole-fleet-in-a-test")
	s.args = []string{"serve"}
	s.launch(t)
	t.Cleanup(func() { s.stop(t) })
	w := &server{dialect: s.dialect, args: []string{"worker"}, dir: t.TempDir(), env: s.env, secrets: s.secrets, connections: s.connections}
	return &fleet{s, w}
}

// work starts the worker until the test ends.
func (f *fleet) work(t *testing.T) {
	t.Helper()
	f.worker.launch(t)
	t.Cleanup(func() { f.worker.stop(t) })
}

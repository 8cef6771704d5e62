package main

import (
	"slices"
	"strings"
	"testing"

	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/term"
	"waybill/adapters/storage/gormstore"
	"waybill/test/backend"
)

// Port 1 answers nothing.
const noReplica = "WAYBILL_DATABASE_REPLICA_URLS=postgres://waybill:hunter22@127.0.0.1:1/waybill"

func TestAReplicaThatDoesNotAnswerIsToldOfAndStopsNothing(t *testing.T) {
	t.Parallel()
	url := backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
	environ := append(served(t), "WAYBILL_DATABASE_URL="+url, noReplica) // the later one counts
	found(t, examined(t, t.TempDir(), environ...), doctor.VerdictWarn, "replicas", "127.0.0.1:1", "does not answer")
	_, v := startServe(t, environ)
	_, key := madeKey(t, environ, "live")
	if code, answer := call(t, "GET", v.Live+"/deliveries", key, ""); code != 200 {
		t.Errorf("a list is answered %d, %v", code, answer)
	}
	if ready := readAll(t, v.Ops+"/readyz"); !strings.Contains(ready, "degraded: replicas") {
		t.Errorf("readiness: %s", ready)
	}
	metrics := strings.Split(readAll(t, v.Ops+"/metrics"), "\n")
	for _, want := range []string{`waybill_database_lists_total{server="primary"} 1`, `waybill_database_lists_total{server="127.0.0.1:1"} 0`,
		`waybill_database_replica_lag_seconds{replica="127.0.0.1:1"} `, `waybill_database_replica_behind_bytes{replica="127.0.0.1:1"} `,
		`waybill_ready_check{check="replicas"} 0`} {
		if !slices.ContainsFunc(metrics, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("no metric %s", want)
		}
	}
}

func TestReplicasOfASQLiteFileAreRefused(t *testing.T) {
	t.Parallel()
	o := command(t, append(served(t), noReplica), "serve")
	if o.code == term.ExitOK || !strings.Contains(o.stderr, "a SQLite file, which has no replicas") || strings.Contains(o.stderr, "hunter22") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

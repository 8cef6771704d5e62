package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func init() {
	furnish = append(furnish, furnishProcesses)
}

// furnishProcesses has a server that knows of failures, a worker that fell silent and one
// that was ended.
func furnishProcesses(t *testing.T, s *scene) {
	t.Helper()
	now := s.Clock.Now()
	process := func(role, host string, seen time.Duration, change func(*domain.ProcessFacts)) {
		p := domain.Process{ID: s.IDs.ID(domain.PrefixProcess), StartedAt: now.Add(-time.Hour), SeenAt: now.Add(-seen),
			ProcessFacts: domain.ProcessFacts{Role: role, Host: host, PID: 7, Version: "1.4.0"}}
		change(&p.ProcessFacts)
		if err := s.Store.KeepProcess(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	process("serve", "accra-1", 0, func(f *domain.ProcessFacts) {
		f.Jobs = []domain.JobRun{{Name: "cleaning", Every: time.Minute, EndedAt: now.Add(-time.Minute), Failed: "the disk is full"},
			{Name: "moves", Every: time.Second, EndedAt: now, Succeeded: now}, {Name: "resealing", Every: time.Hour}}
		f.Pools = []domain.PoolState{{Name: "live", Open: 8, InUse: 8, Most: 8, Waited: 1500 * time.Millisecond},
			{Name: "sandbox", Open: 2, InUse: 0, Most: 8}}
		f.Services = []domain.ServiceState{{Name: "pricing", Environment: domain.Live, GoneSince: &now},
			{Name: "pricing", Environment: domain.Sandbox}}
	})
	process("worker", "accra-2", 2*domain.ProcessSilent, func(*domain.ProcessFacts) {})
	process("worker", "accra-3", 2*domain.ProcessSilent, func(f *domain.ProcessFacts) { f.Ended = true })
	s.records = append(s.records, "accra-1", "the disk is full")
}

func TestQueuesShowWhatEachProcessTellsOfItself(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.signedIn(t, domain.RoleViewer).get("/queues")
	_, processes, _ := strings.Cut(p.body, `<h2 id="processes">`)
	processes, _, _ = strings.Cut(processes, "</section>")
	rows := strings.Split(processes, "<tr data-id=")
	if p.status != http.StatusOK || len(rows) != 4 {
		t.Fatalf("%d, with %d rows\n%s", p.status, len(rows)-1, processes)
	}
	for i, want := range [][]string{
		{"serve 1.4.0", "accra-1, PID 7", ">Running<", "pricing does not answer", "<small>live, since", "cleaning failed", "the disk is full",
			"connections of live", "resealing, every 1h0m0s: no run yet", "0 in use, 2 open, 8 maximum", "total wait 1.5s"},
		{"accra-2", ">Not responding<", "last seen"},
		{"accra-3", ">Stopped<", "last seen"},
	} {
		for _, text := range want {
			if !strings.Contains(rows[i+1], text) {
				t.Errorf("row %d is without %q\n%s", i+1, text, rows[i+1])
			}
		}
	}
	if strings.Contains(processes, "<small>sandbox, since") || strings.Contains(rows[1], "last seen") {
		t.Error("what is well is shown as if it were not")
	}
}

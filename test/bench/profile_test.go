package main

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

func TestASampleBelongsToWhomItIsSpentFor(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		stack string // innermost first
		part  part
		group string
	}{
		"a read of a connection to Postgres": {"syscall.Syscall internal/poll.(*FD).Read net.(*conn).Read " +
			"github.com/jackc/pgx/v5/pgconn.(*PgConn).peekMessage" +
			" waybill/adapters/storage/gormstore.(*folder).work", forDatabase, ""},
		"a read of a request": {"syscall.Syscall net.(*conn).Read net/http.(*conn).serve", forProgram, "net/http"},
		"a handler": {"runtime.mallocgc waybill/adapters/httpapi.(*API).createDelivery " +
			"github.com/gin-gonic/gin.(*Context).Next net/http.(*conn).serve", forProgram, "the API"},
		"strict JSON": {"github.com/go-json-experiment/json/jsontext.(*Decoder).ReadToken " +
			"waybill/adapters/web/strictjson.Read waybill/adapters/httpapi.(*API).serve", forProgram, "JSON"},
		"a rule": {"waybill/domain.NewDelivery waybill/application/deliveries.(*Deliveries).Create " +
			"waybill/adapters/httpapi.x", forProgram, "use cases"},
		"a call back in a transaction": {"waybill/application/webhooks.f waybill/adapters/storage/gormstore.(*Store).InTx " +
			"waybill/adapters/httpapi.x", forProgram, "use cases"},
		"a row that is mapped": {"waybill/domain.FormatTime waybill/adapters/storage/gormstore.instant.Value database/sql.f " +
			"waybill/application/deliveries.g", forDatabase, ""},
		"a pool":            {"sync.(*Mutex).Lock database/sql.(*DB).conn gorm.io/gorm.(*DB).Exec", forDatabase, ""},
		"the main function": {"time.Now main.main", forProgram, "other"},
		"a mark worker":     {"runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker.func2", forCollector, ""},
		"an assist":         {"runtime.gcDrainN runtime.gcAssistAlloc1 runtime.mallocgc waybill/adapters/httpapi.x", forCollector, ""},
		"looking for work":  {"runtime.futex runtime.findRunnable runtime.schedule runtime.mcall", forScheduler, ""},
		"the profiler":      {"compress/flate.f runtime/pprof.profileWriter", forProfiler, ""},
		"a namesake":        {"main.x gormish.io/y.f", forProgram, "other"},
	} {
		part, group := spenderOf(strings.Fields(c.stack))
		if part != c.part || group != c.group {
			t.Errorf("%s: part %d %q, want %d %q", what, part, group, c.part, c.group)
		}
	}
	for symbol, want := range map[string]string{
		"net/http.(*conn).serve": "net/http", "main.main": "main", "waybill/domain.X[go.shape.string]": "waybill/domain",
		"github.com/jackc/pgx/v5.(*Conn).Exec.func1": "github.com/jackc/pgx/v5", "memmove": "memmove",
	} {
		if got := packageOf(symbol); got != want {
			t.Errorf("the package of %s is %q, want %q", symbol, got, want)
		}
	}
	if below("gorm.iota", "gorm.io") || !below("gorm.io/gorm", "gorm.io") {
		t.Error("a package lies in another by its name and a slash")
	}
}

// profileOf has a sample for each stack.
func profileOf(kind string, values map[string]int64) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples"}, {Type: kind}}}
	for stack, value := range values {
		s := &profile.Sample{Value: []int64{1, value}}
		for name := range strings.FieldsSeq(stack) {
			s.Location = append(s.Location, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}})
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func TestTheRuntimeIsSharedOut(t *testing.T) {
	t.Parallel()
	processor, err := spendingOf(profileOf("cpu", map[string]int64{
		"net/http.f": 20, "waybill/domain.g waybill/application/bulk.f": 10, "github.com/jackc/pgx/v5.f": 30,
		"runtime.gcBgMarkWorker": 20, "runtime.schedule": 10, "runtime/pprof.f": 10,
	}), "cpu")
	if err != nil {
		t.Fatal(err)
	}
	allocated, err := spendingOf(profileOf("alloc_space", map[string]int64{"net/http.f": 1000, "gorm.io/gorm.f": 1000, "os.f": 9999}),
		"alloc_space")
	if err != nil {
		t.Fatal(err)
	}
	s := profiled{processor, allocated}.shares()
	want := shares{0.3, 0.3, 0.2, 0.1, 0.1, 0.1, 0.05}
	if s != want || math.Abs(s.forProgram()-0.45) > 1e-9 {
		t.Errorf("shares %+v, for the program %v; want %+v and 0.45", s, s.forProgram(), want)
	}
	if processor.groups["net/http"] != 20 || processor.groups["use cases"] != 10 {
		t.Errorf("groups %v", processor.groups)
	}
	if (profiled{}).shares() != (shares{}) {
		t.Error("nothing has no shares")
	}
	if _, err := spendingOf(profileOf("cpu", nil), "alloc_space"); err == nil {
		t.Error("a profile of something else is read")
	}

	// A create that cost 100 us.
	subject := &subject{rounds: []measurement{{operations: 10, server: 1_000_000, profile: &profiled{processor, allocated}}}}
	var page strings.Builder
	printProfile(&page, subject)
	for _, line := range []string{"(100 in all)", "the program itself         30.0   net/http 20.0, use cases 10.0\n",
		"not for the database       45.0 "} {
		if !strings.Contains(page.String(), line) {
			t.Errorf("%q is not in\n%s", line, page.String())
		}
	}
}

func TestAProfileOfALivingServerIsRead(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.Handle("/debug/pprof/allocs", pprof.Handler("allocs"))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	b := &bench{options: options{duration: time.Second, profiles: t.TempDir()}}
	m, err := b.record(t.Context(), &server{ops: s.URL}, "", 0, func() (measurement, error) { return measurement{operations: 7}, nil })
	if err != nil || m.operations != 7 || m.profile == nil {
		t.Errorf("%+v, %v", m, err)
	}
	kept, err := os.Open(filepath.Join(b.profiles, "profile-1.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	if _, err := profile.Parse(kept); err != nil {
		t.Error(err)
	}
	if _, err := fetchProfile(context.WithoutCancel(t.Context()), s.URL+"/debug/pprof/nothing"); err == nil ||
		!strings.Contains(err.Error(), "404") {
		t.Errorf("a profile that is not there: %v", err)
	}
}

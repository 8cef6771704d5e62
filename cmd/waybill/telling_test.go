package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/clock"
	"waybill/adapters/periodic"
	"waybill/adapters/storage/gormstore"
	"waybill/adapters/telemetry"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// heard is a database that records the reports of a process.
type heard struct {
	ports.Database
	mu    sync.Mutex
	words []domain.Process
	fails bool
}

func (h *heard) KeepProcess(_ context.Context, p domain.Process) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fails {
		return errors.New("the database is gone")
	}
	h.words = append(h.words, p)
	return nil
}

func (h *heard) fail(fails bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fails = fails
}

func TestAProcessTellsOfItsJobsAndServicesUntilItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		r, h := prometheus.NewRegistry(), &heard{}
		j, outages := periodic.New(r, slog.New(slog.DiscardHandler)), telemetry.NewOutages(r, slog.New(slog.DiscardHandler))
		routing := outages.Of("routing")
		var all sync.WaitGroup
		all.Go(func() {
			_ = periodic.NewTeller(j, h, nil, outages, clock.NewSystem(), &stage.IDs{}).Task("worker", "1.2")(ctx)
		})
		all.Go(func() {
			j.Run(ctx, periodic.Job{Name: "weaving", Every: time.Second, Limit: time.Second, Do: func(context.Context) (time.Duration, error) {
				return 0, errors.New("no wool\nat all")
			}})
		})
		told := func(seconds time.Duration, words int) domain.Process {
			time.Sleep(seconds * time.Second)
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			if len(h.words) != words {
				t.Fatalf("it told %d times, want %d", len(h.words), words)
			}
			return h.words[words-1]
		}
		if first := told(5, 1); first.Role != "worker" || first.Version != "1.2" || first.PID == 0 || first.StartedAt.IsZero() || first.Ended {
			t.Errorf("the first word is %+v", first)
		}
		routing(domain.Live, true)
		second := told(6, 2)
		if len(second.Jobs) != 2 || second.Jobs[1].Name != "weaving" || second.Jobs[1].Failed != "no wool" ||
			second.Jobs[1].EndedAt.IsZero() || !second.Jobs[1].Succeeded.IsZero() || second.Jobs[0].Succeeded.IsZero() {
			t.Errorf("its jobs are %+v", second.Jobs)
		}
		if s := second.Services; len(s) != 2 || s[0].Environment != domain.Live || s[0].GoneSince == nil || s[1].GoneSince != nil {
			t.Errorf("its services are %+v", s)
		}
		routing(domain.Live, false)
		h.fail(true)
		told(30, 2)
		h.fail(false)
		if again := told(10, 3); again.ID != second.ID || again.Services[0].GoneSince != nil || again.Services[0].LastGone == nil {
			t.Errorf("after the database was gone it told %+v", again)
		}
		stop()
		all.Wait()
		if last := told(0, 4); !last.Ended {
			t.Errorf("its last word is %+v", last)
		}
	})
}

func TestAServerAndAWorkerTellOfThemselvesInTheDatabase(t *testing.T) {
	t.Parallel()
	environ := served(t)
	server, _ := startServe(t, environ)
	worker, _ := startWorker(t, environ)
	at := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, "WAYBILL_DATABASE_URL=") })
	store, err := gormstore.Open(t.Context(), strings.TrimPrefix(environ[at], "WAYBILL_DATABASE_URL="), gormstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	list := func() (all []domain.Process) {
		all, err := store.Read().Machinery.Processes(t.Context(), time.Now().Add(-time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	eventually(t, "both are told of", func() bool { return len(list()) == 2 })
	server.terminate(t)
	worker.terminate(t)
	var roles []string
	for _, p := range list() {
		roles = append(roles, p.Role)
		if !p.Ended || p.Version != version || len(p.Pools) == 0 || len(p.Jobs) < 5 {
			t.Errorf("%s was ended, and told %+v", p.Role, p)
		}
	}
	if got := strings.Join(roles, " "); got != "serve worker" {
		t.Errorf("the roles are %q", got)
	}
}

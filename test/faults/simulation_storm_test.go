package faults

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/test/backend"
)

// longestScenario is the most waits that a scenario has.
const longestScenario = 8

// TestStormOnSimulationsLosesAndDoublesNothing plays simulations while Redis is emptied
// again and again, workers die, Redis is gone for a while, and the database crashes.
func TestStormOnSimulationsLosesAndDoublesNothing(t *testing.T) {
	alongside(t)
	simulations, stepSeconds, workers := 200, 1, 2
	gone, pause, rounds := time.Second, 100*time.Millisecond, 3
	if full() {
		simulations, stepSeconds = 5000, domain.DefaultStepSeconds
		gone, pause, rounds = 10*time.Second, 500*time.Millisecond, 20
	}
	server, database := backend.OwnRedis(t), ownPostgres(t)
	p := newPlayground(t, setting{
		dialect: Postgres, url: database.URL, redis: server.URL, servers: 1, workers: workers,
		apps: (simulations + domain.MaxRunningSimulations - 1) / domain.MaxRunningSimulations,
	})
	p.begin(t, simulations, stepSeconds)
	direct := openRedis(t, server.URL)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range rounds {
		must(direct.FlushAll(t.Context()).Err())
		time.Sleep(pause)
		p.lives[n%len(p.lives)].Kill()
		time.Sleep(pause)
		p.revive(t, n%len(p.lives))
		switch n {
		case rounds / 3:
			server.Kill()
			time.Sleep(gone)
			must(server.Restart(t.Context()))
		case 2 * rounds / 3:
			must(database.Kill())
			time.Sleep(gone / 10)
			must(database.Restart(t.Context()))
		}
	}
	a := p.settle(t, time.Duration(longestScenario*stepSeconds)*time.Second+time.Minute)
	t.Log(a)
	if !a.sound() {
		t.Error("want nothing lost, doubled or early")
	}
}

// revive starts a worker again.
func (p *playground) revive(t *testing.T, worker int) {
	t.Helper()
	var err error
	if p.lives[worker], err = p.workers[worker].launch(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.lives[worker].Kill)
}

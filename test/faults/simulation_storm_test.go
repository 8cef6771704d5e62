package faults

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/test/redis"
)

// punctual is within which 99 of 100 steps have to come on Postgres when nothing
// is wrong.
const punctual = 150 * time.Millisecond

// longestScenario is the most waits that a scenario has.
const longestScenario = 8

// spell is a crowd of simulations, which are all started before anything
// happens to them.
type spell struct {
	dialect     Dialect
	simulations int
	stepSeconds int
	workers     int
	mutant      string
	grace       time.Duration // how late all may be in the end; 0: a minute
}

// apps is how many applications it takes to run them.
func (s spell) apps() int {
	return (s.simulations + domain.MaxRunningSimulations - 1) / domain.MaxRunningSimulations
}

// patience is how long all of them may take.
func (s spell) patience() time.Duration {
	return time.Duration(longestScenario*s.stepSeconds)*time.Second + cmp.Or(s.grace, time.Minute)
}

// TestSimulationsAreNotEarlyAndHardlyLate tells how late steps are with many
// simulations. The small version asserts no delay: the machine may be busy.
func TestSimulationsAreNotEarlyAndHardlyLate(t *testing.T) {
	spells := map[string]spell{
		"Postgres with a worker": {dialect: Postgres, simulations: 300, stepSeconds: 1, workers: 1},
		"Postgres with two":      {dialect: Postgres, simulations: 300, stepSeconds: 1, workers: 2},
		"SQLite in one process":  {dialect: SQLite, simulations: 300, stepSeconds: 1},
	}
	for name, s := range spells {
		t.Run(name, func(t *testing.T) {
			alongside(t)
			if full() {
				s.simulations, s.stepSeconds = 5000, domain.DefaultStepSeconds
			}
			if s.dialect == SQLite {
				s.simulations /= 5 // one step at a time is stored
			}
			a := s.calm(t)
			t.Log(a)
			if !a.sound() {
				t.Error("want nothing lost, doubled or early")
			}
			if full() && s.dialect == Postgres && a.quantile(990) > punctual {
				t.Errorf("want 99 of 100 steps within %s", punctual)
			}
		})
	}
}

// calm plays them while nothing goes wrong.
func (s spell) calm(t *testing.T) account {
	t.Helper()
	of := setting{dialect: s.dialect, servers: 1, workers: s.workers, apps: s.apps(), mutant: s.mutant}
	if s.dialect == Postgres {
		of.redis = redis.Own(t).URL
	}
	p := newPlayground(t, of)
	begun := time.Now()
	p.begin(t, s.simulations, s.stepSeconds)
	t.Logf("%d simulations were started in %.1f s", s.simulations, time.Since(begun).Seconds())
	return p.settle(t, s.patience())
}

func TestStormOnSimulationsLosesAndDoublesNothing(t *testing.T) {
	alongside(t)
	s := spell{dialect: Postgres, simulations: 300, stepSeconds: 1, workers: 2}
	if full() {
		s.simulations, s.stepSeconds = 5000, domain.DefaultStepSeconds
	}
	a := s.stormy(t)
	t.Log(a)
	if !a.sound() {
		t.Error("want nothing lost, doubled or early")
	}
}

// stormy plays them while Redis is emptied again and again, workers die, Redis
// is gone for a while, and the database crashes.
func (s spell) stormy(t *testing.T) account {
	t.Helper()
	server, database := redis.Own(t), ownPostgres(t)
	p := newPlayground(t, setting{
		dialect: Postgres, url: database.URL, redis: server.URL, servers: 1, workers: s.workers, apps: s.apps(), mutant: s.mutant,
	})
	p.begin(t, s.simulations, s.stepSeconds)
	gone, pause, rounds := time.Second, 100*time.Millisecond, 3
	if full() {
		gone, pause, rounds = 10*time.Second, 500*time.Millisecond, 20
	}
	direct := openRedis(t, server.URL)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	flushes, deaths := 0, 0
	for n := range rounds {
		must(direct.FlushAll(t.Context()).Err())
		flushes++
		time.Sleep(pause)
		p.lives[n%len(p.lives)].kill()
		deaths++
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
	t.Logf("%d times emptied, %d deaths, Redis gone for %s, the database crashed; %d simulations still run", flushes, deaths, gone,
		p.running(t))
	return p.settle(t, s.patience())
}

// TestSimulationsThatWereMissedAreCaughtUp starts a worker when the first steps
// of all simulations are overdue.
func TestSimulationsThatWereMissedAreCaughtUp(t *testing.T) {
	alongside(t)
	s := spell{dialect: Postgres, simulations: 300, stepSeconds: 2, workers: 1}
	if full() {
		s.simulations, s.stepSeconds = 5000, domain.DefaultStepSeconds
	}
	p := newPlayground(t, setting{dialect: Postgres, redis: redis.Own(t).URL, servers: 1, workers: 1, apps: s.apps()})
	p.lives[0].kill()
	p.begin(t, s.simulations, s.stepSeconds)
	time.Sleep(time.Duration(s.stepSeconds) * time.Second)
	begun := time.Now()
	p.revive(t, 0)
	const overdue = "SELECT count(*) FROM deliveries WHERE simulation_step = 0 AND simulation_next_at <= now()"
	until(t, "nothing is overdue", s.patience(), func() bool {
		var n int
		err := p.db.QueryRowContext(t.Context(), overdue).Scan(&n)
		return err == nil && n == 0
	})
	t.Logf("a worker had caught up %.1f s after its start", time.Since(begun).Seconds())
	if a := p.settle(t, s.patience()); !a.sound() {
		t.Error(a)
	}
}

// revive starts a worker again.
func (p *playground) revive(t *testing.T, worker int) {
	t.Helper()
	var err error
	if p.lives[worker], err = p.workers[worker].launch(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.lives[worker].kill)
}

// TestSimulationsNoticeMutants shows what the spells above are worth.
func TestSimulationsNoticeMutants(t *testing.T) {
	small := spell{dialect: Postgres, simulations: 100, stepSeconds: 1, workers: 1, grace: 5 * time.Second}
	bugs := []struct {
		mutant  string
		play    func(spell, *testing.T) account
		noticed func(account) bool
	}{
		{"simulation_early", spell.calm, func(a account) bool {
			return a.early > 0 && slices.ContainsFunc(a.breaches, func(b Breach) bool { return b.Rule == "a step of a simulation is not early" })
		}},
		{"simulation_forgotten", spell.stormy, func(a account) bool { return a.unended > 0 && a.lost > 0 }},
	}
	for _, b := range bugs {
		t.Run(b.mutant, func(t *testing.T) {
			t.Parallel()
			s := small
			s.mutant = b.mutant
			var a account
			for range 3 { // a bug that shows by chance may not do so at once
				if a = b.play(s, t); b.noticed(a) {
					t.Log(a)
					return
				}
			}
			t.Errorf("nothing was noticed, with that bug in the program: %s", a)
		})
	}
}

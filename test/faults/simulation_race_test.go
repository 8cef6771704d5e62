package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
	"waybill/test/redis"
)

// races is how many of a kind are run.
func races() int {
	if full() {
		return 2000
	}
	return 200
}

// alongside lets the small forms run beside each other: mostly they wait.
func alongside(t *testing.T) {
	t.Helper()
	if !full() {
		t.Parallel()
	}
}

// arena is a playground of two servers and a worker, or of the one process
// that SQLite has, and applications enough for what runs at a time.
func arena(t *testing.T, dialect Dialect, mutant string) *playground {
	t.Helper()
	of := setting{dialect: dialect, servers: 2, workers: 1, apps: 2, mutant: mutant}
	if dialect == Postgres {
		of.redis = redis.Own(t).URL
	}
	return newPlayground(t, of)
}

// verdict is what a number of races came to.
type verdict struct {
	races    int
	outcomes map[string]int // of those that went as they may
	wrong    map[string]int
	breaches []Breach
}

func (v *verdict) String() string {
	return fmt.Sprintf("%d races: %s; wrong: %s; %d rules broken %v", v.races, counts(v.outcomes), counts(v.wrong), len(v.breaches),
		v.breaches)
}

func (v *verdict) sound() bool { return len(v.wrong) == 0 && len(v.breaches) == 0 }

// contend runs races, some at a time, and notes what each came to.
func (p *playground) contend(t *testing.T, n, atOnce int, race func(ctx context.Context, app *sender, c *clerk) (outcome string,
	ok bool)) *verdict {
	t.Helper()
	v := &verdict{races: n, outcomes: map[string]int{}, wrong: map[string]int{}}
	var next atomic.Int64
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range atOnce {
		group.Go(func() {
			c := newClerk(0, 0)
			for int(next.Add(1)) <= n {
				outcome, ok := race(t.Context(), p.apps[i%len(p.apps)], c)
				mu.Lock()
				if ok {
					v.outcomes[outcome]++
				} else {
					v.wrong[outcome]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return v
}

// judge looks at what the races left in the database, in which nothing is to
// run any more.
func (p *playground) judge(t *testing.T, v *verdict) {
	t.Helper()
	a := p.settle(t, 5*time.Second)
	for what, n := range map[string]int{
		"simulations still running": a.unended, "steps lost": a.lost, "steps after a stop": a.foreign, "steps too early": a.early,
	} {
		if n > 0 {
			v.wrong[what] += n
		}
	}
	v.breaches = a.breaches
}

// TestRacesOfSimulationsAStopIsTheEnd stops simulations at the moment at which
// a step is due. What the stop says is done is done, and nothing comes after it.
func TestRacesOfSimulationsAStopIsTheEnd(t *testing.T) {
	for _, dialect := range engines {
		t.Run(string(dialect), func(t *testing.T) {
			alongside(t)
			v := stopInTime(t, arena(t, dialect, ""), races())
			t.Log(v)
			if !v.sound() {
				t.Error("want no step after a stop that was answered")
			}
		})
	}
}

func stopInTime(t *testing.T, p *playground, n int) *verdict {
	t.Helper()
	plan := domain.Plan{Scenario: domain.ScenarioDelivered, StepSeconds: 1}
	v := p.contend(t, n, 64, func(ctx context.Context, app *sender, c *clerk) (string, bool) {
		d, err := p.book(ctx, app, c, &plan)
		if err != nil {
			return err.Error(), false
		}
		// Around when the worker is at it.
		time.Sleep(time.Until(d.Simulation.NextStepAt.Add(rand.N(20 * time.Millisecond))))
		stop := func() (reply, error) {
			return app.ask(ctx, http.MethodDelete, "/test-helpers/deliveries/"+d.ID+"/simulation", "", nil)
		}
		r, err := stop()
		for again := 0; again < 5 && err == nil && r.status == http.StatusServiceUnavailable; again++ { // on a busy machine
			r, err = stop()
		}
		if err != nil || r.status != http.StatusOK {
			return fmt.Sprintf("stop: %s %v", r, err), false
		}
		// On a machine that is busy for seconds it may have come to its end.
		if d, err = r.delivery(); err != nil || d.Simulation.Status == string(domain.SimulationRunning) {
			return fmt.Sprintf("stop: %s %v", d.Simulation.Status, err), false
		}
		p.note(d.ID, simulation{Plan: plan, stopped: d.Simulation.Step})
		return fmt.Sprintf("%s after step %d", d.Simulation.Status, d.Simulation.Step), true
	})
	time.Sleep(time.Duration(2*plan.StepSeconds) * time.Second) // what was not stopped moves on meanwhile
	p.judge(t, v)
	return v
}

// TestRacesOfSimulationsOfCancelAndPickupOneWins sends both at once.
func TestRacesOfSimulationsOfCancelAndPickupOneWins(t *testing.T) {
	for _, dialect := range engines {
		t.Run(string(dialect), func(t *testing.T) {
			alongside(t)
			v := cancelAtPickup(t, arena(t, dialect, ""), races())
			t.Log(v)
			if !v.sound() {
				t.Error("want one winner of each race, and the other told that it lost")
			}
		})
	}
}

func cancelAtPickup(t *testing.T, p *playground, n int) *verdict {
	t.Helper()
	v := p.contend(t, n, 16, func(ctx context.Context, app *sender, c *clerk) (string, bool) {
		d, err := p.book(ctx, app, c, nil)
		if err != nil {
			return err.Error(), false
		}
		transition := "/test-helpers/deliveries/" + d.ID + "/transition"
		if r, err := app.ask(ctx, http.MethodPost, transition, "", m{"status": "assigned"}); err != nil || r.status != http.StatusOK {
			return fmt.Sprintf("assign: %s %v", r, err), false
		}
		var cancel, pickup reply
		var cancelErr, pickupErr error
		var both sync.WaitGroup
		both.Go(func() { cancel, cancelErr = app.ask(ctx, http.MethodPost, "/deliveries/"+d.ID+"/cancel", "", nil) })
		both.Go(func() { pickup, pickupErr = app.ask(ctx, http.MethodPost, transition, "", m{"status": "picked_up"}) })
		both.Wait()
		last, err := app.ask(ctx, http.MethodGet, "/deliveries/"+d.ID, "", nil)
		if cancelErr != nil || pickupErr != nil || err != nil {
			return fmt.Sprint(cancelErr, pickupErr, err), false
		}
		if d, err = last.delivery(); err != nil {
			return err.Error(), false
		}
		outcome := fmt.Sprintf("cancel %s, pickup %s, then %s", cancel, pickup, d.Status)
		return outcome, outcome == "cancel 200, pickup 409 SANDBOX_TRANSITION_INVALID, then cancelled" ||
			outcome == "cancel 409 DELIVERY_NOT_CANCELLABLE, pickup 200, then picked_up"
	})
	p.judge(t, v)
	return v
}

// TestRacesOfSimulationsForTheLastPlaces starts more at once than may run.
func TestRacesOfSimulationsForTheLastPlaces(t *testing.T) {
	for _, dialect := range engines {
		t.Run(string(dialect), func(t *testing.T) {
			alongside(t)
			v := crowdIn(t, arena(t, dialect, ""))
			t.Log(v)
			if want := fmt.Sprintf("%d x 201, %d x 429 SIMULATION_LIMIT", domain.MaxRunningSimulations,
				crowd-domain.MaxRunningSimulations); !v.sound() || counts(v.outcomes) != want {
				t.Errorf("want %s", want)
			}
		})
	}
}

// crowd is how many want in.
const crowd = 400

// crowdIn starts them in one application, then stops or cancels those that
// were let in. As many are counted as run, before and after.
func crowdIn(t *testing.T, p *playground) *verdict {
	t.Helper()
	p.apps = p.apps[:1]
	plan := domain.Plan{Scenario: domain.ScenarioNoRiderFound, StepSeconds: domain.MaxStepSeconds}
	var mu sync.Mutex
	var running []string
	v := p.contend(t, crowd, crowd, func(ctx context.Context, app *sender, c *clerk) (string, bool) {
		key, body := order(c, &plan)
		for {
			r, err := app.ask(ctx, http.MethodPost, singlePath, key, body)
			switch {
			case err != nil:
				return err.Error(), false
			case r.mayBeRepeated():
				time.Sleep(singlePause)
				continue
			case r.status == http.StatusCreated:
				d, err := r.delivery()
				mu.Lock()
				running = append(running, d.ID)
				mu.Unlock()
				return r.String(), err == nil
			case r.code == string(domain.CodeSimulationLimit):
				// The first of them ends when its last step is due.
				longest := 3 * plan.StepSeconds
				if r.retryAfter < 1 || r.retryAfter > longest {
					return fmt.Sprintf("Retry-After: %d", r.retryAfter), false
				}
			}
			return r.String(), r.code == string(domain.CodeSimulationLimit)
		}
	})
	if n := p.running(t); n != len(running) {
		v.wrong[fmt.Sprintf("%d run, and %d were told so", n, len(running))]++
	}
	v.breaches = check(t, p.db, p.dialect) // as many are counted as run
	var group sync.WaitGroup
	next := make(chan int)
	for range clients {
		group.Go(func() {
			for i := range next {
				method, path := http.MethodDelete, "/test-helpers/deliveries/"+running[i]+"/simulation"
				if i%2 == 0 {
					method, path = http.MethodPost, "/deliveries/"+running[i]+"/cancel"
				}
				if r, err := p.apps[0].ask(t.Context(), method, path, "", nil); err != nil || r.status != http.StatusOK {
					t.Errorf("%s %s: %s %v", method, path, r, err)
				}
			}
		})
	}
	for i := range running {
		next <- i
	}
	close(next)
	group.Wait()
	var counted int
	if err := p.db.QueryRowContext(t.Context(), "SELECT sum(running) FROM simulation_counts").Scan(&counted); err != nil || counted != 0 {
		v.wrong[fmt.Sprintf("%d are counted when none runs (error %v)", counted, err)]++
	}
	v.breaches = append(v.breaches, check(t, p.db, p.dialect)...)
	return v
}

// TestRacesOfSimulationsNoticeMutants shows what the races above are worth.
func TestRacesOfSimulationsNoticeMutants(t *testing.T) {
	bugs := []struct {
		name, mutant string
		run          func(*testing.T, *playground) *verdict
		noticed      func(*verdict) bool
	}{
		{"a stop", "simulation_unlocked", func(t *testing.T, p *playground) *verdict { return stopInTime(t, p, 100) },
			func(v *verdict) bool { return v.wrong["steps after a stop"] > 0 }},
		{"cancel and pickup", "simulation_unlocked", func(t *testing.T, p *playground) *verdict { return cancelAtPickup(t, p, 50) },
			func(v *verdict) bool { return !v.sound() }},
		{"the last places", "simulation_counted", crowdIn,
			func(v *verdict) bool { return v.outcomes["201"] > domain.MaxRunningSimulations && len(v.breaches) > 0 }},
	}
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			var v *verdict
			for range 3 { // a bug that shows by chance may not do so at once
				if v = b.run(t, arena(t, Postgres, b.mutant)); b.noticed(v) {
					t.Log(v)
					return
				}
			}
			t.Errorf("nothing was noticed, with that bug in the program: %s", v)
		})
	}
}

package faults

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// full says that the storms are to have their whole size.
func full() bool { return os.Getenv("WAYBILL_STORM") == "full" }

// storm is a number of orders sent to servers that keep dying.
type storm struct {
	engine  string
	orders  int
	deaths  int // at least
	doubled int // per cent of the orders that are sent more than once at a time
	shared  int // per cent of the orders that go to the same few people
	plant   string
}

// servers is how many processes share the database.
func (s storm) servers() int {
	if s.engine == pg {
		return 2
	}
	return 1 // a SQLite file has one
}

const (
	clients = 12
	// stormPatience bounds a storm; it ends when all orders are answered.
	stormPatience = 15 * time.Minute
)

func TestStormOnSingleCreatesLosesAndDoublesNothing(t *testing.T) {
	storms := []storm{
		{engine: pg, orders: 400, deaths: 20, doubled: 30, shared: 40},
		{engine: sqlite, orders: 400, deaths: 20, doubled: 30, shared: 40},
	}
	if full() {
		storms[0].orders, storms[0].deaths = 10_000, 200
		storms[1].orders, storms[1].deaths = 2_000, 100
	}
	for _, s := range storms {
		t.Run(s.engine, func(t *testing.T) {
			o := s.rage(t)
			t.Log(o)
			if !o.sound() {
				t.Errorf("what went wrong:\n%s", o.report())
			}
			if o.deaths < s.deaths {
				t.Errorf("%d deaths, want at least %d", o.deaths, s.deaths)
			}
		})
	}
}

// TestStormNoticesPlantedBugs runs the same storms, smaller, against programs
// with one rule broken. What they find shows what they would find.
func TestStormNoticesPlantedBugs(t *testing.T) {
	type bug struct {
		storm
		noticed func(outcome) bool
		as      string
	}
	breach := func(rule string) func(o outcome) bool {
		return func(o outcome) bool {
			return slices.ContainsFunc(o.breaches, func(b Breach) bool { return b.Rule == rule })
		}
	}
	doubled := func(o outcome) bool { return o.doubled > 0 && breach("a delivery has one key")(o) }
	lost := func(o outcome) bool {
		return o.lost > 0 && breach("a key that was answered names a delivery that exists")(o)
	}
	accused := func(o outcome) bool { return o.wrong["409 EXTERNAL_ID_CONFLICT"] > 0 }
	// Where the deaths alone are to show it, no order is sent twice at a time and
	// none shares anything with another.
	bugs := []bug{
		{storm{engine: sqlite, orders: 150, deaths: 8, plant: "key_own_commit"}, doubled, "doubled deliveries"},
		{storm{engine: sqlite, orders: 150, deaths: 8, plant: "key_own_commit_first"}, lost, "lost deliveries"},
		{storm{engine: pg, orders: 250, deaths: 4, doubled: 100, plant: "key_last"}, accused, "conflicts with an own delivery"},
	}
	if full() {
		bugs = append(bugs,
			bug{storm{engine: pg, orders: 1_000, deaths: 40, plant: "key_own_commit"}, doubled, "doubled deliveries"},
			bug{storm{engine: pg, orders: 1_000, deaths: 40, plant: "key_own_commit_first"}, lost, "lost deliveries"},
		)
		bugs[2].orders = 1_000
	}
	for _, b := range bugs {
		t.Run(b.plant+" on "+b.engine, func(t *testing.T) {
			const tries = 3
			for range tries {
				o := b.rage(t)
				t.Log(o)
				if b.noticed(o) {
					return
				}
			}
			t.Errorf("%d storms found no %s, with that bug in the program", tries, b.as)
		})
	}
}

// rage runs the storm and looks at what it left.
func (s storm) rage(t *testing.T) outcome {
	t.Helper()
	if testing.Short() {
		t.Skip("kills real servers; left out in short mode")
	}
	url, env, binary := s.place(t)
	c := enroll(t, binary, env)
	var victims []*victim
	var begun atomic.Int64 // orders
	hurried := func() bool {
		return int64(deathsOf(victims)*s.orders) > 3*begun.Load()*int64(s.deaths)
	}
	for range s.servers() {
		victims = append(victims, newVictim(t, binary, env, hurried))
	}
	orders := takeOrders(s.orders, s.doubled, s.shared)
	sender := newSender(c, victims)
	defer sender.client.CloseIdleConnections()

	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), stormPatience)
	defer cancel()
	calm := make(chan struct{})
	ended := make(chan error, len(victims))
	for _, v := range victims {
		go func() {
			err := v.haunt(ctx, calm)
			if err != nil {
				cancel() // nobody is left to answer
			}
			ended <- err
		}()
	}
	s.sendAll(ctx, sender, orders, victims, &begun)
	lasted := time.Since(began)
	close(calm)
	replayAll(ctx, sender, orders, victims)
	cancel()
	for range victims {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}

	o := outcome{storm: s, lasted: lasted, seen: sender.seen}
	for _, v := range victims {
		o.deaths += int(v.deaths.Load())
	}
	o.examine(t, openDatabase(t, url), orders)
	return o
}

// place makes a migrated database and the settings for it.
func (s storm) place(t *testing.T) (url string, env []string, binary string) {
	t.Helper()
	var err error
	if s.plant == "" {
		binary, err = program()
	} else {
		binary, err = plantedProgram()
	}
	if err != nil {
		t.Fatal(err)
	}
	url = freshDatabase(t, s.engine)
	env = settings(url)
	if s.plant != "" {
		env = append(env, "WAYBILL_PLANT="+s.plant)
	}
	return url, env, binary
}

// settings are those of every server here.
func settings(url string) []string {
	return []string{
		"WAYBILL_DATABASE_URL=" + url,
		"WAYBILL_KEY_PEPPER=" + strings.Repeat("5a", 32), "WAYBILL_SECRET_KEY=" + strings.Repeat("a5", 32),
		"WAYBILL_RATE_LIMIT_PER_KEY=1000000/1s",
		"WAYBILL_LOG_LEVEL=warn",
	}
}

// sendAll sends every order, no faster than the servers die.
func (s storm) sendAll(ctx context.Context, sender *sender, orders []*order, victims []*victim, begun *atomic.Int64) {
	work := make(chan *order)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for o := range work {
				var sends sync.WaitGroup
				for range o.sends {
					sends.Go(func() { sender.send(ctx, o) })
				}
				sends.Wait()
			}
		})
	}
	for i, o := range orders {
		for i*(s.deaths+2) > (deathsOf(victims)+1)*len(orders) && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // until the next death
		}
		work <- o
		begun.Add(1)
	}
	close(work)
	group.Wait()
}

func deathsOf(victims []*victim) int {
	sum := 0
	for _, v := range victims {
		sum += int(v.deaths.Load())
	}
	return sum
}

// replayAll asks every server once more about every order, now that all stay up.
func replayAll(ctx context.Context, sender *sender, orders []*order, victims []*victim) {
	for _, v := range victims {
		for !v.answers(ctx) && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
	}
	work := make(chan int)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for i := range work {
				if orders[i].toldBy.body != nil {
					sender.replay(ctx, orders[i], sender.targets[i%len(sender.targets)])
				}
			}
		})
	}
	for i := range orders {
		work <- i
	}
	close(work)
	group.Wait()
}

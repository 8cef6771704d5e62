package simulation

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	sqlitedriver "modernc.org/sqlite"

	"waybill/adapters/crypto"
	"waybill/adapters/memory"
	"waybill/adapters/storage/gormstore"
	"waybill/application/access"
	"waybill/domain"
)

const (
	currency  = "GHS"
	retention = 24 * time.Hour

	trackingURL = "https://track.test"
	// patience is for how long nothing may happen while a request is under way.
	patience = 3 * time.Minute
)

// begun is when a bubble's time begins.
var begun = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func init() {
	// The database's clock is the bubble's: every statement runs in it.
	sqlitedriver.MustRegisterScalarFunction("strftime", -1, func(_ *sqlitedriver.FunctionContext, args []driver.Value) (driver.Value, error) {
		now := time.Now()
		if len(args) == 3 {
			by, _, _ := strings.Cut(fmt.Sprint(args[2]), " ")
			seconds, err := strconv.ParseFloat(by, 64)
			if err != nil {
				return nil, err
			}
			now = now.Add(time.Duration(seconds*1000) * time.Millisecond)
		}
		return domain.FormatTime(now), nil
	})
}

// migrated is an empty database. Making it once spares every world the migrations.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "waybill")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "waybill.db")
	if err := gormstore.Migrate(context.Background(), "sqlite://"+path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// world is one seed at play.
type world struct {
	seed    uint64
	rng     *rand.Rand
	path    string // of the database
	store   *gormstore.Store
	x       *crossing
	procs   []*process
	retired []*process // stopped ones that still have something to end
	clients []*client
	nobody  *task

	actions int     // to begin
	width   int     // tasks at a time
	faulty  float64 // the part of the calls that go wrong
	lease   time.Duration
	limits  access.Limits
	jumpy   bool // days pass
	crowded bool // the first client has all the simulations it may have
	dear    bool // prices can hardly be had

	tasks    int // begun
	open     []*task
	later    []func() // what follows on what has ended
	turn     int      // grows with every beginning and end
	notified []string
	steps    []string // all that were ever due
	skewed   bool     // the clocks of processes differed
	oops     error    // the first breach
	trace    strings.Builder
	mu       sync.Mutex // of oops
}

// client is an application in an environment, with its key.
type client struct {
	n      int
	tenant domain.Tenant
	secret string
	pickup []domain.PickupLocation
	knowledge
}

// newWorld is peopled, and nothing has happened in it.
func newWorld(dir string, seed uint64) (*world, error) {
	w := &world{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 0x5eed)), path: filepath.Join(dir, "waybill.db"), x: newCrossing(),
	}
	w.nobody = w.newTask(nil, nil)
	w.actions = 25 + w.rng.IntN(50)
	w.width = pick(w.rng, 1, 1, 2, 3, 4)
	w.faulty = pick(w.rng, 0, 0.01, 0.02, 0.02, 0.04, 0.08)
	w.lease = pick(w.rng, 30*time.Second, 30*time.Second, 3*time.Second)
	w.jumpy = w.rng.IntN(4) == 0
	w.crowded = w.rng.IntN(25) == 0
	w.dear = w.rng.IntN(25) == 0
	perKey := pick(w.rng, 600, 600, 600, 8)
	w.limits = access.Limits{
		PerKey:      domain.RateLimit{Limit: perKey, Window: time.Minute},
		PerBusiness: domain.RateLimit{Limit: 1200, Window: time.Minute},
		PerAddress:  domain.RateLimit{Limit: 60, Window: time.Minute},
	}
	empty, err := migrated()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(w.path, empty, 0o600); err != nil {
		return nil, err
	}
	if w.store, err = gormstore.Open(context.Background(), "sqlite://"+w.path, gormstore.Options{}); err != nil {
		return nil, err
	}
	return w, w.people()
}

// people makes two businesses, the first with two programs, and starts two processes.
func (w *world) people() error {
	digest, err := crypto.NewKeyDigester(strings.Repeat("p", 32))
	if err != nil {
		return err
	}
	ctx, somewhere := context.Background(), &process{world: w}
	tenants := access.NewTenants(w.store, digest, clock{somewhere}, identifiers{w}, memory.NewInvalidations())
	for _, programs := range []int{2, 1} {
		business, err := tenants.CreateBusiness(ctx, domain.AuditActor{Name: "test"}, "Shop", nil)
		if err != nil {
			return err
		}
		for range programs {
			app, err := tenants.CreateApplication(ctx, domain.AuditActor{Name: "test"}, business.ID, "App")
			if err != nil {
				return err
			}
			for _, e := range []domain.Environment{domain.Sandbox, domain.Live} {
				if e == domain.Live && len(w.clients) != 1 {
					continue // one on live is enough
				}
				key, err := tenants.IssueKey(ctx, domain.AuditActor{Name: "test"}, app.ID, e, domain.AllScopes(), nil)
				if err != nil {
					return err
				}
				c := &client{n: len(w.clients), secret: key.Secret, knowledge: newKnowledge()}
				c.tenant = domain.Tenant{BusinessID: business.ID, ApplicationID: app.ID, Environment: e}
				c.pickup, err = w.store.Read().PickupLocations.List(ctx, c.tenant, domain.PickupLocationFilter{}, domain.PageRequest{Limit: 10})
				if err != nil {
					return err
				}
				w.clients = append(w.clients, c)
			}
		}
	}
	for n := range 2 {
		w.procs = append(w.procs, w.newProcess(n))
	}
	return nil
}

// play runs the world to its end.
func (w *world) play() {
	if w.crowded && w.actions > 0 {
		w.crowd()
	}
	for w.oops == nil {
		w.tend()
		choices := w.x.ready()
		more := w.actions > 0 && len(w.open) < w.width
		switch {
		case len(choices) > 0 && (!more || w.rng.IntN(4) > 0):
			w.proceed(pick(w.rng, choices...))
		case more && (len(choices) == 0 || w.rng.IntN(3) > 0):
			w.actions--
			w.act()
		case len(choices) > 0:
			w.proceed(pick(w.rng, choices...))
		case len(w.open) > 0 || len(w.retired) > 0:
			if !w.idle(patience) {
				w.breach("nothing happens any more, and %d requests are under way", len(w.open))
			}
		default:
			return
		}
	}
}

// proceed lets calls that cannot be told apart go on, all with one fate.
func (w *world) proceed(calls []*call) {
	f := asItShould
	if c := calls[0]; !c.held && w.rng.Float64() < w.faulty {
		if could := fates[c.kind]; len(could) > 0 {
			f = pick(w.rng, could...)
		}
	}
	if w.dear && calls[0].kind == prices && w.rng.IntN(5) > 0 {
		f = noPrice
	}
	w.meet(calls, f)
}

func (w *world) meet(calls []*call, f fate) {
	for _, c := range calls {
		if f != asItShould {
			c.task.faults++
		}
		w.say("%s %s", c, f)
		w.x.release(c, f)
	}
}

// idle lets time pass until something happens, which it reports.
func (w *world) idle(most time.Duration) (happened bool) {
	before := time.Now()
	alarm := time.NewTimer(most)
	defer alarm.Stop()
	select {
	case <-w.x.moved:
		happened = true
	case <-alarm.C:
	}
	synctest.Wait()
	if passed := time.Since(before); passed > 0 {
		w.say("%s pass", passed)
	}
	return happened
}

// tend buries the dead, lets the stopped go and hears answers.
func (w *world) tend() {
	for i, p := range w.procs {
		if p.dead.Load() {
			w.bury(p)
			w.procs[i] = w.newProcess(p.n)
			w.procs[i].skew.Store(p.skew.Load())
		}
	}
	for _, p := range w.retired {
		if p.dead.Load() {
			w.bury(p)
		}
	}
	w.open = slices.DeleteFunc(w.open, func(t *task) bool {
		if !t.done.Load() {
			return false
		}
		w.turn++
		if t.p.dead.Load() {
			t.lost = true
		}
		if t.ended != nil {
			t.ended(t)
		}
		return true
	})
	for _, next := range w.later {
		next()
	}
	w.later = nil
	w.retired = slices.DeleteFunc(w.retired, func(p *process) bool {
		return !slices.ContainsFunc(w.open, func(t *task) bool { return t.p == p })
	})
}

// bury ends all that was under way in a process. Nothing it does has an effect
// any more.
func (w *world) bury(p *process) {
	w.say("p%d is dead", p.n)
	for calls := w.x.of(p); len(calls) > 0; calls = w.x.of(p) {
		slices.SortFunc(calls, func(a, b *call) int { return strings.Compare(a.String(), b.String()) })
		w.x.release(calls[0], buried)
	}
}

// say adds a line to the trace.
func (w *world) say(format string, args ...any) {
	fmt.Fprintf(&w.trace, "%12s  %s\n", time.Since(begun).Round(time.Microsecond), fmt.Sprintf(format, args...))
}

// breach notes the first promise that was not kept, which ends the world.
func (w *world) breach(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.oops == nil {
		w.oops = fmt.Errorf(format, args...)
	}
}

func (w *world) close() {
	for _, p := range append(w.procs, w.retired...) {
		p.dead.Store(true)
		w.bury(p)
	}
	w.faulty = 0
	for range 100 { // what is under way ends with errors
		w.open = slices.DeleteFunc(w.open, func(t *task) bool { return t.done.Load() })
		if len(w.open) == 0 {
			break
		}
		time.Sleep(time.Minute)
		synctest.Wait()
	}
	_ = w.store.Close()
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

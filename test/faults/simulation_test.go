package faults

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/clock"
	"waybill/adapters/crypto"
	"waybill/adapters/memory"
	"waybill/adapters/storage/gormstore"
	"waybill/application/access"
	"waybill/domain"
	"waybill/test/program"
)

// playground is servers and workers on one database, and applications whose
// deliveries move in it by themselves.
type playground struct {
	url     string
	dialect Dialect
	db      *sql.DB
	servers []*victim
	serving []*program.Process // of the servers
	workers []*victim
	lives   []*program.Process // of the workers
	apps    []*sender
	client  *http.Client

	mu      sync.Mutex
	started map[string]simulation // by delivery, 32 hex characters
}

// simulation is one that was started, from the booking on.
type simulation struct {
	domain.Plan
	stopped int // steps that were done when it was stopped; -1: it plays to its end
}

// setting is what a playground is made of.
type setting struct {
	dialect Dialect
	url     string // of a migrated database; empty: one is made
	redis   string // URL; empty: none
	servers int
	workers int
	apps    int
	with    []string   // settings besides the usual ones
	each    [][]string // by process, servers first: settings of it alone
}

// newPlayground starts the processes. On SQLite that is one that does everything.
func newPlayground(t *testing.T, of setting) *playground {
	t.Helper()
	p := &playground{
		url: cmp.Or(of.url, freshDatabase(t, of.dialect)), dialect: of.dialect, started: map[string]simulation{},
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256}},
	}
	t.Cleanup(p.client.CloseIdleConnections)
	env := append(settings(p.url), "WAYBILL_RATE_LIMIT_PER_BUSINESS="+noLimit)
	if of.redis != "" {
		env = append(env, "WAYBILL_REDIS_URL="+of.redis)
	}
	env = append(env, of.with...)
	p.enroll(t, of.apps)
	if of.dialect == SQLite {
		p.servers = []*victim{newVictimOf(t, env, "dev", "--data-dir", t.TempDir())}
	} else {
		for range of.servers {
			p.servers = append(p.servers, newVictim(t, env))
		}
		for range of.workers {
			p.workers = append(p.workers, newVictimOf(t, env, "worker"))
		}
	}
	all := slices.Concat(p.servers, p.workers)
	for i, of := range of.each {
		all[i].env = append(slices.Clone(all[i].env), of...)
	}
	for _, v := range p.servers {
		p.serving = append(p.serving, v.start(t))
		for _, a := range p.apps {
			a.targets = append(a.targets, v.sandboxURL())
		}
	}
	for _, v := range p.workers {
		p.lives = append(p.lives, v.start(t))
	}
	p.db = openDatabase(t, p.url)
	return p
}

// enroll makes one business and its applications. The command does the same,
// and takes a process for each.
func (p *playground) enroll(t *testing.T, apps int) {
	t.Helper()
	store, err := gormstore.Open(t.Context(), p.url, gormstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	digester, err := crypto.NewKeyDigester(strings.Repeat("5a", 32))
	if err != nil {
		t.Fatal(err)
	}
	tenants := access.NewTenants(store, digester, clock.NewSystem(), crypto.NewIdentifiers(clock.NewSystem()), memory.NewInvalidations())
	business, err := tenants.CreateBusiness(t.Context(), domain.AuditActor{Name: "test"}, "Stormy Foods", nil)
	for range apps {
		if err != nil {
			break
		}
		var app domain.Application
		if app, err = tenants.CreateApplication(t.Context(), domain.AuditActor{Name: "test"}, business.ID, "Web shop"); err != nil {
			break
		}
		var key access.IssuedKey
		key, err = tenants.IssueKey(t.Context(), domain.AuditActor{Name: "test"}, app.ID, domain.Sandbox, domain.AllScopes(), nil)
		p.apps = append(p.apps, &sender{
			client: p.client, customer: customer{BusinessID: string(business.ID), AppID: string(app.ID), Key: key.Secret}, seen: map[string]int{},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ask sends one request to one of the servers.
func (s *sender) ask(ctx context.Context, method, path, key string, body m) (reply, error) {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return reply{}, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, s.targets[rand.IntN(len(s.targets))]+path, bytes.NewReader(content))
	if err != nil {
		return reply{}, err
	}
	req.GetBody = nil
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header["Idempotency-Key"] = []string{key}
	}
	return s.do(req)
}

// order is a delivery that any scenario fits; nil is one without a simulation.
func order(c *clerk, plan *domain.Plan) (key string, body m) {
	_, body = c.delivery()
	body["payment"] = m{"type": "cod", "goods_value": 50}
	if plan != nil {
		body["sandbox"] = m{"scenario": string(plan.Scenario), "step_seconds": plan.StepSeconds}
	}
	return fmt.Sprintf("simulation-%016x-%d", c.run, c.written), body
}

// record is what an answer tells of a delivery.
type record struct {
	ID         string
	Status     string
	Simulation struct {
		Status     string
		Step       int
		NextStepAt *time.Time `json:"next_step_at"`
	}
}

func (r reply) delivery() (record, error) {
	var answer struct{ Data record }
	err := json.Unmarshal(r.body, &answer)
	return answer.Data, err
}

// book creates a delivery, with a simulation where there is a plan.
func (p *playground) book(ctx context.Context, app *sender, c *clerk, plan *domain.Plan) (record, error) {
	key, body := order(c, plan)
	for {
		r, err := app.ask(ctx, http.MethodPost, singlePath, key, body)
		switch {
		case err == nil && r.status == http.StatusCreated:
			d, err := r.delivery()
			if err == nil && plan != nil {
				p.note(d.ID, simulation{Plan: *plan, stopped: -1})
			}
			return d, err
		case ctx.Err() != nil:
			return record{}, ctx.Err()
		case err == nil && !r.mayBeRepeated():
			return record{}, fmt.Errorf("booking: %s", r)
		}
		time.Sleep(singlePause)
	}
}

func (p *playground) note(delivery string, s simulation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started[hexOf(delivery)] = s
}

// begin starts so many simulations, of all scenarios that move, as many in
// each application as it may have.
func (p *playground) begin(t *testing.T, simulations, stepSeconds int) {
	t.Helper()
	scenarios := domain.Scenarios()[1:] // not manual
	work := make(chan int)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			c := newClerk(0, 0)
			for n := range work {
				plan := domain.Plan{Scenario: scenarios[n%len(scenarios)], StepSeconds: stepSeconds}
				if _, err := p.book(t.Context(), p.apps[n%len(p.apps)], c, &plan); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range simulations {
		work <- n
	}
	close(work)
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// rest waits until no simulation runs any more, and tells how many do if they
// take too long.
func (p *playground) rest(t *testing.T, within time.Duration) (running int) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		if running = p.running(t); running == 0 || time.Now().After(deadline) {
			return running
		}
	}
}

// running is how many simulations run, and -1 while the database is away.
func (p *playground) running(t *testing.T) (n int) {
	t.Helper()
	err := p.db.QueryRowContext(t.Context(), "SELECT count(*) FROM deliveries WHERE simulation_status = 'running'").Scan(&n)
	if err != nil {
		return -1
	}
	return n
}

// happening is one event as it is stored.
type happening struct {
	sequence           int
	kind, status, note string
	at                 time.Time
}

// account is what the simulations of a playground came to.
type account struct {
	simulations int
	unended     int // simulations that still run
	steps       int
	lost        int             // steps that did not happen
	foreign     int             // events that no step made
	early       int             // steps before they were due
	late        []time.Duration // how long after that each step was, in order
	breaches    []Breach
}

func (a account) sound() bool {
	return a.unended == 0 && a.lost == 0 && a.foreign == 0 && a.early == 0 && len(a.breaches) == 0
}

// quantile is the lateness that so many per mille of the steps do not exceed.
func (a account) quantile(perMille int) time.Duration {
	if len(a.late) == 0 {
		return 0
	}
	return a.late[min(len(a.late)*perMille/1000, len(a.late)-1)]
}

func (a account) String() string {
	return fmt.Sprintf("%d simulations (%d not ended), %d steps: %d lost, %d doubled or foreign, %d early, %d rules broken %v; half of the "+
		"steps within %.0f ms, 99 of 100 within %.0f ms, all within %.0f ms",
		a.simulations, a.unended, a.steps, a.lost, a.foreign, a.early, len(a.breaches), a.breaches, ms(a.quantile(500)), ms(a.quantile(990)),
		ms(a.quantile(1000)))
}

// settle waits for the ends of all simulations, and compares each that was
// started with the events of its delivery.
func (p *playground) settle(t *testing.T, within time.Duration) account {
	t.Helper()
	a := account{unended: p.rest(t, within)}
	made := p.happenings(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, s := range p.started {
		a.add(s, made[id])
	}
	slices.Sort(a.late)
	a.breaches = check(t, p.db, p.dialect)
	return a
}

func (a *account) add(s simulation, events []happening) {
	steps := s.Scenario.Steps()
	if s.stopped >= 0 {
		steps = steps[:s.stopped]
	}
	a.simulations++
	a.foreign += max(0, len(events)-1-len(steps))
	for i, step := range steps {
		if i+1 >= len(events) {
			a.lost++
			continue
		}
		e := events[i+1]
		if e.sequence != i+2 || e.status != string(step.To) || e.kind != "delivery."+string(step.To) || e.note != string(step.Reason) {
			a.foreign++
			continue
		}
		a.steps++
		// What was created with a simulation began with its first event.
		due := events[i].at.Add(time.Duration(step.Wait*s.StepSeconds) * time.Second)
		late := e.at.Sub(due)
		if late < 0 {
			a.early++
		}
		a.late = append(a.late, late)
	}
}

// happenings are all events, by delivery.
func (p *playground) happenings(t *testing.T) map[string][]happening {
	t.Helper()
	rows, err := p.db.QueryContext(context.WithoutCancel(t.Context()),
		"SELECT replace(CAST(delivery_id AS text), '-', ''), sequence, type, status, reason_code, occurred_at FROM delivery_events ORDER BY "+
			"delivery_id, sequence")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	made := map[string][]happening{}
	for rows.Next() {
		var id string
		var e happening
		var at any
		if err := rows.Scan(&id, &e.sequence, &e.kind, &e.status, &e.note, &at); err != nil {
			t.Fatal(err)
		}
		switch at := at.(type) {
		case time.Time:
			e.at = at
		case string: // SQLite has no times
			if e.at, err = time.Parse(time.RFC3339Nano, at); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("an event is at %T", at)
		}
		made[id] = append(made[id], e)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return made
}

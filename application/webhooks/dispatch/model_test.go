package dispatch_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/webhooks"
	"waybill/application/webhooks/dispatch"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

var modelSeed = flag.Uint64("webhooks.seed", 0, "the one world that TestWhateverHappens plays")

// Several processes share an outbox and a queue, die, lose notifications and meet a
// storage that fails and receivers that do as they like; what the package
// promises has to hold all the same. A failing world is played again by its
// number: go test ./application/webhooks/dispatch -run TestWhateverHappens$ -webhooks.seed=N
func TestWhateverHappens(t *testing.T) {
	t.Parallel()
	if *modelSeed != 0 {
		playWorlds(t, *modelSeed, *modelSeed, false)
		return
	}
	playWorlds(t, 1, 8, false)
}

func TestLongWhateverHappens(t *testing.T) {
	t.Parallel()
	playWorlds(t, 9, 100, false)
}

// In a sound system there are no deaths and no failures: nothing comes twice, and
// all in order.
func TestWhateverHappensToASoundSystem(t *testing.T) {
	t.Parallel()
	playWorlds(t, 1, 4, true)
}

func playWorlds(t *testing.T, first, last uint64, sound bool) {
	for seed := first; seed <= last; seed++ {
		synctest.Test(t, func(t *testing.T) {
			m := newModel(t, seed)
			m.sound = sound
			m.play()
		})
		if t.Failed() {
			t.Fatalf("world %d", seed)
		}
	}
}

const (
	modelEndpoints  = 5
	modelProcesses  = 3
	modelDeliveries = 6  // for each endpoint
	modelEvents     = 10 // of each delivery
	modelTrouble    = 30 * time.Second
	modelLate       = 100 * time.Millisecond // at most, where all is sound
	modelCalm       = 30 * time.Second       // after the trouble, until all is well
)

// modelSchedule is short, so that a world is over soon.
var modelSchedule = domain.RetrySchedule{time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second}

type model struct {
	*world
	t     *testing.T
	seed  uint64
	sound bool
	queue *queue
	ids   *stage.IDs
	began time.Time

	rmu    sync.Mutex
	random *rand.Rand
	owners map[string]*process      // by token
	busy   map[string]domain.ID     // of a process, by delivery: the event on its way
	last   map[string]int           // of the sound: the last sequence that arrived, by delivery
	came   map[domain.ID]int        // 2xx, by event
	rows   map[domain.ID]domain.ID  // of an event
	kinds  map[string]string        // of receivers, by URL
	first  map[string]time.Duration // when the receiver gets well, by URL
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{
		world: newWorld(), t: t, seed: seed, ids: &stage.IDs{}, began: time.Now(), random: rand.New(rand.NewPCG(seed, 0)),
		owners: map[string]*process{}, busy: map[string]domain.ID{}, last: map[string]int{}, came: map[domain.ID]int{},
		rows: map[domain.ID]domain.ID{}, kinds: map[string]string{}, first: map[string]time.Duration{},
	}
	m.queue = newQueue(2)
	return m
}

// chance is true so often, while there may be trouble.
func (m *model) chance(of float64) bool {
	m.rmu.Lock()
	defer m.rmu.Unlock()
	return !m.sound && time.Since(m.began) < modelTrouble && m.random.Float64() < of
}

func (m *model) upTo(d time.Duration) time.Duration {
	m.rmu.Lock()
	defer m.rmu.Unlock()
	return time.Duration(m.random.Int64N(int64(d)))
}

func (m *model) pick(n int) int {
	m.rmu.Lock()
	defer m.rmu.Unlock()
	return m.random.IntN(n)
}

// process is one of several; what it does fails once it is dead.
type process struct {
	*model
	*box
	dead     chan struct{}
	notifier *dispatch.Notifier
	end      func()
}

var errDead = errors.New("the process is dead")

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// born starts a process; die ends it in the middle of everything, stop in order.
func (m *model) born(all *sync.WaitGroup) *process {
	p := &process{model: m, dead: make(chan struct{})}
	p.box = m.world.box.view(p.around)
	d := dispatch.NewDrainer(p, p, plainSealer{}, stage.Renderer{}, p, m.clock, m.ids,
		webhooks.Schedules{domain.Sandbox: modelSchedule}, dispatch.Observer{}, m.logger())
	p.notifier = dispatch.NewNotifier(p, nil, m.logger())
	ctx, cancel := context.WithCancel(context.Background())
	all.Go(func() { _ = m.queue.Run(ctx, d.Handlers()) })
	all.Go(func() { p.notifier.Run(ctx) })
	all.Go(func() { dispatch.NewSweeper(p, p, m.clock, m.logger()).Run(ctx) })
	p.end = func() {
		cancel()
		all.Go(d.Close)
	}
	return p
}

func (p *process) die() {
	close(p.dead)
	p.end()
}

// around is what may happen to a call of the storage.
func (p *process) around(ctx context.Context, name string, make func() error) error {
	wait := p.upTo(3 * time.Millisecond)
	switch {
	case p.chance(0.005):
		wait = p.upTo(8 * time.Second)
	case p.chance(0.05):
		wait = p.upTo(50 * time.Millisecond)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.dead:
		return errDead
	case <-time.After(wait):
	}
	if p.chance(0.02) {
		return errStorage
	}
	err := make()
	if p.isDead() || p.chance(0.02) {
		return errDead // its answer was lost
	}
	return err
}

func (p *process) Lease(ctx context.Context, id domain.ID, token string, lasting time.Duration) (domain.WebhookEndpoint, bool, error) {
	p.rmu.Lock()
	p.owners[token] = p
	p.rmu.Unlock()
	return p.box.Lease(ctx, id, token, lasting)
}

func (p *process) Notify(ctx context.Context, kind ports.JobKind, id string) error {
	switch {
	case p.isDead():
		return errDead
	case p.chance(0.1):
		return nil // lost
	case p.chance(0.02):
		time.Sleep(p.upTo(time.Second))
		return errStorage
	}
	return p.model.queue.Notify(ctx, kind, id)
}

func (p *process) Run(context.Context, map[ports.JobKind]ports.Handler) error {
	panic("not of the engine")
}

func (p *process) Resolvable(context.Context, string) error { panic("not of the engine") }

// Send is where what is promised is looked at.
func (p *process) Send(ctx context.Context, m ports.WebhookMessage) domain.WebhookResult {
	event := domain.ID(m.Body)
	row := p.row(p.rowOf(event))
	kind := fmt.Sprintf("%p %s %s", p, row.EndpointID, row.DeliveryID)
	p.judge(row, event, kind)
	began := time.Now()
	result := p.receiver(m.URL, event)
	select {
	case <-time.After(min(result.Duration, attemptLasts)):
	case <-ctx.Done():
		result = domain.WebhookResult{Error: domain.ErrorTimeoutResponse}
	case <-p.dead: // it vanishes
		result = domain.WebhookResult{Error: domain.ErrorReset}
	}
	p.rmu.Lock()
	defer p.rmu.Unlock()
	delete(p.busy, kind)
	if result.Succeeded() {
		p.came[event]++
		if p.sound && p.kinds[m.URL] == "quick" {
			if at := p.last[string(row.DeliveryID)]; row.Sequence != at+1 {
				p.t.Errorf("event %d of a delivery arrived behind %d", row.Sequence, at)
			}
			p.last[string(row.DeliveryID)] = row.Sequence
		}
	}
	result.StartedAt, result.Duration = domain.Millis(began), time.Since(began)
	return result
}

func (m *model) rowOf(event domain.ID) domain.ID {
	m.rmu.Lock()
	defer m.rmu.Unlock()
	return m.rows[event]
}

// judge looks at an attempt as it begins.
func (p *process) judge(row domain.WebhookDelivery, event domain.ID, kind string) {
	e := p.endpoint(row.EndpointID)
	p.rmu.Lock()
	defer p.rmu.Unlock()
	if p.isDead() {
		return
	}
	if p.owners[e.token] != p || !e.leased() {
		p.t.Errorf("%v: sent to %s without its lease, which is over in %v", p.now(), e.ID, time.Until(e.until))
	}
	if row.Status != domain.WebhookPending || row.DueAt.After(time.Now()) {
		p.t.Errorf("%v: sent %s, which is %s", p.now(), event, row.Status)
	}
	if late := time.Since(row.CreatedAt); p.sound && p.kinds[e.URL] == "quick" && late > modelLate {
		p.t.Errorf("%v: sent %s only after %v", p.now(), event, late)
	}
	if p.busy[kind] != "" {
		p.t.Errorf("%v: sent %s while %s is on its way", p.now(), event, p.busy[kind])
	}
	if row.DeliveryID != "" {
		p.busy[kind] = event
	}
}

// receiver is what one does with a request.
func (m *model) receiver(url string, event domain.ID) domain.WebhookResult {
	m.rmu.Lock()
	defer m.rmu.Unlock()
	quick := time.Duration(m.random.Int64N(int64(50 * time.Millisecond)))
	ill := time.Since(m.began) < m.first[url]
	switch kind := m.kinds[url]; {
	case kind == "slow" && ill:
		return takes(2*time.Second + quick)
	case kind == "hung" && ill:
		return hangs()
	case kind == "down" && ill, kind == "flaky" && (m.random.Float64() < 0.3 || strings.HasSuffix(string(event), "57")):
		return domain.WebhookResult{StatusCode: 500, Error: domain.ErrorHTTP5xx, Duration: quick}
	}
	return takes(quick)
}

func (m *model) play() {
	var all sync.WaitGroup
	processes := make([]*process, modelProcesses)
	for i := range processes {
		processes[i] = m.born(&all)
	}
	var endpoints []domain.ID
	for n := range modelEndpoints {
		id := m.addEndpoint(n)
		url := m.endpoint(id).URL
		m.kinds[url] = []string{"quick", "slow", "hung", "down", "flaky"}[m.pick(5)]
		m.first[url] = m.upTo(modelTrouble)
		endpoints = append(endpoints, id)
	}
	var lives sync.Mutex // of processes
	var busy sync.WaitGroup
	for n := range modelEndpoints {
		busy.Go(func() {
			for i := range modelDeliveries * modelEvents {
				time.Sleep(m.upTo(500 * time.Millisecond))
				delivery := n*modelDeliveries + i%modelDeliveries + 1
				m.rmu.Lock()
				row := m.world.add(endpoints[n], delivery, i/modelDeliveries+1)
				m.rows[m.world.row(row).EventID] = row
				m.rmu.Unlock()
				lives.Lock()
				processes[m.pick(modelProcesses)].notifier.Notify(endpoints[n : n+1])
				lives.Unlock()
			}
		})
	}
	for time.Since(m.began) < modelTrouble {
		time.Sleep(m.upTo(4 * time.Second))
		if m.sound {
			continue
		}
		i := m.pick(modelProcesses)
		lives.Lock()
		if m.pick(4) == 0 {
			processes[i].end() // as on SIGTERM
		} else {
			processes[i].die()
		}
		processes[i] = m.born(&all)
		lives.Unlock()
	}
	busy.Wait()
	deadline := time.Now().Add(time.Hour)
	time.Sleep(time.Until(m.began.Add(modelTrouble + modelCalm)))
	for _, id := range endpoints {
		if e := m.endpoint(id); m.kinds[e.URL] == "quick" && len(e.pending) > 0 {
			m.t.Errorf("%d still wait for %s", len(e.pending), id)
		}
	}
	for m.statuses()[domain.WebhookPending] > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Second)
	}
	time.Sleep(2 * attemptLasts)
	for _, p := range processes {
		p.end()
	}
	all.Wait()
	m.wantAllDone(endpoints)
}

func (m *model) wantAllDone(endpoints []domain.ID) {
	for event, id := range m.rows {
		row, log := m.row(id), m.log(id)
		if n := m.came[event]; row.Status == domain.WebhookSucceeded && n == 0 {
			m.t.Errorf("%s is said to have arrived", event)
		} else if m.sound && n > 1 {
			m.t.Errorf("%s arrived %d times", event, n)
		}
		if done := row.Status == domain.WebhookSucceeded || row.Status == domain.WebhookFailed && row.Used == len(modelSchedule)+1; !done {
			m.t.Errorf("%s is %s after %d attempts", event, row.Status, row.Attempts)
		}
		if !slices.IsSortedFunc(log, func(a, b domain.WebhookAttempt) int { return a.Number - b.Number }) || len(log) != row.Attempts ||
			row.Attempts == 0 {
			m.t.Errorf("%s has %d attempts and %d in the log", event, row.Attempts, len(log))
		}
	}
	for _, id := range endpoints {
		e := m.endpoint(id)
		if e.leased() {
			m.t.Errorf("%s is leased at the end", id)
		}
		if kind := m.kinds[e.URL]; kind == "quick" && !e.Enabled {
			m.t.Errorf("%s is disabled", id)
		}
	}
	if logged := m.logged.String(); strings.Contains(logged, "level=ERROR") {
		m.t.Errorf("logged %s", logged)
	}
}

package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"waybill/ports"
)

// fate is how a call of a port goes on.
type fate string

const (
	asItShould            fate = ""
	failsBefore           fate = "fails before its effect"
	failsAfter            fate = "fails behind its effect"
	timesOut              fate = "hangs until its time is up"
	freezes               fate = "freezes" // as the process that stalls; later it goes on as if nothing had happened
	diesBefore            fate = "dies before its effect"
	diesAfter             fate = "dies behind its effect"
	answerLost            fate = "commits and loses the answer"
	commitLost            fate = "loses the commit"
	answersLost           fate = "commits and loses every answer from now on"
	keyIsBusy             fate = "finds the key locked"
	noPrice               fate = "has no price"
	noPriceSoon           fate = "has no price after a while"
	customPrice           fate = "wants a custom quote"
	notificationIsLost    fate = "forgets the notification"
	notificationIsDoubled fate = "notifies twice"
	buried                fate = "is of a dead process"
)

// kind is what may happen to a call.
type kind int

const (
	reads         kind = iota
	begins             // a transaction
	within             // one
	claims             // a key within one
	prices             // a trip
	notifications      // a queue
	watches            // only gives way
)

// fates are what may become of each kind of call, the more often the likelier.
var fates = map[kind][]fate{
	reads:         {failsBefore, failsBefore, failsBefore, timesOut, freezes, diesBefore},
	begins:        {failsBefore, timesOut, freezes, diesBefore, diesAfter, diesAfter, answerLost, answerLost, commitLost, answersLost},
	within:        {failsBefore, failsAfter, freezes, diesBefore, diesAfter},
	claims:        {failsBefore, failsAfter, keyIsBusy, keyIsBusy, diesAfter},
	prices:        {noPrice, noPrice, noPriceSoon, customPrice, customPrice, freezes, diesBefore},
	notifications: {failsBefore, failsAfter, notificationIsLost, notificationIsLost, notificationIsDoubled, notificationIsDoubled, diesBefore},
}

var (
	errInjected = errors.New("simulation: injected fault")
	errDead     = errors.New("simulation: the process is dead")
	errUndone   = errors.New("simulation: rolled back")
)

// call is a call of a port that waits to go on.
type call struct {
	task *task
	p    *process
	kind kind
	name string // with its arguments, so that waiting calls can be told apart
	held bool   // a frozen one, which goes on whatever time it is
	next chan fate
}

func (c *call) String() string { return fmt.Sprintf("#%d p%d %s", c.task.n, c.p.n, c.name) }

// crossing is where calls wait. Only one goroutine of the world runs between
// two of them, so that nothing else decides on an order.
type crossing struct {
	mu      sync.Mutex
	waiting []*call
	writing *call         // the one that has the only connection that writes
	moved   chan struct{} // a task arrived or ended
	tasks   map[uint64]*task

	released atomic.Uint32 // calls so far
}

func newCrossing() *crossing {
	return &crossing{moved: make(chan struct{}, 1), tasks: map[uint64]*task{}}
}

func (x *crossing) wake() {
	select {
	case x.moved <- struct{}{}:
	default:
	}
}

// wait returns when the world lets the call go on.
func (x *crossing) wait(c *call) fate {
	c.next = make(chan fate)
	x.mu.Lock()
	x.tasks[goroutine()] = c.task
	if c.p.dead.Load() {
		x.mu.Unlock()
		return buried
	}
	x.waiting = append(x.waiting, c)
	x.mu.Unlock()
	x.wake()
	return <-c.next
}

func (x *crossing) done(c *call) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.writing == c {
		x.writing = nil
	}
}

// busy reports whether a task has the connection that writes.
func (x *crossing) busy() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.writing != nil
}

// current is whose goroutine this is.
func (x *crossing) current() *task {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tasks[goroutine()]
}

func (x *crossing) belongs(t *task) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tasks[goroutine()] = t
}

// goroutine is the number that a stack trace begins with.
func goroutine() uint64 {
	var buffer [64]byte
	text := bytes.TrimPrefix(buffer[:runtime.Stack(buffer[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// ready are the calls that may go on, in an order of their own. Calls that
// cannot be told apart are one choice.
func (x *crossing) ready() [][]*call {
	x.mu.Lock()
	defer x.mu.Unlock()
	slices.SortStableFunc(x.waiting, func(a, b *call) int {
		if a.task.n != b.task.n {
			return a.task.n - b.task.n
		}
		return strings.Compare(a.name, b.name)
	})
	var choices [][]*call
	for _, c := range x.waiting {
		if c.kind == begins && x.writing != nil {
			continue
		}
		if last := len(choices) - 1; last >= 0 && choices[last][0].task == c.task && choices[last][0].name == c.name && c.kind != begins {
			choices[last] = append(choices[last], c)
			continue
		}
		choices = append(choices, []*call{c})
	}
	return choices
}

// release lets a call go on, and returns when everything stands still again.
func (x *crossing) release(c *call, f fate) {
	x.mu.Lock()
	x.waiting = slices.DeleteFunc(x.waiting, func(w *call) bool { return w == c })
	if c.kind == begins && f != buried {
		x.writing = c
	}
	x.mu.Unlock()
	x.released.Add(1)
	c.next <- f
	synctest.Wait()
}

// of are the calls of a process that wait.
func (x *crossing) of(p *process) []*call {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found []*call
	for _, c := range x.waiting {
		if c.p == p {
			found = append(found, c)
		}
	}
	return found
}

type taskKey struct{}

// through does one call of a port, or what goes wrong with it.
func (p *process) through(ctx context.Context, k kind, name string, do func(context.Context) error) error {
	t, ok := ctx.Value(taskKey{}).(*task)
	if !ok {
		return do(ctx) // the world itself
	}
	if k == begins && ctx.Value(signKey{}) == nil && givesSign() {
		ctx = context.WithValue(ctx, signKey{}, true)
	}
	if ctx.Value(signKey{}) != nil {
		return p.atOnce(ctx, t, k, do)
	}
	c := &call{task: t, p: p, kind: k, name: name}
	defer p.world.x.done(c)
	for {
		f := p.world.x.wait(c)
		if f != freezes {
			return p.meet(ctx, c, f, do)
		}
		// A frozen task finds the world changed, and not that its time was up.
		p.world.x.done(c)
		ctx, c.held = context.WithoutCancel(ctx), true
		time.Sleep(t.duration(500*time.Millisecond, 50*time.Second))
	}
}

type signKey struct{}

// givesSign reports whether a bulk gives a sign of life while it waits for a
// price. In that loop Go's select has the choice as soon as time passes.
func givesSign() bool {
	var callers [24]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "bulk.(*run).await") {
			return true
		}
		if !more {
			return false
		}
	}
}

// atOnce does a call without a wait, or fails where it would have to.
func (p *process) atOnce(ctx context.Context, t *task, k kind, do func(context.Context) error) error {
	switch {
	case p.dead.Load():
		return errDead
	case k == begins && (p.world.x.busy() || t.chance(p.world.faulty)):
		t.faults++
		return errInjected
	}
	return do(ctx)
}

func (p *process) meet(ctx context.Context, c *call, f fate, do func(context.Context) error) error {
	t := c.task
	if c.kind == begins && t.deaf && f == asItShould {
		f = answerLost
	}
	switch f {
	case buried:
		return errDead
	case failsBefore:
		return errInjected
	case failsAfter:
		return errors.Join(do(ctx), errInjected)
	case timesOut:
		p.world.x.done(c)
		if _, bounded := ctx.Deadline(); !bounded {
			return errInjected
		}
		<-ctx.Done()
		return ctx.Err()
	case diesBefore, diesAfter:
		if f == diesAfter {
			_ = do(ctx)
		}
		p.dead.Store(true)
		return errDead
	case answerLost, answersLost:
		t.deaf = f == answersLost || t.deaf
		if err := do(ctx); err != nil {
			return err
		}
		return ports.ErrOutcomeUnknown
	case keyIsBusy:
		return ports.ErrKeyBusy
	}
	return do(context.WithValue(ctx, fateKey{}, f))
}

// fateKey carries a fate that the port itself has to play.
type fateKey struct{}

func fateOf(ctx context.Context) fate {
	f, _ := ctx.Value(fateKey{}).(fate)
	return f
}

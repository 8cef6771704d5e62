package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waybill/domain"
)

// soakArgument makes this program keep a service busy for long:
//
//	go run ./test/servers -- go run ./test/bench soak -minutes 30
//
// A server and a worker on one Postgres and one Redis get creates, whose webhooks
// are received, reads, and simulations in the sandbox, all at a steady pace.
// Idempotency keys are remembered for seconds; what is kept for a month, events and
// webhooks, is inserted as if it were older, as fast as the creates come. So the
// cleaning has as much to do as in a service that is months old.
//
// It is judged whether requests notice the cleaning, and whether tables, memory
// and goroutines stay as they are.
const soakArgument = "soak"

// soakOptions are the flags behind it.
type soakOptions struct {
	minutes     float64
	creates     int
	reads       int
	simulations int
	retention   time.Duration
	binary      string
}

func soak(ctx context.Context) (err error) {
	var o soakOptions
	flags := flag.NewFlagSet(soakArgument, flag.ExitOnError)
	flags.Float64Var(&o.minutes, "minutes", 30, "how long it takes")
	flags.IntVar(&o.creates, "creates", 100, "creates per second, each with a webhook")
	flags.IntVar(&o.reads, "reads", 100, "reads per second")
	flags.IntVar(&o.simulations, "simulations", 5, "simulations per second, of four steps within four seconds")
	flags.DurationVar(&o.retention, "retention", 30*time.Second, "how long an idempotency key is remembered")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	_ = flags.Parse(os.Args[2:]) // it exits
	b, err := open(ctx, options{binary: o.binary})
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	p, err := openPost(ctx, b, b.binary, "WAYBILL_IDEMPOTENCY_RETENTION="+o.retention.String())
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return err
	}
	s := &soaking{post: p, soakOptions: o}
	if err := s.run(ctx); err != nil {
		return err
	}
	if err := s.printSoak(os.Stdout); err != nil {
		return err
	}
	return s.failed()
}

// soaking is one run of it.
type soaking struct {
	*post
	soakOptions
	created  stream
	read     stream
	simulate stream
	watch    watch
	samples  []moment
	arrived  int
}

// stream is requests at a steady pace.
type stream struct {
	name string

	mu         sync.Mutex
	spans      []span
	unexpected int
	example    string
}

// span is a request from when it should have been sent until its answer.
type span struct{ begun, ended time.Time }

// at sends so many a second until the end, in turn on connections of which there
// are enough that none waits for another's answer.
func (s *stream) at(ctx context.Context, perSecond int, until time.Time, address string, w work) error {
	if perSecond == 0 {
		return nil
	}
	next, failed := make(chan time.Time, perSecond), make(chan error, perApplication)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	for i := range perApplication {
		c, err := dialWith(ctx, address, w.request(address, ""))
		if err != nil {
			close(next)
			group.Wait()
			return err
		}
		group.Go(func() {
			defer c.net.Close()
			for due := range next {
				a, err := w.send(c, w.next(i))
				if err != nil {
					failed <- fmt.Errorf("%s: %w", s.name, err)
					cancel()
					return
				}
				s.note(span{due, time.Now()}, a, w.expected(a))
			}
		})
	}
	begun := time.Now()
	for i := 0; ; i++ {
		due := begun.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		if due.After(until) || pause(ctx, time.Until(due)) != nil {
			break
		}
		select {
		case next <- due:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return context.Cause(ctx)
	}
}

func (s *stream) note(of span, a answer, expected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, of)
	if !expected {
		if s.unexpected++; s.example == "" {
			s.example = fmt.Sprintf("%d: %s", a.status, a.body)
		}
	}
}

// run is all of it at once. The first failure ends the others.
func (s *soaking) run(ctx context.Context) error {
	sandboxKey, err := s.sandboxKey(ctx)
	if err != nil {
		return err
	}
	first := int(s.numbers.Load()) + 1                                 // calls have had those before
	if err := s.order(ctx, []application{s.one}, 200, 0); err != nil { // something to read, and to make older
		return err
	}
	if err := s.settled(ctx); err != nil {
		return err
	}
	if err := s.watch.begin(ctx, s.db); err != nil {
		return fmt.Errorf("watch the cleaning: %w", err)
	}
	s.created.name, s.read.name, s.simulate.name = "creates", "reads", "simulations"
	until := time.Now().Add(time.Duration(s.minutes * float64(time.Minute)))
	var simulated atomic.Int64
	ok := func(status int) func(answer) bool { return func(a answer) bool { return a.status == status } }
	key := func(request func(address, key string) []byte, key string) func(address, _ string) []byte {
		return func(address, _ string) []byte { return request(address, key) }
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var group sync.WaitGroup
	for _, part := range []func() error{
		func() error {
			return s.created.at(ctx, s.creates, until, s.serving.address, work{
				request: key(createRequest, s.one.key), next: func(int) int { return int(s.numbers.Add(1)) },
				send: func(c *conn, n int) (answer, error) { return c.create(n, n) }, expected: ok(http.StatusCreated),
			})
		},
		func() error {
			return s.read.at(ctx, s.reads, until, s.serving.address, work{
				request: key(func(address, key string) []byte {
					return getRequest(address, key, "/v1/deliveries?external_id=order-"+placeholder)
				}, s.one.key),
				// The youngest may be on their way.
				next: func(int) int { return first + rand.IntN(max(200, int(s.numbers.Load())-first-10*s.creates)) },
				send: (*conn).ask,
				expected: func(a answer) bool {
					return a.status == http.StatusOK && bytes.Contains(a.body, []byte(orderMark))
				},
			})
		},
		func() error {
			return s.simulate.at(ctx, s.simulations, until, s.serving.sandbox, work{
				request: func(address, _ string) []byte {
					return postRequest(address, sandboxKey, "/v1/deliveries", "bench-order-"+placeholder, simulatedOrder)
				},
				next: func(int) int { return int(simulated.Add(1)) },
				send: func(c *conn, n int) (answer, error) { return c.create(n, n) }, expected: ok(http.StatusCreated),
			})
		},
		func() error { return s.age(ctx, until) },
		func() error { return s.sampleUntil(ctx, until) },
	} {
		group.Go(func() {
			if err := part(); err != nil {
				fail(err)
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.settled(ctx), s.watch.end(ctx, s.db)); err != nil {
		return err
	}
	a, err := s.receiver.ask(askCount)
	s.arrived = a.Count
	return err
}

// sandboxKey is one of the application whose webhooks are received on live.
func (s *soaking) sandboxKey(ctx context.Context) (string, error) {
	var key struct{ Key string }
	err := command(ctx, s.bench.binary, s.db.Config().ConnString(), &key,
		"key", "create", "--app", "app_"+s.enrolled.applications[0], "--env", "sandbox", "--scopes", "all", "--json")
	return key.Key, err
}

// failed tells what makes the run worthless, whatever its figures.
func (s *soaking) failed() error {
	for _, of := range []*stream{&s.created, &s.read, &s.simulate} {
		if of.unexpected > 0 {
			return fmt.Errorf("%s: %d answers were not what they should be, the first %s", of.name, of.unexpected, of.example)
		}
	}
	if s.arrived < len(s.created.spans) {
		return fmt.Errorf("%d webhooks came of %d creates", s.arrived, len(s.created.spans))
	}
	last := s.samples[len(s.samples)-1]
	for _, name := range cleaned {
		if last.tables[name].deleted == 0 {
			return fmt.Errorf("nothing was cleaned from %s; the run was too short, take more minutes", name)
		}
	}
	return nil
}

// simulatedOrder is a create whose delivery then moves by itself, each second a step.
var simulatedOrder = orderBody[:strings.LastIndexByte(orderBody, '}')] + `, "sandbox": {"scenario": "` +
	string(domain.ScenarioDelivered) + `", "step_seconds": 1}}`

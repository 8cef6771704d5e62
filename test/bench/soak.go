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

// soaking is one run of it.
type soaking struct {
	*post
	minutes     float64
	perSecond   int // creates, and reads
	simulations int // per second
	retention   time.Duration

	created  stream
	read     stream
	simulate stream
	watch    watch
	samples  []moment
	arrived  int
}

// stream is requests at a pace.
type stream struct {
	name  string
	spans []span
}

func soak(ctx context.Context, args []string) (err error) {
	s := &soaking{created: stream{name: "creates"}, read: stream{name: "reads"}, simulate: stream{name: "simulations"}}
	var o options
	flags := flag.NewFlagSet(soakArgument, flag.ExitOnError)
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	flags.Float64Var(&s.minutes, "minutes", 30, "how long it takes")
	flags.IntVar(&s.perSecond, "pace", 100, "creates per second, each with a webhook, and reads per second")
	flags.IntVar(&s.simulations, "simulations", 5, "simulations per second, of four steps within four seconds")
	flags.DurationVar(&s.retention, "retention", 30*time.Second, "how long an idempotency key is remembered")
	_ = flags.Parse(args) // it exits
	b, err := open(ctx, o)
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	s.post, err = openPost(ctx, b, "WAYBILL_IDEMPOTENCY_RETENTION="+s.retention.String())
	defer func() { err = errors.Join(err, s.close()) }()
	if err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	s.print(os.Stdout)
	return s.failed()
}

// run is all of it at once. The first failure ends the others.
func (s *soaking) run(ctx context.Context) error {
	sandboxKey, err := s.sandboxKey(ctx)
	if err != nil {
		return err
	}
	first := int(s.numbers.Load()) + 1                 // calls have had those before
	before, err := s.fill(ctx, s.keys[0], time.Second) // something to read, and to make older
	if err := errors.Join(err, s.await(ctx, before), s.settled(ctx)); err != nil {
		return err
	}
	readable := int(s.numbers.Load())
	if _, err := s.receiver.ask(askTake); err != nil {
		return err
	}
	if err := s.watch.begin(ctx, s.db); err != nil {
		return fmt.Errorf("watch the cleaning: %w", err)
	}
	duration := time.Duration(s.minutes * float64(time.Minute))
	until := time.Now().Add(duration)
	creates := s.creates(s.keys[:1], float64(s.perSecond), duration)
	reads := creates
	reads.request = func(address, key string) []byte {
		return getRequest(address, key, "/v1/deliveries?external_id=order-"+placeholder)
	}
	reads.number = func() int { return first + rand.IntN(readable-first) }
	reads.good = func(a answer) bool {
		return a.status == http.StatusOK && bytes.Contains(a.body, []byte(`"external_id":"order-`))
	}
	simulations := s.creates([]string{sandboxKey}, float64(s.simulations), duration)
	simulations.address = s.serving.sandbox
	simulations.request = func(address, key string) []byte {
		return postRequest(address, key, "/v1/deliveries", "bench-order-"+placeholder, simulatedOrder)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var group sync.WaitGroup
	for _, part := range []func() error{
		func() error { return s.created.send(ctx, creates) },
		func() error { return s.read.send(ctx, reads) },
		func() error { return s.simulate.send(ctx, simulations) },
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

// send sends requests and notes when each was.
func (s *stream) send(ctx context.Context, l openLoop) error {
	l.note = func(one span) { s.spans = append(s.spans, one) }
	if _, err := l.run(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// sandboxKey is one of the application whose webhooks are received on live.
func (s *soaking) sandboxKey(ctx context.Context) (string, error) {
	var key struct{ Key string }
	err := command(ctx, s.binary, s.url, &key,
		"key", "create", "--app", "app_"+s.applications[0], "--env", "sandbox", "--scopes", "all", "--json")
	return key.Key, err
}

// failed tells what makes the run worthless, whatever its figures.
func (s *soaking) failed() error {
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

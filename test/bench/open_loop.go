package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// openLoop is requests that begin at moments of chance, whether or not earlier ones have ended.
type openLoop struct {
	address     string
	keys        []string // of the connections, in turn
	connections int
	perSecond   float64
	duration    time.Duration

	number  func() int                                // of a request
	request func(address, key string) []byte          // nil: a create
	send    func(c *conn, number int) (answer, error) // nil: as a create is sent
	good    func(a answer) bool                       // nil: it answers 201
	note    func(s span)                              // nil: nothing is noted
}

// span is a request from when it was to begin until its answer.
type span struct{ begun, ended time.Time }

// moments are when requests begin, counted from the first: as far apart as chance has it,
// as pgbench --rate does it, so many a second on average.
func moments(perSecond float64, duration time.Duration, chance *rand.Rand) (all []time.Duration) {
	for at := time.Duration(0); at < duration; at += time.Duration(chance.ExpFloat64() * float64(time.Second) / perSecond) {
		all = append(all, at)
	}
	return all
}

// run sends them. The latency of each is counted from its moment, also while all connections
// are busy. An answer that is not good ends the run.
func (l openLoop) run(ctx context.Context) (m measurement, err error) {
	if l.request == nil {
		l.request = createRequest
	}
	if l.send == nil {
		l.send = (*conn).create
	}
	if l.good == nil {
		l.good = func(a answer) bool { return a.status == http.StatusCreated }
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	first := uint64(l.number()) //nolint:gosec // from 1 on
	due := moments(l.perSecond, l.duration, rand.New(rand.NewPCG(first, first)))
	next := make(chan time.Time, len(due)) // nothing waits for a connection but the request itself
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range l.connections {
		c, err := dial(ctx, l.address, l.request(l.address, l.keys[i%len(l.keys)]))
		if err != nil {
			fail(err)
			break
		}
		group.Go(func() {
			defer c.net.Close()
			for begun := range next {
				a, err := l.send(c, l.number())
				ended := time.Now()
				if err == nil && !l.good(a) {
					err = fmt.Errorf("a request was answered %d: %s", a.status, a.body)
				}
				if err != nil {
					fail(err)
					return
				}
				mu.Lock()
				m.latencies = append(m.latencies, ended.Sub(begun))
				if l.note != nil {
					l.note(span{begun, ended})
				}
				mu.Unlock()
			}
		})
	}
	begun := time.Now()
	for _, after := range due {
		if ctx.Err() != nil {
			break
		}
		sleepUntil(begun.Add(after))
		next <- begun.Add(after)
	}
	close(next)
	group.Wait()
	slices.Sort(m.latencies)
	m.operations = len(m.latencies)
	m.perSecond = float64(m.operations) / time.Since(begun).Seconds()
	return m, context.Cause(ctx)
}

// sleepUntil is late by a tenth of a millisecond, as pgbench is. time.Sleep is late by up to
// a whole one where nothing else runs, which would count as time that a request took.
func sleepUntil(moment time.Time) {
	for left := time.Until(moment); left > 0; left = time.Until(moment) {
		timeout := unix.NsecToTimeval(int64(left))
		_, _ = unix.Select(0, nil, nil, nil, &timeout) // cut off by a signal, it is called again
	}
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// paceLoad is creates of some applications, for so long.
type paceLoad struct {
	addresses []string // of the servers; connections are shared out among them
	of        []application
	number    func() int
	duration  time.Duration
	request   func(address, key string) []byte          // empty: a create
	note      func(number int, due time.Time)           // empty: nothing is noted
	send      func(c *conn, number int) (answer, error) // empty: as a create is sent

	connections int // of the open loop; 0: paceConnections
}

// dial connects the i-th connection.
func (l paceLoad) dial(ctx context.Context, i int) (*conn, error) {
	request := l.request
	if request == nil {
		request = createRequest
	}
	address := l.addresses[i/len(l.of)%len(l.addresses)] // each server gets all applications
	return dialWith(ctx, address, request(address, l.of[i%len(l.of)].key))
}

// ask sends what is to be sent, by default the request with its number.
func (l paceLoad) ask(c *conn, number int) (answer, error) {
	if l.send != nil {
		return l.send(c, number)
	}
	return c.create(number, number)
}

// at sends them at a pace; 0: as fast as they are answered.
func (l paceLoad) at(ctx context.Context, perSecond float64) (measurement, error) {
	if perSecond == 0 {
		return l.closedLoop(ctx)
	}
	return l.openLoop(ctx, perSecond)
}

// closedLoop keeps every connection busy, all of them with the first server.
func (l paceLoad) closedLoop(ctx context.Context) (measurement, error) {
	keys := make([]string, len(l.of))
	for i, a := range l.of {
		keys[i] = a.key
	}
	all := load{address: l.addresses[0], keys: keys, connections: paceConnections}
	m, err := all.send(ctx, l.duration, false, func(int) int { return l.number() })
	if err == nil && m.unexpected > 0 {
		err = fmt.Errorf("%d creates were not answered as they should be, one %s", m.unexpected, m.example)
	}
	return m, err
}

// moments are when creates begin, counted from the first: as far apart as chance has it,
// as pgbench --rate does it, so many a second on average.
func moments(perSecond float64, duration time.Duration, chance *rand.Rand) (all []time.Duration) {
	for at := time.Duration(0); at < duration; at += time.Duration(chance.ExpFloat64() * float64(time.Second) / perSecond) {
		all = append(all, at)
	}
	return all
}

// openLoop begins creates at moments of chance. The latency of each is counted from its
// moment, also while all connections are busy.
func (l paceLoad) openLoop(ctx context.Context, perSecond float64) (m measurement, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	first := uint64(l.number()) //nolint:gosec // from 1 on
	due := moments(perSecond, l.duration, rand.New(rand.NewPCG(first, first)))
	next := make(chan time.Time, len(due)) // nothing waits for a connection but the create itself
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range cmp.Or(l.connections, paceConnections) {
		c, err := l.dial(ctx, i)
		if err != nil {
			fail(err)
			break
		}
		group.Go(func() {
			defer c.net.Close()
			for begun := range next {
				number := l.number()
				if l.note != nil {
					l.note(number, begun)
				}
				a, err := l.ask(c, number)
				took := time.Since(begun)
				if err == nil && a.status != http.StatusCreated && (l.request == nil || a.status/100 != 2) {
					err = fmt.Errorf("a create was answered %d: %s", a.status, a.body)
				}
				if err != nil {
					fail(err)
					return
				}
				mu.Lock()
				m.latencies = append(m.latencies, took)
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
// a whole one where nothing else runs, which would count as time that a create took.
func sleepUntil(moment time.Time) {
	for left := time.Until(moment); left > 0; left = time.Until(moment) {
		timeout := unix.NsecToTimeval(int64(left))
		_, _ = unix.Select(0, nil, nil, nil, &timeout) // cut off by a signal, it is called again
	}
}

// lateness of webhooks is from their events to their arrivals.
func lateness(came []arrival) (m measurement) {
	for _, a := range came {
		m.latencies = append(m.latencies, a.Came.Sub(a.Happened))
	}
	slices.Sort(m.latencies)
	return m
}

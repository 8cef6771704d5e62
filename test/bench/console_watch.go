package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// watch has everybody open the board. close ends that, and is an error where a stream has
// ended before or said nothing.
func (c *company) watch(ctx context.Context) (closeAll func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var streams sync.WaitGroup
	var closing atomic.Bool
	errs := make([]error, len(c.staff))
	began := make(chan struct{}, len(c.staff))
	for i, browser := range c.staff {
		streams.Go(func() {
			events := 0
			begin := sync.OnceFunc(func() { began <- struct{}{} })
			defer begin()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.serving.ops+"/console/board/events", http.NoBody)
			if err == nil {
				req.Header.Set("Accept", "text/event-stream")
				var res *http.Response
				if res, err = browser.Do(req); err == nil {
					for lines := bufio.NewScanner(res.Body); lines.Scan(); {
						if line := lines.Text(); strings.HasPrefix(line, "event: board") || strings.HasPrefix(line, "event: same") {
							events++
							begin()
						}
					}
					err = res.Body.Close()
				}
			}
			if !closing.Load() || events == 0 {
				errs[i] = fmt.Errorf("the stream of console %d ended after %d events: %w", i, events, cmp.Or(errors.Join(err, ctx.Err()), io.EOF))
			}
		})
	}
	for range c.staff {
		<-began
	}
	return func() error {
		closing.Store(true)
		cancel()
		streams.Wait()
		return errors.Join(errs...)
	}, ctx.Err()
}

// restPace is how many creates a second there are while processor time is measured: so
// that numbers change from one look at the board to the next.
const restPace = 2

// rest measures what server and Postgres spend while next to nothing is asked for.
func (c *company) rest(ctx context.Context, watched bool) error {
	closeAll, of := func() error { return nil }, 0
	if watched {
		var err error
		if closeAll, err = c.watch(ctx); err != nil {
			return err
		}
		of = 1
	}
	err := pause(ctx, quiet)
	begun, before := time.Now(), cpuOf(c.serving.cmd.Process.Pid)+cpuOfTree(c.master)
	failed := c.trickle(ctx)
	spent := cpuOf(c.serving.cmd.Process.Pid) + cpuOfTree(c.master) - before
	c.idled[of] = append(c.idled[of], 100*float64(spent)/float64(time.Since(begun)))
	if err := errors.Join(err, failed, closeAll()); err != nil {
		return fmt.Errorf("measure processor time: %w", err)
	}
	return nil
}

// trickle books restPace a second on one connection, which is never idle for long.
func (c *company) trickle(ctx context.Context) error {
	conn, err := dial(ctx, c.serving.address, c.customer.keys[0])
	if err != nil {
		return err
	}
	defer conn.net.Close()
	for range int(c.idle.Seconds() * restPace) {
		n := int(c.numbers.Add(1))
		a, err := conn.create(n, n)
		if err == nil && a.status != http.StatusCreated {
			err = fmt.Errorf("a create was answered %d: %s", a.status, a.body)
		}
		if err := errors.Join(err, pause(ctx, time.Second/restPace)); err != nil {
			return err
		}
	}
	return nil
}

// creates are of the customer that is measured.
func (c *company) creates(duration time.Duration) paceLoad {
	of := make([]application, len(c.customer.keys))
	for i, key := range c.customer.keys {
		of[i] = application{key: key}
	}
	return paceLoad{addresses: []string{c.serving.address}, of: of, number: func() int { return int(c.numbers.Add(1)) }, duration: duration}
}

// What is beside creates.
const (
	besideConsoles = 1 << iota
	besideReport
)

// consoleLoad is creates at a pace.
type consoleLoad struct {
	name      string
	perSecond float64
	share     float64          // of full load; 0: perSecond counts
	figures   [4][]measurement // by what is beside them
	reports   int              // tables of reports that were read meanwhile
	full      []float64        // creates a second at full load, of each round
}

// book measures creates by themselves and beside consoles and a report, in turns.
func (c *company) book(ctx context.Context, l *consoleLoad, round int) error {
	creates := c.creates(c.duration)
	perSecond := l.perSecond
	if l.share > 0 {
		full := creates
		full.duration = c.duration / 2
		m, err := full.at(ctx, 0)
		if err != nil {
			return err
		}
		l.full = append(l.full, m.perSecond)
		perSecond = l.share * m.perSecond
	}
	measured := []int{0, besideConsoles | besideReport}
	if c.parts {
		measured = append(measured, besideConsoles, besideReport)
	}
	for i := range measured {
		with := measured[(i+round)%len(measured)]
		closeAll, read := func() error { return nil }, func() error { return nil }
		if with&besideConsoles != 0 {
			var err error
			if closeAll, err = c.watch(ctx); err != nil {
				return err
			}
		}
		if with&besideReport != 0 {
			read = c.read(ctx, &l.reports)
		}
		m, err := creates.at(ctx, perSecond)
		if err := errors.Join(err, read(), closeAll()); err != nil {
			return err
		}
		l.figures[with] = append(l.figures[with], m)
	}
	return nil
}

// read has a person download the table of the longest report again and again.
func (c *company) read(ctx context.Context, n *int) (end func() error) {
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if _, err := c.get(ctx, "/reports.csv?each=customer&"+c.longest()); err != nil {
				done <- err
				return
			}
			*n++
			select {
			case <-stop:
				done <- nil
				return
			case <-time.After(c.between):
			}
		}
	}()
	return func() error {
		close(stop)
		return <-done
	}
}

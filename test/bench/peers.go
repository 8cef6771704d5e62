package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// peersArgument measures webhooks of this program beside those of other systems that
// deliver them, which run on this machine already: the same payload, the same pace, in
// turns. From an event's due moment, when a client sends it, until its webhook has come.
const peersArgument = "peers"

// peerEvent is a webhook of this program, as its peers are given it.
const peerEvent = `{"id":"evt_0198f3a27c4e7b1d9a6e5c2f10d3b847","type":"delivery.created","timestamp":"2026-11-21T10:00:00.123Z",` +
	`"api_version":"v1","environment":"live","simulated":false,"sequence":1,"data":{"delivery":{"id":"dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847",` +
	`"reference":"WB-7K2M-9QXA","external_id":"order-` + placeholder + `","status":"booked","vehicle_type":"bike","recipient":{"id":` +
	`"rcp_0198f3a27c4e7b1d9a6e5c2f10d3b847","name":"Nana Akosua Boateng-Mensah","phone_number":"+233241234567","address":{"id":` +
	`"adr_0198f3a27c4e7b1d9a6e5c2f10d3b847","label":"Home","address":"17 Palm Crescent, Labone, behind the old post office","latitude":5.5712345,` +
	`"longitude":-0.1723456,"municipality":"La Dade Kotopon","delivery_notes":"Blue gate, ring twice and wait for the watchman"}},"pickup_location":` +
	`{"id":"pul_0198f3a27c4e7b1d9a6e5c2f10d3b847","name":"Osu shop","address":"5 Oxford Street, Osu","latitude":5.5571,"longitude":-0.1818},` +
	`"payment":{"type":"cod","goods_value":120.5,"collect":138.5},"price":{"amount":18,"currency":"GHS","distance_km":4.2},"tracking_url":` +
	`"https://track.example.com/WB-7K2M-9QXA","created_at":"2026-11-21T10:00:00.123Z","updated_at":"2026-11-21T10:00:00.123Z"}}}`

type peerOptions struct {
	rounds, backlog int
	duration        time.Duration
	paces, binary   string
	outpost, convoy string
}

// peer is a system that delivers webhooks.
type peer struct {
	name      string
	load      paceLoad
	subscribe func(ctx context.Context, inbox string) error

	latencies map[int][]measurement // by pace
	spent     map[int][]float64     // processor time of the whole machine for each event, ms
	drained   []float64             // events a second
	lost      int
}

func benchPeers(ctx context.Context) (err error) {
	var o peerOptions
	flags := flag.NewFlagSet(peersArgument, flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 3, "how often everything is measured")
	flags.IntVar(&o.backlog, "backlog", 4000, "events that are sent as fast as they are taken")
	flags.DurationVar(&o.duration, "duration", 10*time.Second, "length of one measurement at a pace")
	flags.StringVar(&o.paces, "paces", "20,200", "events a second, separated by commas")
	flags.StringVar(&o.outpost, "outpost", "", "ADDRESS,KEY of a Hookdeck Outpost; empty: it is left out")
	flags.StringVar(&o.convoy, "convoy", "", "ADDRESS,KEY,PROJECT of a Convoy; empty: it is left out")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	_ = flags.Parse(os.Args[2:]) // it exits
	paces, err := parsePaces(o.paces)
	if err != nil {
		return err
	}
	b, err := open(ctx, options{binary: o.binary, connections: paceConnections})
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	p, err := openPost(ctx, b, b.binary)
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return err
	}
	all, err := p.peers(o)
	if err != nil {
		return err
	}
	for i, of := range all {
		if err := of.subscribe(ctx, p.neighbours[i].inboxes[0]); err != nil {
			return fmt.Errorf("%s: %w", of.name, err)
		}
	}
	for round := range o.rounds + 1 { // the first one warms up
		for i := range all {
			of := all[(i+round)%len(all)]
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round, o.rounds, of.name)
			if err := p.compare(ctx, of, paces, o.backlog, round == 0); err != nil {
				return fmt.Errorf("%s: %w", of.name, err)
			}
		}
	}
	printPeers(os.Stdout, all, paces, o)
	return nil
}

// peers are this program and those that are named.
func (p *post) peers(o peerOptions) (all []*peer, err error) {
	var number atomic.Int64
	add := func(name, address, key string, request func(address, key string) []byte, subscribe func(context.Context, string) error) {
		all = append(all, &peer{
			name: name, subscribe: subscribe, latencies: map[int][]measurement{}, spent: map[int][]float64{},
			load: paceLoad{
				addresses: []string{address}, of: []application{{key: key}}, number: func() int { return int(number.Add(1)) }, duration: o.duration,
				request: request,
			},
		})
	}
	add("Waybill", p.serving.address, p.neighbours[0].key, createRequest, func(ctx context.Context, inbox string) error {
		_, err := p.addEndpoint(ctx, p.neighbours[0], inbox+"/hooks")
		return err
	})
	if o.outpost != "" {
		named := strings.Split(o.outpost, ",")
		if len(named) != 2 {
			return nil, fmt.Errorf("-outpost %q: give ADDRESS,KEY", o.outpost)
		}
		address, key := named[0], named[1]
		const tenant = "waybill-bench"
		add("Outpost", address, key, func(address, key string) []byte {
			return postRequest(address, key, "/api/v1/publish", "event-"+placeholder,
				`{"id":"event-`+placeholder+`","tenant_id":"`+tenant+`","topic":"delivery.created","data":`+peerEvent+`}`)
		}, func(ctx context.Context, inbox string) error {
			at := "http://" + address + "/api/v1/tenants/" + tenant
			if _, err := ask(ctx, http.MethodPut, at, key, ""); err != nil {
				return err
			}
			_, err := ask(ctx, http.MethodPost, at+"/destinations", key,
				`{"type":"webhook","topics":["*"],"config":{"url":"http://`+inbox+`/hooks"}}`)
			return err
		})
	}
	if o.convoy != "" {
		named := strings.Split(o.convoy, ",")
		if len(named) != 3 {
			return nil, fmt.Errorf("-convoy %q: give ADDRESS,KEY,PROJECT", o.convoy)
		}
		address, key, path := named[0], named[1], "/api/v1/projects/"+named[2]
		var endpoint struct{ Data struct{ UID string } }
		add("Convoy", address, key, func(address, key string) []byte {
			return postRequest(address, key, path+"/events", "event-"+placeholder,
				`{"endpoint_id":"`+endpoint.Data.UID+`","event_type":"delivery.created","data":`+peerEvent+`}`)
		}, func(ctx context.Context, inbox string) error {
			at := "http://" + address + path
			made, err := ask(ctx, http.MethodPost, at+"/endpoints", key, `{"name":"`+inbox+`","url":"http://`+inbox+`/hooks","secret":"bench-secret"}`)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(made, &endpoint); err != nil {
				return err
			}
			_, err = ask(ctx, http.MethodPost, at+"/subscriptions", key, `{"name":"`+inbox+`","endpoint_id":"`+endpoint.Data.UID+`"}`)
			return err
		})
	}
	return all, nil
}

// compare measures one of them at each pace, and then as fast as it can.
func (p *post) compare(ctx context.Context, of *peer, paces []int, backlog int, warm bool) error {
	var mu sync.Mutex
	due := map[int]time.Time{}
	l := of.load
	l.note = func(number int, at time.Time) {
		mu.Lock()
		defer mu.Unlock()
		due[number] = at
	}
	come := func() (last time.Time, m measurement, err error) {
		if err := p.await(ctx, len(due), patience); err != nil {
			return last, m, err
		}
		a, err := p.receiver.ask(askTake)
		for _, one := range a.First {
			if one.Came.After(last) {
				last = one.Came
			}
			if at, ok := due[one.Order]; ok { // else it is a late one of the measurement before
				m.latencies = append(m.latencies, one.Came.Sub(at))
			}
		}
		if !warm {
			of.lost += len(due) - len(m.latencies)
		}
		slices.Sort(m.latencies)
		return last, m, err
	}
	for _, pace := range paces {
		clear(due)
		before := busy()
		if _, err := l.openLoop(ctx, float64(pace)); err != nil {
			return err
		}
		_, m, err := come()
		if err != nil {
			return err
		}
		if !warm {
			of.latencies[pace] = append(of.latencies[pace], m)
			of.spent[pace] = append(of.spent[pace], (busy()-before).Seconds()*1000/float64(len(due)))
		}
	}
	clear(due)
	begun := time.Now()
	if err := l.burst(ctx, backlog); err != nil {
		return err
	}
	last, _, err := come()
	if err == nil && !warm {
		of.drained = append(of.drained, float64(len(due))/last.Sub(begun).Seconds())
	}
	return err
}

// burst sends so many as fast as they are taken.
func (l paceLoad) burst(ctx context.Context, n int) error {
	var left atomic.Int64
	left.Store(int64(n))
	ended := make(chan error, perApplication)
	for i := range perApplication {
		go func() {
			c, err := l.dial(ctx, i)
			if err != nil {
				ended <- err
				return
			}
			defer c.net.Close()
			for left.Add(-1) >= 0 {
				number := l.number()
				l.note(number, time.Now())
				a, err := c.create(number, number)
				if err == nil && a.status/100 != 2 {
					err = fmt.Errorf("an event was answered %d: %s", a.status, a.body)
				}
				if err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	var all error
	for range perApplication {
		all = errors.Join(all, <-ended)
	}
	return all
}

// busy is the processor time that the whole machine has spent: it tells what an event
// costs with all servers that a system needs, and with the load, which is the same for all.
func busy() (spent time.Duration) {
	text, _ := os.ReadFile("/proc/stat") // zero where it is missing
	line, _, _ := bytes.Cut(text, []byte("\n"))
	for i, field := range strings.Fields(string(line)) {
		if n, err := strconv.Atoi(field); err == nil && i != 4 && i != 5 && i < 8 { // not idle, nor waiting for the disk
			spent += time.Duration(n) * tick
		}
	}
	return spent
}

func printPeers(w io.Writer, all []*peer, paces []int, o peerOptions) {
	fmt.Fprintf(w, "%d rounds; ms from an event's due moment until its webhook has come, median of the rounds (worst)\n", o.rounds)
	worst := func(values []float64) float64 { return slices.Max(append(values, 0)) }
	for _, of := range all {
		for _, pace := range paces {
			var p50, p95, most []float64
			for _, m := range of.latencies[pace] {
				p50 = append(p50, m.quantile(.5).Seconds()*1000)
				p95 = append(p95, m.quantile(.95).Seconds()*1000)
				most = append(most, m.quantile(1).Seconds()*1000)
			}
			fmt.Fprintf(w, "%-8s %4d/s  p50 %.1f (%.1f)  p95 %.1f (%.1f)  most %.0f  processor time of the machine %.2f ms an event (%.2f)\n",
				of.name, pace, median(p50), worst(p50), median(p95), worst(p95), worst(most), median(of.spent[pace]), worst(of.spent[pace]))
		}
		fmt.Fprintf(w, "%-8s %d at once: %.0f a second %s; %d lost\n", of.name, o.backlog, median(of.drained), spread(of.drained), of.lost)
	}
}

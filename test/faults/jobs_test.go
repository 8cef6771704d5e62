package faults

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
)

type m = map[string]any

// job is a create that must happen once, however often it is sent: a delivery, or
// a bulk of them.
type job struct {
	key   string
	path  string // of the call
	body  []byte
	items []item // one, or those of the bulk in their order
	sends int    // how many times it is sent at once
	told  answers
}

// item is one delivery of a job.
type item struct {
	marker  string // in the delivery's instructions: finds what was made of it
	refusal string // the code with which it has to fail; empty: it has to be created
}

func (j *job) isBulk() bool { return j.path == bulkPath }

// status is that of the answer.
func (j *job) status() int {
	for _, i := range j.items {
		if i.refusal != "" {
			return http.StatusMultiStatus
		}
	}
	return http.StatusCreated
}

const (
	singlePath = "/deliveries"
	bulkPath   = "/deliveries/bulk"
)

// demand is what customers want in a storm.
type demand struct {
	singles int // deliveries that are ordered one by one
	bulked  int // deliveries that are ordered in bulks
	largest int // bulk
	doubled int // per cent of the jobs that are sent more than once at a time
	shared  int // per cent of the deliveries that go to the same few people
	// Nothing but the key stands between an order without an external_id and a
	// second delivery. Of each four one has none; of the nameless none has.
	nameless bool
}

// jobs writes down what is wanted. What first is about has to be done before
// the rest is sent: its external_ids are those that items of bulks fail for.
func (d demand) jobs() (first, rest []*job) {
	c := newClerk(d.doubled, d.shared)
	c.nameless = d.nameless
	var taken []string
	if d.bulked > 0 {
		for range mostRefusals {
			j, externalID := c.rival()
			first, taken = append(first, j), append(taken, externalID)
		}
	}
	for range d.singles {
		rest = append(rest, c.single())
	}
	for left := d.bulked; left > 0; {
		size := min(left, 1+rand.IntN(d.largest))
		rest = append(rest, c.bulk(size, taken))
		left -= size
	}
	rand.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return first, rest
}

// clerk writes orders that no other clerk writes.
type clerk struct {
	run             uint64
	written         int
	doubled, shared int // per cent, as in demand
	nameless        bool
}

func newClerk(doubled, shared int) *clerk {
	return &clerk{run: rand.Uint64(), doubled: doubled, shared: shared}
}

// delivery is one order. Half of the shared ones go to the same addresses too.
func (c *clerk) delivery() (item, m) {
	c.written++
	i := item{marker: fmt.Sprintf("order %016x %d", c.run, c.written)}
	phone, at := fmt.Sprintf("+23324%07d", c.written), "17 Palm Crescent, Labone"
	if rand.IntN(100) < c.shared {
		phone = fmt.Sprintf("+23327%07d", rand.IntN(12))
		if rand.IntN(2) == 0 {
			at = fmt.Sprintf("%d Ring Road, Accra", rand.IntN(40))
		}
	}
	body := m{
		"recipient": m{"name": "Efua Quartey", "phone_number": phone, "address": m{
			"address": at, "latitude": 5.58, "longitude": -0.19, "label": "Home", "municipality": "Accra"}},
		"pickup": m{"name": "Osu kitchen", "contact": "+233302000011", "address": "8 Cantonments Close",
			"latitude": 5.5571, "longitude": -0.1818},
		"payment": m{"type": "delivery_only"}, "vehicle_type": "bike",
		"delivery_instructions": i.marker,
	}
	if c.written%4 != 0 && !c.nameless {
		body["external_id"] = i.marker
	}
	return i, body
}

func (c *clerk) job(path string, body m, items ...item) *job {
	j := &job{key: fmt.Sprintf("storm-%016x-%d", c.run, c.written), path: path, items: items, sends: 1}
	if rand.IntN(100) < c.doubled {
		j.sends = 2 + rand.IntN(2)
	}
	var err error
	if j.body, err = json.Marshal(body); err != nil {
		panic(err) // strings and numbers
	}
	return j
}

// single orders one delivery.
func (c *clerk) single() *job {
	i, body := c.delivery()
	return c.job(singlePath, body, i)
}

// rival orders one delivery with an external_id that others will want too.
func (c *clerk) rival() (j *job, externalID string) {
	i, body := c.delivery()
	body["external_id"] = i.marker
	return c.job(singlePath, body, i), i.marker
}

// mostRefusals is how many items of one bulk can fail.
const mostRefusals = 6

// bulk orders so many deliveries at once. Some items, at most mostRefusals of
// a hundred, want an external_id that is taken.
func (c *clerk) bulk(size int, taken []string) *job {
	var items []item
	var orders []m
	for n := range size {
		i, body := c.delivery()
		if n%17 == 8 && len(taken) > n/17 {
			body["external_id"], i.refusal = taken[n/17], "EXTERNAL_ID_CONFLICT"
		}
		items, orders = append(items, i), append(orders, body)
	}
	return c.job(bulkPath, m{"deliveries": orders}, items...)
}

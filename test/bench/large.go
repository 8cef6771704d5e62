package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// largeArgument makes this program measure reads of large tables:
//
//	go run ./test/servers -- go run ./test/bench large -rows 1000000,10000000
//
// For each number of rows there is a database, filled by COPY, with a server of
// its own; both stay until the end, and rounds alternate between them. What
// counts is how much a p99 grows from the fewest rows to the most.
const largeArgument = "large"

// deepPage is the other page of the list that is measured, beside the first one.
const deepPage = 400

const pageSize = 25

// largeOptions are the flags behind it.
type largeOptions struct {
	rows        string
	rounds      int
	duration    time.Duration
	few         int
	connections int
	binary      string
	plot        string
}

func benchLarge(ctx context.Context) (err error) {
	var o largeOptions
	flags := flag.NewFlagSet(largeArgument, flag.ExitOnError)
	flags.StringVar(&o.rows, "rows", "1000000,10000000",
		"deliveries in each database; recipients are a tenth of them, events of the feed a fifth")
	flags.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flags.DurationVar(&o.duration, "duration", 4*time.Second, "length of one measurement")
	flags.IntVar(&o.few, "few", 2, "HTTP connections where there are few")
	flags.IntVar(&o.connections, "connections", 16, "HTTP connections where there are many")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	flags.StringVar(&o.plot, "plot", "", "a file into which the goals are drawn, as SVG")
	_ = flags.Parse(os.Args[2:]) // it exits
	rows, err := rowsOf(o.rows)
	if err != nil {
		return err
	}
	b, err := open(ctx, options{binary: o.binary, connections: o.connections})
	l := &library{bench: b, largeOptions: o}
	defer func() { err = errors.Join(err, l.close()) }()
	if err != nil {
		return err
	}
	if err := b.room(ctx, rows); err != nil {
		return err
	}
	for _, n := range rows {
		if err := l.add(ctx, n); err != nil {
			return fmt.Errorf("prepare %s deliveries: %w", amount(n), err)
		}
	}
	readings := l.readings()
	for round := range o.rounds {
		for i := range readings {
			r := readings[(i+round)%len(readings)]
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, r.name())
			if err := r.measure(ctx, o.duration, round); err != nil {
				return fmt.Errorf("%s: %w", r.name(), err)
			}
		}
	}
	return printLarge(os.Stdout, l, readings)
}

// rowsOf reads numbers that rise.
func rowsOf(text string) (rows []int, err error) {
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n <= deepPage*pageSize || len(rows) > 0 && n <= rows[len(rows)-1] {
			return nil, fmt.Errorf("-rows %s: give numbers that rise, each above the %d of %d pages", text, deepPage*pageSize, deepPage)
		}
		rows = append(rows, n)
	}
	return rows, nil
}

// library is all databases.
type library struct {
	*bench
	largeOptions
	volumes []*volume
}

// volume is one database with its server.
type volume struct {
	filling
	server *server
	deep   string // the cursor of deepPage
	bytes  int64  // of the database
	took   time.Duration
}

func (l *library) close() error {
	var err error
	for _, v := range l.volumes {
		if v.server != nil {
			err = errors.Join(err, v.server.stop())
		}
	}
	return errors.Join(err, l.bench.close())
}

// add makes a database, has the program book one delivery in it, and fills it
// with others of the kind.
func (l *library) add(ctx context.Context, rows int) error {
	v := &volume{filling: filling{rows: rows, begun: time.Now().Add(-time.Duration(rows) * apart)}}
	l.volumes = append(l.volumes, v)
	url, err := l.createDatabase(ctx, strconv.Itoa(rows))
	if err != nil {
		return err
	}
	dir := filepath.Join(l.dir, strconv.Itoa(rows))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	o := options{connections: 1}
	if v.server, err = startServer(ctx, o, l.bench.binary, url, dir); err != nil {
		return err
	}
	c, err := dial(ctx, v.server.address, v.server.keys[0])
	if err != nil {
		return err
	}
	a, err := c.create(0, 0)
	c.net.Close()
	if err == nil && a.status != http.StatusCreated {
		err = fmt.Errorf("a create was answered %d: %s", a.status, a.body)
	}
	if err = errors.Join(err, v.server.stop()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "filling a database with %s deliveries\n", amount(rows))
	begun := time.Now()
	err = l.on(ctx, url, func(db *pgx.Conn) error {
		if err := v.fill(ctx, db); err != nil {
			return err
		}
		return db.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&v.bytes)
	})
	if err != nil {
		return err
	}
	v.took = time.Since(begun)
	if v.server, err = serve(ctx, o, l.bench.binary, dir, v.server.customers, settings(url)); err != nil {
		return err
	}
	return v.leaf(ctx)
}

// leaf goes to the deep page, from cursor to cursor.
func (v *volume) leaf(ctx context.Context) error {
	path := "/v1/deliveries?limit=" + strconv.Itoa(pageSize)
	for page := 1; page < deepPage; page++ {
		c, err := dialWith(ctx, v.server.address, getRequest(v.server.address, v.server.keys[0], path+cursorOf(v.deep)))
		if err != nil {
			return err
		}
		a, err := c.exchange()
		c.net.Close()
		var list struct {
			Meta struct {
				Next string `json:"next_cursor"`
			}
		}
		if err == nil && a.status != http.StatusOK {
			err = fmt.Errorf("page %d was answered %d: %s", page, a.status, a.body)
		}
		if err == nil {
			err = json.Unmarshal(a.body, &list)
		}
		if v.deep = list.Meta.Next; err == nil && v.deep == "" {
			err = fmt.Errorf("page %d is the last", page)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func cursorOf(cursor string) string {
	if cursor == "" {
		return ""
	}
	return "&cursor=" + cursor
}

// reading is one request, measured in each volume.
type reading struct {
	what        string
	goal        bool
	connections int
	volumes     []*volume
	work        func(v *volume) work
	rounds      [][]measurement // of each volume
}

func (r *reading) name() string { return fmt.Sprintf("%s, %d connections", r.what, r.connections) }

// readings are what every round measures.
func (l *library) readings() (all []*reading) {
	limit := strconv.Itoa(pageSize)
	list := func(path func(v *volume) string) func(v *volume) work {
		return func(v *volume) work {
			return work{
				request: func(address, key string) []byte { return getRequest(address, key, path(v)) },
				next:    func(int) int { return 0 },
				send:    func(c *conn, _ int) (answer, error) { return c.exchange() },
				expected: func(a answer) bool {
					return a.status == http.StatusOK && bytes.Contains(a.body, []byte(`"has_more":true`))
				},
			}
		}
	}
	for _, connections := range []int{l.few, l.largeOptions.connections} {
		for _, r := range []*reading{
			{what: "deliveries, page 1", goal: true, work: list(func(*volume) string { return "/v1/deliveries?limit=" + limit })},
			{what: fmt.Sprintf("deliveries, page %d", deepPage), goal: true,
				work: list(func(v *volume) string { return "/v1/deliveries?limit=" + limit + cursorOf(v.deep) })},
			{what: "a delivery", work: (*volume).gets},
			{what: "recipients, page 1", work: list(func(*volume) string { return "/v1/recipients?limit=" + limit })},
			{what: "the feed, page 1", work: list(func(*volume) string { return "/v1/events?limit=" + limit })},
		} {
			r.connections, r.volumes, r.rounds = connections, l.volumes, make([][]measurement, len(l.volumes))
			all = append(all, r)
		}
	}
	return all
}

// gets are of random deliveries.
func (v *volume) gets() work {
	const mark, digits = "/dlv_", 32
	return work{
		request: func(address, key string) []byte {
			return getRequest(address, key, "/v1/deliveries"+mark+strings.Repeat("f", digits))
		},
		next: func(int) int { return rand.IntN(v.rows) },
		send: func(c *conn, n int) (answer, error) {
			copy(c.request[bytes.Index(c.request, []byte(mark))+len(mark):], v.id(deliveryKind, n))
			return c.exchange()
		},
		expected: func(a answer) bool { return a.status == http.StatusOK },
	}
}

// measure goes through the volumes, each time from another one on.
func (r *reading) measure(ctx context.Context, duration time.Duration, round int) error {
	for i := range r.volumes {
		i = (i + round) % len(r.volumes)
		v := r.volumes[i]
		l := &load{address: v.server.address, keys: v.server.keys, connections: r.connections}
		m, err := l.drive(ctx, duration, r.work(v))
		if err == nil && m.unexpected > 0 {
			err = fmt.Errorf("%d answers were not what they should be, the first %s", m.unexpected, m.example)
		}
		if err != nil {
			return err
		}
		r.rounds[i] = append(r.rounds[i], m)
	}
	return nil
}

// growth is a latency with the most rows as a multiple of that with the fewest,
// in each round.
func (r *reading) growth(q float64) []float64 {
	first, last := r.rounds[0], r.rounds[len(r.rounds)-1]
	values := make([]float64, len(first))
	for i := range values {
		values[i] = float64(last[i].quantile(q)) / float64(first[i].quantile(q))
	}
	return values
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/application/access"
)

// largeArgument makes this program measure what a year of deliveries takes from requests:
//
//	go run ./test/servers -- go run ./test/bench large -rows 1000000,100000000
//
// For each number of deliveries there is a database with a server of its own, and rounds
// alternate between them. All kinds of requests come at once, each at a pace far below what
// the machine can do. What counts is how much a p99 grows from the fewest deliveries to the
// most, within a round.
const largeArgument = "large"

const pageSize = 25

func benchLarge(ctx context.Context, args []string) (err error) {
	l := &library{}
	var o options
	flags := flagsOf(largeArgument, &o, 5, 15*time.Second)
	asked := flags.String("rows", "1000000,100000000", "deliveries in each database; in the last one there are "+
		"fewer where the disk has no room for them")
	flags.DurationVar(&l.warmUp, "warmup", 3*time.Second, "length of the same load before each, which is not measured")
	flags.IntVar(&l.pace, "pace", 100, "requests a second of each kind")
	flags.IntVar(&l.spare, "spare", 12, "GB of the disk that stay free")
	_ = flags.Parse(args) // it exits
	rows, err := rowsOf(*asked)
	if err != nil {
		return err
	}
	l.bench, err = open(ctx, o)
	defer func() { err = errors.Join(err, l.stop(), l.close()) }()
	if err != nil {
		return err
	}
	if err := l.prepare(ctx, rows); err != nil {
		return err
	}
	for round := range l.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, l.rounds)
		for i := range l.volumes {
			v := l.volumes[(i+round)%len(l.volumes)] // each time another one first
			if err := v.measure(ctx, l); err != nil {
				return fmt.Errorf("%s deliveries: %w", amount(v.rows), err)
			}
		}
	}
	l.print(os.Stdout)
	return nil
}

// leastRows have pages to go back to.
const leastRows = 10_000

// rowsOf reads numbers that rise.
func rowsOf(text string) (rows []int, err error) {
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < leastRows || len(rows) > 0 && n <= rows[len(rows)-1] {
			return nil, fmt.Errorf("-rows %s: give numbers that rise, each at least %d", text, leastRows)
		}
		rows = append(rows, n)
	}
	return rows, nil
}

// fit takes as many rows from the last number as must be, so that all find room.
func fit(rows []int, room int) ([]int, error) {
	fitting, last := slices.Clone(rows), len(rows)-1
	most := room / yearBytes
	for _, n := range rows[:last] {
		most -= n
	}
	fitting[last] = min(rows[last], max(0, most)/leastRows*leastRows)
	if fitting[last] < leastRows || last > 0 && fitting[last] <= rows[last-1] {
		return nil, fmt.Errorf("there is room for %d MB, and a delivery takes up to %d bytes: free some of the disk, or give fewer rows "+
			"with -rows", max(0, room)/1e6, yearBytes)
	}
	return fitting, nil
}

// library is all databases.
type library struct {
	*bench
	warmUp  time.Duration
	pace    int
	spare   int
	asked   int // rows of the last volume, before it had to fit
	volumes []*volume
}

// volume is one database with its server.
type volume struct {
	filling
	url     string
	server  *server
	numbers atomic.Int64 // of requests
	bytes   int64        // of the database
	took    time.Duration
	rounds  [][]measurement // of each kind of request
}

func (l *library) stop() (err error) {
	for _, v := range l.volumes {
		err = errors.Join(err, v.server.stop())
	}
	return err
}

// prepare fills all databases, as far as the disk has room.
func (l *library) prepare(ctx context.Context, rows []int) error {
	l.asked = rows[len(rows)-1]
	if dir, free, known := l.disk(ctx); known {
		var err error
		if rows, err = fit(rows, free-l.spare*1e9); err != nil {
			return fmt.Errorf("%s has %d MB free, %d GB of which stay so (-spare): %w", dir, free/1e6, l.spare, err)
		}
		if n := rows[len(rows)-1]; n < l.asked {
			fmt.Fprintf(os.Stderr, "%s has %d MB free: taking %s deliveries, not %s\n", dir, free/1e6, amount(n), amount(l.asked))
		}
	}
	for _, n := range rows {
		if err := l.add(ctx, n); err != nil {
			return fmt.Errorf("prepare %s deliveries: %w", amount(n), err)
		}
	}
	return nil
}

// add makes a database, has the program book one delivery with a webhook in it, and
// fills it with others of the kind.
func (l *library) add(ctx context.Context, rows int) error {
	v := &volume{filling: yearOf(rows), rounds: make([][]measurement, len(kinds))}
	l.volumes = append(l.volumes, v)
	first, err := openInstallation(ctx, l.bench, false, 1)
	if err == nil {
		err = first.bookOne(ctx)
	}
	v.url = first.url
	v.numbers.Store(first.numbers.Load())
	if err := errors.Join(err, first.close()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "filling a database with a year of %s deliveries\n", amount(rows))
	begun := time.Now()
	if err := l.on(ctx, v.url, func(db *pgx.Conn) error {
		if _, err := db.Exec(ctx, "CREATE EXTENSION pg_prewarm"); err != nil {
			return fmt.Errorf("it is of Postgres' own extensions (postgresql-contrib), install them: %w", err)
		}
		if err := v.fill(ctx, db); err != nil {
			return err
		}
		return db.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&v.bytes)
	}); err != nil {
		return err
	}
	v.took = time.Since(begun)
	v.server, err = serve(l.binary, l.dir, first.customers, settings(v.url))
	return err
}

// bookOne books a delivery with a webhook, which is never answered.
func (in *installation) bookOne(ctx context.Context) error {
	if _, err := in.addEndpoint(ctx, in.keys[0], "127.0.0.1:9/hooks"); err != nil {
		return err
	}
	c, err := dial(ctx, in.serving.address, createRequest(in.serving.address, in.keys[0]))
	if err != nil {
		return err
	}
	defer c.net.Close()
	a, err := c.create(in.number())
	if err == nil && a.status != http.StatusCreated {
		err = fmt.Errorf("a create was answered %d: %s", a.status, a.body)
	}
	return err
}

// kind is a request that is measured.
type kind struct {
	name    string
	request func(address, key string) []byte                        // nil: a create
	vary    func(v *volume, chance int) (mark string, value string) // what stands behind the mark
	page    bool                                                    // with others behind it
}

func pageOf(path string) func(address, key string) []byte {
	return func(address, key string) []byte { return getRequest(address, key, path) }
}

// perKind is how many connections a kind has: of one application so many requests of all
// kinds may be under way, and those behind them wait here, which counts.
var perKind = access.MaxInFlight / len(kinds)

const (
	idMark   = "/dlv_"
	timeMark = "created_before="
	timeForm = "2006-01-02T15:04:05Z"
)

var kinds = []kind{
	{name: "create"},
	{name: "get, any delivery", request: pageOf("/v1/deliveries" + idMark + strings.Repeat("f", 32)),
		vary: func(v *volume, chance int) (string, string) { return idMark, v.id(deliveryKind, chance) }},
	{name: "list, the newest", request: pageOf(fmt.Sprintf("/v1/deliveries?limit=%d", pageSize)), page: true},
	{name: "list, from any moment", request: pageOf(fmt.Sprintf("/v1/deliveries?limit=%d&%s%s", pageSize, timeMark, timeForm)), page: true,
		vary: func(v *volume, chance int) (string, string) {
			return timeMark, v.moment(max(chance, v.rows/100)).UTC().Format(timeForm)
		}},
	{name: "feed page", request: pageOf(fmt.Sprintf("/v1/events?limit=%d", pageSize)), page: true},
}

// load sends them to the volume's server.
func (k kind) load(v *volume, perSecond int, duration time.Duration) openLoop {
	l := openLoop{address: v.server.address, keys: v.server.keys, connections: perKind, perSecond: float64(perSecond), duration: duration,
		request: k.request, number: func() int { return int(v.numbers.Add(1)) }}
	if k.request == nil {
		return l
	}
	l.send = func(c *conn, _ int) (answer, error) {
		if k.vary != nil {
			mark, value := k.vary(v, rand.IntN(v.rows))
			copy(c.request[bytes.Index(c.request, []byte(mark))+len(mark):], value)
		}
		return c.exchange()
	}
	l.good = func(a answer) bool {
		return a.status == http.StatusOK && (!k.page || bytes.Contains(a.body, []byte(`"has_more":true`)))
	}
	return l
}

// measure sends requests of all kinds at once, once to warm up and once to be timed.
func (v *volume) measure(ctx context.Context, l *library) error {
	if err := v.warm(ctx, l); err != nil {
		return err
	}
	if _, err := v.all(ctx, l.pace, l.warmUp); err != nil {
		return err
	}
	measured, err := v.all(ctx, l.pace, l.duration)
	for i, m := range measured {
		v.rounds[i] = append(v.rounds[i], m)
	}
	return err
}

// all sends requests of all kinds at once.
func (v *volume) all(ctx context.Context, perSecond int, duration time.Duration) ([]measurement, error) {
	measured, failed := make([]measurement, len(kinds)), make([]error, len(kinds))
	var group sync.WaitGroup
	for i, k := range kinds {
		group.Go(func() {
			if measured[i], failed[i] = k.load(v, perSecond, duration).run(ctx); failed[i] != nil {
				failed[i] = fmt.Errorf("%s: %w", k.name, failed[i])
			}
		})
	}
	group.Wait()
	return measured, errors.Join(failed...)
}

// warm has the machine read the deliveries and their indexes: other databases may have
// had its memory meanwhile.
func (v *volume) warm(ctx context.Context, l *library) error {
	return l.on(ctx, v.url, func(db *pgx.Conn) error {
		_, err := db.Exec(ctx, "SELECT pg_prewarm(oid, 'read') FROM pg_class WHERE oid = 'deliveries'::regclass OR oid IN "+
			"(SELECT indexrelid FROM pg_index WHERE indrelid = 'deliveries'::regclass)")
		return err
	})
}

// print is the page.
func (l *library) print(w io.Writer) {
	l.printHead(w, fmt.Sprintf("A year of deliveries, with %d requests a second of each kind at once", l.pace))
	for _, v := range l.volumes {
		fmt.Fprintf(w, "%s deliveries: %d MB, filled in %.0f s\n", amount(v.rows), v.bytes/1e6, v.took.Seconds())
	}
	first, last := l.volumes[0], l.volumes[len(l.volumes)-1]
	if last.rows < l.asked {
		fmt.Fprintf(w, "%s were asked for: the disk had no room for them\n", amount(l.asked))
	}
	fmt.Fprintf(w, "\n%-24s", "p50 / p99 in ms")
	for _, v := range l.volumes {
		fmt.Fprintf(w, "%18s", amount(v.rows))
	}
	fmt.Fprintln(w)
	var goals []goal
	for i, k := range kinds {
		fmt.Fprintf(w, "%-24s", k.name)
		for _, v := range l.volumes {
			fmt.Fprintf(w, "%18s", latency(v.rounds[i]))
		}
		fmt.Fprintln(w)
		goals = append(goals, atMost("p99 of "+k.name+", most rows / fewest", "ratio", 1.15, ratios(last.rounds[i], first.rounds[i], at(0.99))))
	}
	printGoals(w, goals)
}

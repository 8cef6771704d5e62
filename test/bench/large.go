package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/application/access"
	"waybill/domain"
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

// largeOptions are the flags behind it.
type largeOptions struct {
	rows     string
	rounds   int
	duration time.Duration
	warmUp   time.Duration
	pace     int
	spare    int
	deadline time.Duration
	step     bool
	binary   string
}

func benchLarge(ctx context.Context) (err error) {
	var o largeOptions
	flags := flag.NewFlagSet(largeArgument, flag.ExitOnError)
	flags.StringVar(&o.rows, "rows", "1000000,100000000", "deliveries in each database; in the last one there are "+
		"fewer where the disk has no room for them")
	flags.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flags.DurationVar(&o.duration, "duration", 15*time.Second, "length of one measurement")
	flags.DurationVar(&o.warmUp, "warmup", 3*time.Second, "length of the same load before each, which is not measured")
	flags.IntVar(&o.pace, "pace", 100, "requests a second of each kind")
	flags.IntVar(&o.spare, "spare", 12, "GB of the disk that stay free")
	flags.DurationVar(&o.deadline, "deadline", 3*time.Hour, "for filling the databases")
	flags.BoolVar(&o.step, "step", false, "wait for a line of the standard input before each round, so that others may have the machine "+
		"meanwhile")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	_ = flags.Parse(os.Args[2:]) // it exits
	rows, err := rowsOf(o.rows)
	if err != nil {
		return err
	}
	b, err := open(ctx, options{binary: o.binary, connections: 1})
	l := &library{bench: b, largeOptions: o}
	defer func() { err = errors.Join(err, l.close()) }()
	if err != nil {
		return err
	}
	if err := l.prepare(ctx, rows); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for round := range o.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, o.rounds)
		if o.step && !lines.Scan() {
			return errors.New("the standard input ended before the last round")
		}
		for i := range l.volumes {
			v := l.volumes[(i+round)%len(l.volumes)] // each time another one first
			if err := v.measure(ctx, l); err != nil {
				return fmt.Errorf("%s deliveries: %w", amount(v.rows), err)
			}
		}
	}
	return printLarge(os.Stdout, l)
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
	largeOptions
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

func (l *library) close() error {
	var err error
	for _, v := range l.volumes {
		if v.server != nil {
			err = errors.Join(err, v.server.stop())
		}
	}
	return errors.Join(err, l.bench.close())
}

// prepare fills all databases, as long as there is time and the disk has room.
func (l *library) prepare(ctx context.Context, rows []int) error {
	l.asked = rows[len(rows)-1]
	dir, free, known := l.disk(ctx)
	if known {
		var err error
		if rows, err = fit(rows, free-l.spare*1e9); err != nil {
			return fmt.Errorf("%s has %d MB free, %d GB of which stay so (-spare): %w", dir, free/1e6, l.spare, err)
		}
	}
	if n := rows[len(rows)-1]; n < l.asked {
		fmt.Fprintf(os.Stderr, "%s has %d MB free: taking %s deliveries, not %s\n", dir, free/1e6, amount(n), amount(l.asked))
	}
	late := fmt.Errorf("filling took longer than %s (-deadline): give fewer rows with -rows", l.deadline)
	ctx, stop := context.WithTimeoutCause(ctx, l.deadline, late)
	defer stop()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go l.watchDisk(ctx, dir, fail)
	for _, n := range rows {
		if err := l.add(ctx, n); err != nil {
			return fmt.Errorf("prepare %s deliveries: %w", amount(n), errors.Join(context.Cause(ctx), err))
		}
	}
	return nil
}

// watchDisk ends a filling that leaves others too little, for whatever reason.
func (l *library) watchDisk(ctx context.Context, dir string, fail context.CancelCauseFunc) {
	for dir != "" && pause(ctx, time.Second) == nil {
		if free := freeOf(dir); free < l.spare*1e9 {
			fail(fmt.Errorf("%s has %d MB free, less than the %d GB that stay so (-spare): free some, or give fewer rows with -rows", dir,
				free/1e6, l.spare))
		}
	}
}

// add makes a database, has the program book one delivery with a webhook in it, and
// fills it with others of the kind.
func (l *library) add(ctx context.Context, rows int) error {
	v := &volume{filling: yearOf(rows), rounds: make([][]measurement, len(kinds))}
	l.volumes = append(l.volumes, v)
	url, err := l.createDatabase(ctx, strconv.Itoa(rows))
	if err != nil {
		return err
	}
	v.url = url
	dir := filepath.Join(l.dir, strconv.Itoa(rows))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	binary := l.bench.binary
	if err := command(ctx, binary, url, nil, "migrate", "up"); err != nil {
		return err
	}
	enrolled, err := enroll(ctx, binary, url, domain.Live, 1)
	if err != nil {
		return err
	}
	first, err := launch(ctx, binary, dir, "serve", append(settings(url), "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true"))
	if err != nil {
		return err
	}
	p, of := &post{bench: l.bench, serving: first}, application{key: enrolled.keys[0]}
	if _, err = p.addEndpoint(ctx, of, "127.0.0.1:9/hooks"); err == nil {
		err = p.order(ctx, []application{of}, 1, 1)
	}
	if err := errors.Join(err, first.stop()); err != nil {
		return err
	}
	v.numbers.Store(p.numbers.Load())
	fmt.Fprintf(os.Stderr, "filling a database with a year of %s deliveries\n", amount(rows))
	begun := time.Now()
	if err := l.on(ctx, url, func(db *pgx.Conn) error {
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
	v.server, err = serve(ctx, options{connections: 1}, binary, dir, enrolled, settings(url))
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
func (k kind) load(v *volume, duration time.Duration) paceLoad {
	l := paceLoad{addresses: []string{v.server.address}, of: []application{{key: v.server.keys[0]}}, duration: duration, request: k.request,
		connections: perKind, number: func() int { return int(v.numbers.Add(1)) }}
	if k.request == nil {
		return l
	}
	l.send = func(c *conn, _ int) (answer, error) {
		if k.vary != nil {
			mark, value := k.vary(v, rand.IntN(v.rows))
			copy(c.request[bytes.Index(c.request, []byte(mark))+len(mark):], value)
		}
		a, err := c.exchange()
		if err == nil && k.page && !bytes.Contains(a.body, []byte(`"has_more":true`)) {
			err = fmt.Errorf("a page has none behind it: %d, %s", a.status, a.body)
		}
		return a, err
	}
	return l
}

// measure sends requests of all kinds at once, once to warm up and once to be timed.
func (v *volume) measure(ctx context.Context, l *library) error {
	if err := v.warm(ctx, l); err != nil {
		return err
	}
	if _, err := v.all(ctx, l.largeOptions.warmUp, l.pace); err != nil {
		return err
	}
	measured, err := v.all(ctx, l.largeOptions.duration, l.pace)
	for i, m := range measured {
		v.rounds[i] = append(v.rounds[i], m)
	}
	return err
}

// all sends requests of all kinds at once.
func (v *volume) all(ctx context.Context, duration time.Duration, pace int) ([]measurement, error) {
	measured, failed := make([]measurement, len(kinds)), make([]error, len(kinds))
	var group sync.WaitGroup
	for i, k := range kinds {
		group.Go(func() {
			if measured[i], failed[i] = k.load(v, duration).openLoop(ctx, float64(pace)); failed[i] != nil {
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

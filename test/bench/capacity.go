package main

import (
	"context"
	"encoding/json"
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

// capacityArgument makes this program measure what deliveries cost from their booking to
// their end, for those who plan machines: processor time by process at some paces, and
// bytes by table:
//
//	go run ./test/servers -- go run ./test/bench capacity
const capacityArgument = "capacity"

// lifeMoves are the statuses that a delivery is moved to, each by a request of its own.
var lifeMoves = []domain.Status{domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered}

// lifeEvents are those of a life, each with a webhook.
var lifeEvents = 1 + len(lifeMoves)

// lifeConnections is how many lives there are at once where there is no pace.
const lifeConnections = 32

type capacityOptions struct {
	rounds         int
	duration, idle time.Duration
	paces, binary  string
}

// capacity is a server, a worker, a Postgres and a Redis, and the lives that they had.
type capacity struct {
	*post
	token string // of the operations API
	lives int
}

// lived is what lives at one pace took.
type lived struct {
	name   string
	rounds []lifeRound
}

type lifeRound struct {
	lives         int
	took          time.Duration
	spent         spent
	serve, worker int // MiB in memory afterwards
}

func benchCapacity(ctx context.Context) (err error) {
	var o capacityOptions
	flags := flag.NewFlagSet(capacityArgument, flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 3, "how often everything is measured")
	flags.DurationVar(&o.duration, "duration", 15*time.Second, "length of one measurement")
	flags.DurationVar(&o.idle, "idle", 30*time.Second, "length of one without deliveries")
	flags.StringVar(&o.paces, "paces", "1000,100000", "deliveries an hour, separated by commas")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	_ = flags.Parse(os.Args[2:]) // it exits
	paces, err := parsePaces(o.paces)
	if err == nil && o.rounds < 1 {
		err = fmt.Errorf("-rounds %d: give at least one", o.rounds)
	}
	if err != nil {
		return err
	}
	b, err := open(ctx, options{binary: o.binary, connections: lifeConnections})
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	p, err := openPost(ctx, b, b.binary)
	c := &capacity{post: p}
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return err
	}
	var operator struct{ Token string }
	if err := command(ctx, b.binary, p.db.Config().ConnString(), &operator, "operator", "create", "--name", "Bench", "--kind", "dispatcher",
		"--json"); err != nil {
		return err
	}
	c.token = operator.Token
	return c.measure(ctx, o, paces)
}

// measure does so in rounds: idle, at each pace, and as many as can be.
func (c *capacity) measure(ctx context.Context, o capacityOptions, paces []int) error {
	empty, err := c.tables(ctx)
	if err != nil {
		return err
	}
	if _, err := c.round(ctx, -1, 2*time.Second); err != nil { // warms up
		return err
	}
	idle, most := &lived{name: "none"}, &lived{name: "as many as can be"}
	all := []*lived{idle}
	for _, perHour := range paces {
		all = append(all, &lived{name: amount(perHour)})
	}
	all = append(all, most)
	for i := range o.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", i+1, o.rounds)
		for j, l := range all {
			perSecond, duration := -1.0, o.duration
			switch {
			case l == idle:
				perSecond, duration = 0, o.idle
			case l != most:
				perSecond = float64(paces[j-1]) / time.Hour.Seconds()
				duration = max(duration, time.Duration(minLives/perSecond*float64(time.Second)))
			}
			r, err := c.round(ctx, perSecond, duration)
			if err != nil {
				return fmt.Errorf("%s an hour: %w", l.name, err)
			}
			l.rounds = append(l.rounds, r)
		}
	}
	full, err := c.tables(ctx)
	if err != nil {
		return err
	}
	return printCapacity(os.Stdout, c, all, empty, full)
}

// minLives are enough to tell what one of them takes.
const minLives = 10

// round lets deliveries live for so long, so many a second; below 0: as many as can be.
// It ends when their webhooks have come.
func (c *capacity) round(ctx context.Context, perSecond float64, duration time.Duration) (r lifeRound, err error) {
	if _, err := c.receiver.ask(askTake); err != nil {
		return r, err
	}
	if err := pause(ctx, quiet); err != nil {
		return r, err
	}
	before, begun := c.spent(), time.Now()
	switch {
	case perSecond == 0:
		err = pause(ctx, duration)
	case perSecond < 0:
		r.lives, err = c.liveAlways(ctx, duration)
	default:
		r.lives, err = c.liveAt(ctx, perSecond, duration)
	}
	if err == nil {
		err = c.await(ctx, r.lives*lifeEvents, time.Minute)
	}
	if err == nil {
		var come arrivals
		if come, err = c.receiver.ask(askCount); err == nil && come.Count < r.lives*lifeEvents {
			err = fmt.Errorf("%d of %d webhooks came within a minute", come.Count, r.lives*lifeEvents)
		}
	}
	r.took, r.spent = time.Since(begun), c.spent().since(before)
	r.serve, r.worker = resident(c.serving.cmd.Process.Pid), resident(c.worker.cmd.Process.Pid)
	c.lives += r.lives
	return r, err
}

// liveAt begins lives at moments of chance.
func (c *capacity) liveAt(ctx context.Context, perSecond float64, duration time.Duration) (lives int, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	seed := uint64(c.numbers.Add(1)) //nolint:gosec // from 1 on
	due := moments(perSecond, duration, rand.New(rand.NewPCG(seed, seed)))
	begun := time.Now()
	var group sync.WaitGroup
	for _, at := range due {
		if err := pause(ctx, time.Until(begun.Add(at))); err != nil {
			break
		}
		group.Go(func() {
			if err := c.live(ctx); err != nil {
				fail(err)
			}
		})
	}
	_ = pause(ctx, time.Until(begun.Add(duration))) // the cause is told
	group.Wait()
	return len(due), context.Cause(ctx)
}

// liveAlways begins the next life when one has ended.
func (c *capacity) liveAlways(ctx context.Context, duration time.Duration) (lives int, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	ended := make([]int, lifeConnections)
	var group sync.WaitGroup
	for i := range ended {
		group.Go(func() {
			for begun := time.Now(); time.Since(begun) < duration && ctx.Err() == nil; ended[i]++ {
				if err := c.live(ctx); err != nil {
					fail(err)
				}
			}
		})
	}
	group.Wait()
	for _, n := range ended {
		lives += n
	}
	return lives, context.Cause(ctx)
}

// live books a delivery, reads it once, and moves it to its end.
func (c *capacity) live(ctx context.Context) error {
	n := c.numbers.Add(1)
	request := strings.ReplaceAll(orderBody, placeholder, fmt.Sprintf("%0*d", len(placeholder), n))
	var booked struct{ Data struct{ ID string } }
	if err := c.call(ctx, c.one, http.MethodPost, "/deliveries", request, &booked); err != nil {
		return err
	}
	if err := c.call(ctx, c.one, http.MethodGet, "/deliveries/"+booked.Data.ID, "", nil); err != nil {
		return err
	}
	for _, to := range lifeMoves {
		if _, err := ask(ctx, http.MethodPost, c.serving.ops+"/ops/v1/deliveries/"+booked.Data.ID+"/advance", c.token,
			`{"status":"`+string(to)+`"}`, "Idempotency-Key", fmt.Sprintf("%s-%s", booked.Data.ID, to)); err != nil {
			return err
		}
	}
	return nil
}

// table is what it takes on the disk, with its indexes and partitions.
type table struct {
	Name  string
	Bytes int64
	Rows  int64
}

const tablesSQL = `SELECT json_agg(t) FROM (
	SELECT COALESCE(parent.relname, c.relname) AS "Name", sum(pg_total_relation_size(c.oid)) AS "Bytes", sum(greatest(c.reltuples, 0))::bigint AS "Rows"
	FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
	WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' GROUP BY 1) AS t`

// tables are those of the program, counted anew.
func (c *capacity) tables(ctx context.Context) (map[string]table, error) {
	if _, err := c.db.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return nil, err
	}
	var text []byte
	if err := c.db.QueryRow(ctx, tablesSQL).Scan(&text); err != nil {
		return nil, err
	}
	var all []table
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	named := map[string]table{}
	for _, t := range all {
		named[t.Name] = t
	}
	return named, nil
}

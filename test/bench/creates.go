package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/test/backend"
)

// warmUp is how long there is load before the first round.
const warmUp = 2 * time.Second

// creates is what the measurement without an argument runs on.
type creates struct {
	*bench
	connections     int
	bulkConnections int
	shelved         int // deliveries that are there to be read

	onHTTP   string // URL of the database of the servers
	postgres *server
	limited  *server // on the same database, with limits in Redis
	sqlite   *server
	reader   *server // on the same database, without the program
	store    *backend.Redis
	pgbench  *pgbench

	created [2]atomic.Int64 // creates numbered so far, on onHTTP and sqlite
	replays []atomic.Int64  // per connection
	told    [][]int         // per connection, the numbers of what it created on postgres
}

// subject is one thing that is measured in every round.
type subject struct {
	name    string
	server  *server // nil: none
	measure func(ctx context.Context, round int) (measurement, error)
	rounds  []measurement
}

func benchCreates(ctx context.Context, args []string) (err error) {
	c := &creates{}
	var o options
	flags := flagsOf("bench", &o, 5, 6*time.Second)
	flags.IntVar(&c.connections, "connections", 64, "HTTP connections")
	flags.IntVar(&c.bulkConnections, "bulk-connections", 16, "HTTP connections that send bulks")
	flags.IntVar(&c.shelved, "shelf", 200_000, "deliveries there are to be read")
	_ = flags.Parse(args) // it exits
	c.replays, c.told = make([]atomic.Int64, c.connections), make([][]int, c.connections)
	c.bench, err = open(ctx, o)
	defer func() { err = errors.Join(err, c.stop(), c.close()) }()
	if err != nil {
		return err
	}
	if err := c.start(ctx); err != nil {
		return err
	}
	subjects := c.subjects()
	for round := range o.rounds {
		for i := range subjects {
			// Another one begins each round, so that none always runs on what
			// the same other one left behind.
			s := subjects[(i+round)%len(subjects)]
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, s.name)
			if err := c.measure(ctx, s, round); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	c.print(os.Stdout, subjects)
	for _, s := range subjects {
		for _, m := range s.rounds {
			if err := m.failed(); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

// start starts everything; stop undoes it, also where it stopped half-way.
func (c *creates) start(ctx context.Context) (err error) {
	if c.onHTTP, err = c.createDatabase(ctx, "http"); err != nil {
		return err
	}
	customers, err := enroll(ctx, c.binary, c.onHTTP, (c.connections+perApplication-1)/perApplication)
	if err != nil {
		return err
	}
	if c.postgres, err = serve(c.binary, c.dir, customers, settings(c.onHTTP)); err != nil {
		return err
	}
	if c.store, err = backend.StartRedis(ctx); err != nil {
		return err
	}
	if c.limited, err = serve(c.binary, c.dir, customers, append(settings(c.onHTTP), "WAYBILL_REDIS_URL="+c.store.URL)); err != nil {
		return err
	}
	file := "sqlite://" + filepath.Join(c.dir, "waybill.db")
	if err := command(ctx, c.binary, file, nil, "migrate", "up"); err != nil {
		return err
	}
	if customers, err = enroll(ctx, c.binary, file, len(customers.keys)); err != nil {
		return err
	}
	if c.sqlite, err = serve(c.binary, c.dir, customers, settings(file)); err != nil {
		return err
	}
	if err := c.warm(ctx); err != nil {
		return err
	}
	c.reader, err = startReader(c.dir, c.onHTTP, c.postgres.customers)
	return err
}

// warm brings caches to temperature and learns what is stored.
func (c *creates) warm(ctx context.Context) error {
	for _, s := range []*server{c.postgres, c.limited, c.sqlite} {
		m, err := c.create(ctx, s, warmUp)
		if err := errors.Join(err, m.failed()); err != nil {
			return err
		}
	}
	if err := c.shelve(ctx); err != nil {
		return err
	}
	return c.on(ctx, c.onHTTP, func(db *pgx.Conn) (err error) {
		c.pgbench, err = openPgbench(ctx, c.bench, db)
		return err
	})
}

func (c *creates) stop() (err error) {
	for _, s := range []*server{c.postgres, c.limited, c.reader, c.sqlite} {
		err = errors.Join(err, s.stop())
	}
	return errors.Join(err, stopRedis(c.store))
}

// Names of what is measured.
const (
	byFunction   = "F  pgbench, one call"
	byDriver     = "G  gin and pgx, row by its ID"
	createName   = "create over HTTP"
	limitedName  = "create, limits in Redis"
	embeddedName = "create over HTTP, SQLite"
	replayName   = "replay over HTTP"
	bulkName     = "in bulks of 100 over HTTP"
	readName     = "get over HTTP"
)

// subjects are what every round measures.
func (c *creates) subjects() []*subject {
	of := func(name string, s *server, measure func(context.Context, *server, time.Duration) (measurement, error)) *subject {
		return &subject{name: name, server: s, measure: func(ctx context.Context, _ int) (measurement, error) {
			return measure(ctx, s, c.duration)
		}}
	}
	return []*subject{
		{name: byFunction, measure: func(ctx context.Context, round int) (measurement, error) {
			return c.pgbench.book(ctx, 0, c.duration, round)
		}},
		of(createName, c.postgres, c.create),
		of(limitedName, c.limited, c.create),
		of(bulkName, c.postgres, c.bulks),
		of(replayName, c.postgres, c.replay),
		of(readName, c.postgres, c.read),
		of(byDriver, c.reader, c.read),
		of(embeddedName, c.sqlite, c.create),
	}
}

// measure is one subject in one round, with what the processes spent meanwhile.
func (c *creates) measure(ctx context.Context, s *subject, round int) error {
	if err := c.settle(ctx, c.onHTTP, c.pgbench.database); err != nil {
		return err
	}
	before := c.spent(s.server, nil, c.store)
	m, err := s.measure(ctx, round)
	if err != nil {
		return err
	}
	m.spent = c.spent(s.server, nil, c.store).since(before)
	s.rounds = append(s.rounds, m)
	return nil
}

// load is for a server's customers.
func (c *creates) load(s *server) *load {
	return &load{address: s.address, keys: s.keys, connections: c.connections}
}

// create sends creates that were never sent before.
func (c *creates) create(ctx context.Context, s *server, duration time.Duration) (measurement, error) {
	of := 0
	if s == c.sqlite {
		of = 1
	}
	m, err := c.load(s).create(ctx, duration, false, func(conn int) int {
		n := int(c.created[of].Add(1))
		if s == c.postgres {
			c.told[conn] = append(c.told[conn], n)
		}
		return n
	})
	return m, errors.Join(err, enoughNumbers(&c.created[of]))
}

// replay sends again, on each connection and so with the same API key, what
// was created on it.
func (c *creates) replay(ctx context.Context, s *server, duration time.Duration) (measurement, error) {
	return c.load(s).create(ctx, duration, true, func(conn int) int {
		return c.told[conn][int(c.replays[conn].Add(1))%len(c.told[conn])]
	})
}

// bulks sends bulks that were never sent before; what is counted is deliveries.
func (c *creates) bulks(ctx context.Context, s *server, duration time.Duration) (measurement, error) {
	l := &load{address: s.address, keys: s.keys, connections: c.bulkConnections}
	m, err := l.drive(ctx, duration, bulkWork(func(int) int { return int(c.created[0].Add(bulkSize)) - bulkSize + 1 }))
	return m, errors.Join(err, enoughNumbers(&c.created[0]))
}

// enoughNumbers refuses to go on where numbers would come again.
func enoughNumbers(created *atomic.Int64) error {
	if created.Load() >= mostNumbers {
		return fmt.Errorf("more than %d creates: the numbers begin to repeat; take fewer or shorter rounds", mostNumbers)
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"time"
)

// Names of what is measured.
const (
	byFunction   = "F  pgbench, one call"
	byStatements = "S  pgbench, statements"
	createName   = "create over HTTP"
	besideName   = "create, " // and the name of another build
	besideBulk   = "bulks of 100, "
	besideRead   = "get, "
	besideFile   = "create, SQLite, "
	limitedName  = "create, limits in Redis"
	replayName   = "replay over HTTP"
	bulkName     = "in bulks of 100 over HTTP"
	embeddedName = "create over HTTP, SQLite"
	byRow        = "R  pgbench, row by its ID"
	byFramework  = "H  gin, no work"
	byDriver     = "G  gin and pgx, row by its ID"
	readName     = "get over HTTP"
)

// subjects are what every round measures.
func (b *bench) subjects() []*subject {
	of := func(name string, s *server, measure func(ctx context.Context, round int) (measurement, error)) *subject {
		return &subject{name: name, measure: b.measured(s, measure)}
	}
	creates := func(s *server) func(context.Context, int) (measurement, error) {
		return func(ctx context.Context, _ int) (measurement, error) { return b.create(ctx, s, b.duration) }
	}
	all := []*subject{
		of(byFunction, nil, func(ctx context.Context, round int) (measurement, error) {
			return b.pgbench.run(ctx, b.onFunc, []string{functionSQL}, b.duration, round)
		}),
		of(createName, b.postgres, creates(b.postgres)),
	}
	if b.limited != nil {
		all = append(all, of(limitedName, b.limited, creates(b.limited)))
	}
	for _, o := range b.others {
		all = append(all, of(besideName+o.name, o.server, creates(o.server)),
			of(besideBulk+o.name, o.server, func(ctx context.Context, _ int) (measurement, error) { return b.bulks(ctx, o.server, b.duration) }),
			of(besideRead+o.name, o.server, func(ctx context.Context, _ int) (measurement, error) { return b.read(ctx, o.server, b.duration) }))
		if o.embedded != nil {
			all = append(all, of(besideFile+o.name, o.embedded, creates(o.embedded)))
		}
	}
	all = append(all,
		of(byStatements, nil, func(ctx context.Context, round int) (measurement, error) {
			return b.pgbench.run(ctx, b.onStmts, []string{statementsSQL}, b.duration, round)
		}),
		of(bulkName, b.postgres, func(ctx context.Context, _ int) (measurement, error) { return b.bulks(ctx, b.postgres, b.duration) }),
		of(replayName, b.postgres, func(ctx context.Context, _ int) (measurement, error) { return b.replay(ctx, b.duration) }),
		of(byRow, nil, func(ctx context.Context, round int) (measurement, error) {
			return b.readByPgbench(ctx, round)
		}),
		of(readName, b.postgres, func(ctx context.Context, _ int) (measurement, error) { return b.read(ctx, b.postgres, b.duration) }),
	)
	all = append(all, of(byFramework, b.hello, func(ctx context.Context, _ int) (measurement, error) {
		return b.hello.load.send(ctx, b.duration, false, func(int) int { return 1 })
	}))
	all = append(all, of(byDriver, b.hello, func(ctx context.Context, _ int) (measurement, error) { return b.read(ctx, b.hello, b.duration) }))
	if b.sqlite != nil {
		all = append(all, of(embeddedName, b.sqlite, creates(b.sqlite)))
	}
	return all
}

// measured adds to a measurement what the processes spent meanwhile.
func (b *bench) measured(s *server, run func(context.Context, int) (measurement, error)) func(context.Context, int) (measurement, error) {
	return func(ctx context.Context, round int) (measurement, error) {
		if err := b.settle(ctx); err != nil {
			return measurement{}, err
		}
		if s != nil {
			forgetMemory(s.cmd.Process.Pid)
		}
		before := b.usage(s)
		m, err := run(ctx, round)
		if err != nil {
			return m, err
		}
		after := b.usage(s)
		m.server, m.postgres, m.redis = after.server-before.server, after.postgres-before.postgres, after.redis-before.redis
		if s != nil {
			m.client = after.client - before.client
			m.memory = memory(s.cmd.Process.Pid)
		}
		return m, nil
	}
}

// usage is the processor time spent so far, by a server and those beside it.
type usage struct{ server, postgres, redis, client time.Duration }

func (b *bench) usage(s *server) usage {
	u := usage{client: cpuOfSelf()}
	if s != nil {
		u.server = cpuOf(s.cmd.Process.Pid)
	}
	if s != nil && s == b.limited {
		u.redis = b.store.cpu()
	}
	if b.master != 0 {
		u.postgres = cpuOfTree(b.master)
	}
	return u
}

// create sends creates that were never sent before.
func (b *bench) create(ctx context.Context, s *server, duration time.Duration) (measurement, error) {
	of := 0
	if s.embedded {
		of = 1
	}
	m, err := s.load.send(ctx, duration, false, func(conn int) int {
		n := int(b.created[of].Add(1))
		if s == b.postgres {
			b.told[conn] = append(b.told[conn], n)
		}
		return n
	})
	if err == nil {
		err = b.enoughNumbers(of)
	}
	return m, err
}

// replay sends again, on each connection and so with the same API key, what
// was created on it.
func (b *bench) replay(ctx context.Context, duration time.Duration) (measurement, error) {
	for conn, sent := range b.told {
		if len(sent) == 0 {
			return measurement{}, fmt.Errorf("connection %d has created nothing that could be sent again", conn)
		}
	}
	return b.postgres.load.send(ctx, duration, true, func(conn int) int {
		sent := b.told[conn]
		return sent[int(b.replays[conn].Add(1))%len(sent)]
	})
}

func pow10(digits int) int64 {
	n := int64(1)
	for range digits {
		n *= 10
	}
	return n
}

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
	replayName   = "replay over HTTP"
	embeddedName = "create over HTTP, SQLite"
)

// subjects are what every round measures.
func (b *bench) subjects() []*subject {
	all := []*subject{
		{name: byFunction, measure: b.measured(nil, func(ctx context.Context, round int) (measurement, error) {
			return b.pgbench.run(ctx, b.onFunc, functionSQL, b.duration, round)
		})},
		{name: createName, measure: b.measured(b.postgres, func(ctx context.Context, _ int) (measurement, error) {
			return b.create(ctx, b.postgres, b.duration)
		})},
		{name: byStatements, measure: b.measured(nil, func(ctx context.Context, round int) (measurement, error) {
			return b.pgbench.run(ctx, b.onStmts, statementsSQL, b.duration, round)
		})},
		{name: replayName, measure: b.measured(b.postgres, func(ctx context.Context, _ int) (measurement, error) {
			return b.replay(ctx, b.duration)
		})},
	}
	if b.sqlite != nil {
		all = append(all, &subject{name: embeddedName, measure: b.measured(b.sqlite, func(ctx context.Context, _ int) (measurement, error) {
			return b.create(ctx, b.sqlite, b.duration)
		})})
	}
	return all
}

// measured adds to a measurement what the processes spent meanwhile.
func (b *bench) measured(s *server, run func(context.Context, int) (measurement, error)) func(context.Context, int) (measurement, error) {
	return func(ctx context.Context, round int) (measurement, error) {
		if err := b.settle(ctx); err != nil {
			return measurement{}, err
		}
		usage := func() (server, postgres, self time.Duration) {
			if s != nil {
				server = cpuOf(s.cmd.Process.Pid)
			}
			if b.master != 0 {
				postgres = cpuOfTree(b.master)
			}
			return server, postgres, cpuOfSelf()
		}
		serverBefore, postgresBefore, selfBefore := usage()
		m, err := run(ctx, round)
		if err != nil {
			return m, err
		}
		server, postgres, self := usage()
		m.server, m.postgres = server-serverBefore, postgres-postgresBefore
		if s != nil {
			m.client = self - selfBefore
		}
		return m, nil
	}
}

// create sends creates that were never sent before.
func (b *bench) create(ctx context.Context, s *server, duration time.Duration) (measurement, error) {
	counter := &b.created[0]
	if s == b.sqlite {
		counter = &b.created[1]
	}
	m, err := s.load.send(ctx, duration, false, func(conn int) int {
		n := int(counter.Add(1))
		if s == b.postgres {
			b.told[conn] = append(b.told[conn], n)
		}
		return n
	})
	if err == nil && counter.Load() > pow10(numberDigits) {
		err = fmt.Errorf("more than %d creates: the numbers begin to repeat; take fewer or shorter rounds", pow10(numberDigits))
	}
	return m, err
}

// replay sends again, on each connection and so with the same API key, what
// was created on it.
func (b *bench) replay(ctx context.Context, duration time.Duration) (measurement, error) {
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

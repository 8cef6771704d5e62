package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// dump is a backup that was made.
type dump struct {
	took  time.Duration
	spent time.Duration // of pg_dump itself, which compresses
	bytes int64         // of the database
}

// dumped is a steady pace before, beside and after a pg_dump of so many deliveries,
// which are made first.
func (p *post) dumped(ctx context.Context, rows int, around time.Duration) (run *phased, made dump, err error) {
	path, err := findTool(ctx, "pg_dump")
	if err != nil {
		return nil, made, err
	}
	if err := p.fill(ctx, rows); err != nil {
		return nil, made, fmt.Errorf("make %s deliveries: %w", amount(rows), err)
	}
	if err := p.db.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&made.bytes); err != nil {
		return nil, made, err
	}
	if err := p.warm(ctx); err != nil {
		return nil, made, err
	}
	pausing := func(ctx context.Context) error { return pause(ctx, around) }
	run, err = p.throughPhases(ctx, heldRate, dumpStretch, []phase{
		{"before", pausing},
		{"dump", func(ctx context.Context) error {
			var said strings.Builder
			cmd := exec.CommandContext(ctx, path, "--format=custom", "--dbname="+p.db.Config().ConnString())
			cmd.Stderr = &said
			begun := time.Now()
			if err := cmd.Run(); err != nil { // what it writes goes nowhere
				return fmt.Errorf("pg_dump: %w: %s", err, said.String())
			}
			made.took, made.spent = time.Since(begun), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
			return nil
		}},
		{"after", pausing},
	})
	return run, made, err
}

// dumpStretch is of what is measured together beside a dump.
const dumpStretch = 30 * time.Second

// fill makes so many deliveries of the one that is made first. Nothing of the program
// runs meanwhile: indexes and keys are away.
func (p *post) fill(ctx context.Context, rows int) error {
	if err := p.room(ctx, []int{rows}); err != nil {
		return err
	}
	if err := p.order(ctx, []application{p.one}, 1, 0); err != nil {
		return err
	}
	if err := p.settled(ctx); err != nil {
		return err
	}
	if err := errors.Join(p.worker.stop(), p.serving.stop()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "filling the database with %s deliveries\n", amount(rows))
	f := filling{rows: rows, begun: time.Now().Add(-time.Duration(rows) * apart)}
	if err := f.fill(ctx, p.db); err != nil {
		return err
	}
	for name, s := range map[string]**server{"serve": &p.serving, "worker": &p.worker} {
		again, err := launch(ctx, p.binary, p.dir, name, p.env)
		if err != nil {
			return err
		}
		*s = again
	}
	return nil
}

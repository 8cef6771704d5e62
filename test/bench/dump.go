package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// dump is what was made of backups.
type dump struct {
	took  time.Duration
	spent time.Duration // of pg_dump itself, which compresses
	bytes int64         // of the database
}

// Phases of dumped. Copied is the control: a dump of a copy of the database by the same
// server takes the same disk and processors, and has no snapshot of what is worked on.
const (
	besideDump     = "dump"
	besideDumpCopy = "copied"
)

// dumped is a steady pace before, beside and after a pg_dump of so many deliveries,
// which are made first, and beside a pg_dump of a copy of them.
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
		{besideDump, func(ctx context.Context) (err error) {
			begun := time.Now()
			made.spent, err = backUp(ctx, path, p.db.Config().Database, p.db.Config())
			made.took = time.Since(begun)
			return err
		}},
		{"between", pausing},
		{besideDumpCopy, func(ctx context.Context) error {
			_, err := backUp(ctx, path, p.copied(), p.db.Config())
			return err
		}},
		{"after", pausing},
	})
	return run, made, err
}

// backUp dumps a database of the server; what pg_dump writes goes nowhere. It returns
// the processor time of pg_dump itself.
func backUp(ctx context.Context, pgDump, database string, server *pgx.ConnConfig) (time.Duration, error) {
	var said strings.Builder
	cmd := exec.CommandContext(ctx, pgDump, "--format=custom", "--host="+server.Host, "--port="+strconv.Itoa(int(server.Port)),
		"--username="+server.User, database)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+server.Password)
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("pg_dump: %w: %s", err, said.String())
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// copied is the name of the copy of the database.
func (p *post) copied() string { return p.db.Config().Database + "_copied" }

// copyDatabase makes that copy, for which no session may be connected.
func (p *post) copyDatabase(ctx context.Context) error {
	to, name := p.db.Config(), p.copied()
	if err := p.db.Close(ctx); err != nil {
		return err
	}
	maintenance := to.Copy()
	maintenance.Database = "postgres"
	db, err := pgx.ConnectConfig(ctx, maintenance)
	if err != nil {
		return err
	}
	_, err = db.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE "+pgx.Identifier{to.Database}.Sanitize()+
		" STRATEGY file_copy")
	if err := errors.Join(err, db.Close(ctx)); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	p.databases = append(p.databases, name)
	p.db, err = pgx.ConnectConfig(ctx, to)
	return err
}

// dumpStretch is of what is measured together beside a dump.
const dumpStretch = 30 * time.Second

// fill makes so many deliveries of the one that is made first. Nothing of the program
// runs meanwhile: indexes and keys are away.
func (p *post) fill(ctx context.Context, rows int) error {
	if err := p.room(ctx, rows); err != nil {
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
	if err := p.copyDatabase(ctx); err != nil {
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

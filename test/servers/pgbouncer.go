package main

import (
	"context"
	"errors"

	"waybill/test/servers/pgbouncer"
)

// findPgBouncer returns no server but the program: tests start one, or several,
// in front of a Postgres of their choice.
func findPgBouncer(ctx context.Context) (*server, error) {
	path, err := pgbouncer.FindBinary()
	if errors.Is(err, pgbouncer.ErrNotInstalled) {
		if installErr := pgbouncer.Install(ctx); installErr != nil {
			return nil, &leftOut{name: "PgBouncer", env: pgbouncer.BinaryEnv, err: errors.Join(err, installErr)}
		}
		path, err = pgbouncer.FindBinary()
	}
	if err != nil {
		return nil, err
	}
	return &server{
		env:  pgbouncer.BinaryEnv,
		url:  path,
		from: "PgBouncer for tests to start: " + path,
		stop: func() error { return nil },
	}, nil
}

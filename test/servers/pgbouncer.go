package main

import (
	"context"
	"errors"

	"waybill/test/backend"
)

// findPgBouncer returns no server but the program: tests start one, or several,
// in front of a Postgres of their choice.
func findPgBouncer(ctx context.Context) (*server, error) {
	path, err := backend.FindPgBouncer()
	if errors.Is(err, backend.ErrNoPgBouncer) {
		if installErr := backend.InstallPgBouncer(ctx); installErr != nil {
			return nil, &leftOut{name: "PgBouncer", env: backend.PgBouncerEnv, err: errors.Join(err, installErr)}
		}
		path, err = backend.FindPgBouncer()
	}
	if err != nil {
		return nil, err
	}
	return &server{
		env:  backend.PgBouncerEnv,
		url:  path,
		from: "PgBouncer for tests to start: " + path,
		stop: func() error { return nil },
	}, nil
}

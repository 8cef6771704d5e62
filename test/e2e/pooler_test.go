package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"

	"waybill/test/backend"
)

// poolerEnv has every server on Postgres go through a pooler; those on SQLite
// are left out then. Its one value is pgbouncer.
const poolerEnv = "WAYBILL_E2E_POOLER"

// pooler is what servers on Postgres go through; nil: nothing.
var pooler *backend.PgBouncer

// startPooler starts the one that the environment asks for. Where it cannot be
// had there is nothing to test: ok is false, and code says how bad that is.
func startPooler() (code int, ok bool) {
	wanted := os.Getenv(poolerEnv)
	if wanted == "" {
		return 0, true
	}
	err := fmt.Errorf("%s is %q; it is pgbouncer, or empty", poolerEnv, wanted)
	missing := false
	if wanted == "pgbouncer" {
		if database := os.Getenv(backend.PostgresURLEnv); database == "" {
			err, missing = errors.New("no Postgres: "+backend.PostgresURLEnv+" is empty; use `make pgbouncer`"), true
		} else {
			pooler, err = backend.StartPgBouncer(context.Background(), database)
			missing = errors.Is(err, backend.ErrNoPgBouncer)
		}
	}
	switch {
	case err == nil:
		return 0, true
	case missing && os.Getenv("CI") != "true":
		fmt.Fprintf(os.Stderr, "\n*** NOTHING WAS TESTED through a pooler: %v\n\n", err)
		return 0, false
	}
	fmt.Fprintln(os.Stderr, err)
	return 1, false
}

func stopPooler() error {
	if pooler == nil {
		return nil
	}
	return pooler.Stop()
}

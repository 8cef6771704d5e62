package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"

	testpostgres "waybill/test/postgres"
	"waybill/test/servers/pgbouncer"
)

// poolerEnv has every server on Postgres go through a pooler; those on SQLite
// are left out then. Its one value is pgbouncer.
const poolerEnv = "WAYBILL_E2E_POOLER"

// pooler is what servers on Postgres go through; nil: nothing.
var pooler *pgbouncer.Server

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
		if database := os.Getenv(testpostgres.URLEnv); database == "" {
			err, missing = errors.New("no Postgres: "+testpostgres.URLEnv+" is empty; use `make pgbouncer`"), true
		} else {
			pooler, err = pgbouncer.Start(context.Background(), database)
			missing = errors.Is(err, pgbouncer.ErrNotInstalled)
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

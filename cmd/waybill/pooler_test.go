package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/adapters/cli/term"
	"waybill/test/backend"
)

func TestAPoolerThatWasNotNamedIsToldWithTheSettingThatNamesIt(t *testing.T) {
	t.Parallel()
	const behind = "postgres://waybill:hunter22@127.0.0.1:1/waybill" // PgBouncer refuses before it asks there
	bouncer, err := backend.StartPgBouncer(t.Context(), behind)
	if errors.Is(err, backend.ErrNoPgBouncer) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bouncer.Stop(); err != nil {
			t.Error(err)
		}
	})
	database := "WAYBILL_DATABASE_URL=" + bouncer.URL(behind)
	secrets := []string{"WAYBILL_KEY_PEPPER=" + strings.Repeat("p", 32), "WAYBILL_SECRET_KEY=" + strings.Repeat("s", 32)}
	for _, args := range [][]string{{"serve"}, {"dev"}, {"migrate", "up"}, {"business", "list"}} {
		o := command(t, append(slices.Concat(freePorts, secrets), database), append(args, "--data-dir", filepath.Join(t.TempDir(), "none"))...)
		for _, want := range []string{"the database cannot be opened", "a pooler stands between",
			"fix:      WAYBILL_DATABASE_POOLER=transaction"} {
			if o.code != term.ExitFailure || !strings.Contains(o.stderr, want) {
				t.Errorf("%v: exit code %d without %q\n%s", args, o.code, want, o.stderr)
			}
		}
		if strings.Contains(o.stderr, "hunter22") {
			t.Errorf("%v: the password shows\n%s", args, o.stderr)
		}
	}
}

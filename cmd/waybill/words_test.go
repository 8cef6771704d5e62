package main

import (
	"strings"
	"testing"

	"waybill/adapters/cli/admin"
)

func TestADatabaseThatIsAwayIsToldOnceAndPlainly(t *testing.T) {
	t.Parallel()
	o := command(t, []string{"WAYBILL_DATABASE_URL=postgres://u:hunter22@127.0.0.1:1/d"}, "migrate", "up")
	if want := "error: the database cannot be opened: nothing answers at 127.0.0.1:1 (connection refused)\n"; !strings.HasPrefix(o.stderr,
		want) {
		t.Errorf("%s, want %s", o.stderr, want)
	}
}

func TestAMigrationWithNothingToDoSaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, want := range []bool{false, true} {
		if o := command(t, nil, "migrate", "up", "--data-dir", dir); strings.HasPrefix(o.stdout, "Nothing to do.\n") != want {
			t.Errorf("time %d: %s", i+1, o.stdout)
		}
	}
	inDir[admin.MigrationsView](t, dir, "migrate", "up") // with --json nothing else is there
}

func TestTheEnvironmentIsCompleted(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"key create", "pickup-location create", "pickup-location import", "pickup-location list", "webhook list"} {
		o := command(t, nil, append(append([]string{"__complete"}, strings.Fields(line)...), "--env", "")...)
		if !strings.HasPrefix(o.stdout, "live\nsandbox\n") {
			t.Errorf("%s: %s", line, o.stdout)
		}
	}
	if o := command(t, nil, "completion", "--help"); !strings.Contains(o.stdout, "bash-completion") {
		t.Errorf("%s", o.stdout)
	}
}

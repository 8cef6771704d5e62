package main

import (
	"path/filepath"
	"strings"
	"testing"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
)

// A shell that has read the dev.env of one installation, of today or of a version
// that named the database there, works on another one when that is named.
func TestANamedDataDirectoryWinsOverTheEnvironmentOfAnother(t *testing.T) {
	t.Parallel()
	installed := func() (dir, url string) {
		dir = t.TempDir()
		if err := settings.DataDir(dir).MakeSecrets(); err != nil {
			t.Fatal(err)
		}
		inDir[admin.MigrationsView](t, dir, "migrate", "up")
		url, err := settings.DataDir(dir).DatabaseURL()
		if err != nil {
			t.Fatal(err)
		}
		return dir, url
	}
	here, _ := installed()
	elsewhere, url := installed()
	environ := []string{settings.DatabaseEnv + "=" + url}
	says := func(want string, environ []string, args ...string) {
		t.Helper()
		if o := command(t, environ, append(args, "--json")...); o.code != term.ExitOK || !strings.Contains(o.stdout, want) {
			t.Errorf("%v: exit code %d, want %s in %s%s", args, o.code, want, o.stdout, o.stderr)
		}
	}
	at := []string{"--data-dir", here}
	business := made(t, environ, append([]string{"business", "create", "--name", "Adom Foods"}, at...)...)["id"].(string)
	says(business, nil, append([]string{"business", "list"}, at...)...)
	app := made(t, environ, append([]string{"app", "create", "--business", business, "--name", "Shop"}, at...)...)["id"].(string)
	says("svc_live_key_", environ, append([]string{"key", "create", "--app", app, "--env", "live", "--scopes", "all"}, at...)...)
	// by its name, and by the environment
	for _, args := range [][]string{{"business", "list", "--data-dir", elsewhere}, {"business", "list"}} {
		if o := command(t, environ, append(args, "--json")...); o.code != term.ExitOK || strings.Contains(o.stdout, business) {
			t.Errorf("%v: exit code %d; it was made in the other installation: %s%s", args, o.code, o.stdout, o.stderr)
		}
	}
	// A directory that has no database yet does not borrow one.
	if o := command(t, environ, "business", "list", "--data-dir", filepath.Join(t.TempDir(), "none")); o.code != term.ExitFailure ||
		!strings.Contains(o.stderr, "there is no database in") {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
}

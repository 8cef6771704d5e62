package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/term"
)

func TestAnOperatorTokenIsShownOnceListedAndRevoked(t *testing.T) {
	t.Parallel()
	dir := prepared(t)
	made := inDir[object](t, dir, "operator", "create", "--name", " Dispatch ", "--kind", "dispatcher")
	token, _ := made["token"].(string)
	if names(made) != "expires_at id kind name token" || made["name"] != "Dispatch" || made["kind"] != "dispatcher" ||
		!strings.HasPrefix(token, "svc_ops_") {
		t.Errorf("made %v", made)
	}
	if expires, err := time.Parse(time.RFC3339, fmt.Sprint(made["expires_at"])); err != nil ||
		(time.Until(expires)-90*24*time.Hour).Abs() > time.Hour {
		t.Errorf("expires at %v, %v", made["expires_at"], err)
	}
	list := inDir[[]object](t, dir, "operator", "list")
	if len(list) != 1 || names(list[0]) != "created_at expires_at id kind last_four last_used_at name revoked_at" ||
		list[0]["last_four"] != token[len(token)-4:] {
		t.Errorf("listed %v", list)
	}
	revoked := inDir[object](t, dir, "operator", "revoke", made["id"].(string))
	if revoked["revoked_at"] == nil {
		t.Errorf("revoked %v", revoked)
	}
	shown := command(t, nil, "operator", "list", "--data-dir", dir)
	if !strings.Contains(shown.stdout, "Dispatch") || strings.Contains(shown.stdout+shown.stderr, token) {
		t.Errorf("%s%s", shown.stdout, shown.stderr)
	}
	for _, args := range [][]string{
		{"operator", "create"}, {"operator", "create", "--name", "x", "--expires-in", "soon"}, {"operator", "create", "--name", "x", "--kind",
			"god"}, {"operator", "revoke", "key_1"},
		{"operator", "revoke", "opr_" + strings.Repeat("0", 32)}, {"operator"},
	} {
		if o := command(t, nil, append(args, "--data-dir", dir)...); o.code == term.ExitOK || o.stdout != "" || o.stderr == "" {
			t.Errorf("%v: code %d, %q, %q", args, o.code, o.stdout, o.stderr)
		}
	}
}

// Tokens from before kinds and expiries are of this sort.
func TestATokenThatNeverExpiresIsWarnedOf(t *testing.T) {
	t.Parallel()
	dir := prepared(t)
	inDir[object](t, dir, "operator", "create", "--name", "Brief", "--expires-in", "2h")
	if o := command(t, nil, "operator", "list", "--data-dir", dir); o.code != term.ExitOK || o.stderr != "" {
		t.Errorf("%d: %s", o.code, o.stderr)
	}
	found(t, examined(t, dir), doctor.VerdictOK, "operator tokens", "1 token, all with an expiry")
	made := inDir[object](t, dir, "operator", "create", "--name", "Old", "--expires-in", "never")
	if made["expires_at"] != nil || made["kind"] != "admin" {
		t.Errorf("made %v", made)
	}
	want := "1 operator token without an expiry: " + made["id"].(string) + " (admin)"
	if o := command(t, nil, "operator", "list", "--data-dir", dir); o.code != term.ExitOK || !strings.HasPrefix(o.stderr, "warning: "+want) {
		t.Errorf("%d: %s", o.code, o.stderr)
	}
	found(t, examined(t, dir), doctor.VerdictWarn, "operator tokens", want, "waybill operator revoke")
	inDir[object](t, dir, "operator", "revoke", made["id"].(string))
	found(t, examined(t, dir), doctor.VerdictOK, "operator tokens")
}

func TestAFileOfPickupLocationsIsImportedWithASummary(t *testing.T) {
	t.Parallel()
	dir := prepared(t)
	business := inDir[object](t, dir, "business", "create", "--name", "Adom Foods")["id"].(string)
	file := filepath.Join(t.TempDir(), "branches.csv")
	if err := os.WriteFile(file, []byte("name,address,contact,latitude,longitude\nOsu,12 Oxford Street,0302000001,5.5,-0.1\nTema,1 Harbour "+
		"Road,,,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"pickup-location", "import", "--business", business, "--env", "live", file, "--data-dir", dir}
	dry := command(t, nil, append(args, "--dry-run")...)
	if dry.code != term.ExitOK || !strings.Contains(dry.stdout, "Nothing was stored.") {
		t.Errorf("%d: %s%s", dry.code, dry.stdout, dry.stderr)
	}
	done := command(t, nil, args...)
	summary := strings.Join(strings.Fields(done.stdout), " ")
	for _, want := range []string{"Created 2", "Updated 0", "Incomplete 1", "line 3 Tema no contact, no coordinates"} {
		if done.code != term.ExitOK || !strings.Contains(summary, want) {
			t.Errorf("%q is missing in\n%s%s", want, done.stdout, done.stderr)
		}
	}
	if !strings.Contains(done.stderr, "importing: 2 of 2") {
		t.Errorf("no progress in %q", done.stderr)
	}
	again := inDir[object](t, dir, args[:len(args)-2]...)
	if names(again) != "created dry_run incomplete unchanged updated" || again["unchanged"] != 2.0 {
		t.Errorf("again %v", again)
	}
	for _, wrong := range [][]string{
		{"pickup-location", "import", "--business", business, "--env", "live"},
		{"pickup-location", "import", "--business", business, "--env", "live", filepath.Join(dir, "nowhere.csv")},
		{"pickup-location", "import", "--business", "biz_" + strings.Repeat("0", 32), "--env", "live", file},
	} {
		if o := command(t, nil, append(wrong, "--data-dir", dir)...); o.code == term.ExitOK || o.stdout != "" {
			t.Errorf("%v: code %d, %q", wrong, o.code, o.stdout)
		}
	}
}

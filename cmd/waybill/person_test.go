package main

import (
	"strings"
	"testing"
	"time"

	"waybill/adapters/cli/term"
)

func TestAPersonIsInvitedListedAndRemoved(t *testing.T) {
	t.Parallel()
	dir := prepared(t)
	business := inDir[object](t, dir, "business", "create", "--name", "Adom Foods")["id"].(string)
	invited := inDir[object](t, dir, "person", "invite", "--business", business, "--email", "Ama@Example.com", "--name", "Ama Mensah",
		"--role", "owner")
	id, link := invited["id"].(string), invited["link"].(string)
	if !strings.HasPrefix(id, "prs_") || invited["email"] != "ama@example.com" || invited["role"] != "owner" ||
		invited["business_id"] != business ||
		!strings.HasPrefix(link, "http://localhost:8084/enter/") {
		t.Errorf("invited %v", invited)
	}
	if expires, err := time.Parse(time.RFC3339, invited["expires_at"].(string)); err != nil ||
		(time.Until(expires)-7*24*time.Hour).Abs() > time.Hour {
		t.Errorf("expires at %v, %v", invited["expires_at"], err)
	}
	staff := inDir[object](t, dir, "staff", "invite", "--email", "kofi@example.com", "--name", "Kofi", "--role", "admin")
	if !strings.HasPrefix(staff["link"].(string), "http://localhost:") || !strings.Contains(staff["link"].(string), "/console/enter/") ||
		staff["business_id"] != nil {
		t.Errorf("staff %v", staff)
	}
	for _, args := range [][]string{{"person", "list", "--business", business}, {"staff", "list"}} {
		list := inDir[[]object](t, dir, args...)
		if len(list) != 1 || list[0]["state"] != "invited" || names(list[0]) != "accepted_at business_id created_at email id name role state" {
			t.Errorf("%v: %v", args, list)
		}
		if shown := command(t, nil, append(args, "--data-dir", dir)...); strings.Contains(shown.stdout, "/enter/") ||
			!strings.Contains(shown.stdout, "example.com") {
			t.Errorf("%v: %s", args, shown.stdout)
		}
	}
	if ended := inDir[object](t, dir, "person", "end-sessions", id); ended["ended"] != 0.0 {
		t.Errorf("ended %v", ended)
	}
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"person link " + id, "has not accepted the invitation", term.ExitFailure},
		{"staff link " + id, "There is no person " + id, term.ExitFailure},
		{"staff remove " + id, "There is no person " + id, term.ExitFailure},
		{"person invite --business " + business + " --email ama --name A --role owner", "an address such as", term.ExitUsage},
		{"person invite --business " + business + " --email a@b.c --name A --role admin", "owner, developer, viewer", term.ExitUsage},
		{"person invite --business " + business + " --email ama@example.com --name A --role viewer", "has the role owner already",
			term.ExitFailure},
		{"person invite --business biz_" + strings.Repeat("0", 32) + " --email a@b.c --name A --role owner", "There is no business",
			term.ExitFailure},
		{"person list", "needs --business", term.ExitUsage},
		{"person remove " + id, "needs --business", term.ExitUsage},
		{"person end-sessions key_1", "is no ID of a person: one is prs_", term.ExitUsage},
	} {
		o := command(t, nil, append(strings.Fields(c.line), "--data-dir", dir)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.want) || o.stdout != "" {
			t.Errorf("%s: exit code %d\n%s%s", c.line, o.code, o.stdout, o.stderr)
		}
	}
	if removed := inDir[object](t, dir, "person", "remove", id, "--business", business); removed["id"] != id {
		t.Errorf("removed %v", removed)
	}
	if list := inDir[[]object](t, dir, "person", "list", "--business", business); len(list) != 0 {
		t.Errorf("left %v", list)
	}
}

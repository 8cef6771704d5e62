package faults

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What no browser sends, to a portal on the database that is fussy about text. It is
// refused, or taken as it is, and none of it is a fault of ours.
func TestHostileFormsAndAddressesAreNoFaultOfOurs(t *testing.T) {
	t.Parallel()
	s := serve(t, freshDatabase(t, Postgres), 1)
	t.Cleanup(s.close)
	ama := newVisitor(t, s.portal(0))
	person, _ := s.invites(t, ama, "ama@stormy.example", "owner")
	texts := []string{
		"\x00", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "'; DROP TABLE persons; --", "\u202e\u2066", "\u200b", strings.Repeat("😀", 128),
		strings.Repeat("😀", 129), strings.Repeat("a", 60_000),
		"<script>alert(1)</script>", "{{.}}", "%00", "\r\nSet-Cookie: a=b", "-1", "9999999999999999999999d", "NaN",
	}
	keys := s.keys("sandbox")
	forms := map[string][]string{
		"/signin": {"email", "password", "next", "kept.name"}, "/apps": {"name"}, "/people": {"name", "email", "role"},
		"/people/" + person + "/role": {"role"}, keys: {"once", "scopes", "expires_in"},
		keys + "/" + s.sender.customer.KeyID + "/rotate": {"once"}, "/account/sessions": {"session"}, "/account/business": {"business"},
		"/account/password":                 {"password", "current_password"},
		"/enter/" + strings.Repeat("x", 43): {"anything"},
	}
	refused := 0
	sane := func(what string, p sheet) {
		t.Helper()
		if p.status >= 500 || !strings.Contains(p.body, "<h1>") || p.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d\n%.300s", what, p.status, p.body)
		}
		if p.status >= 400 {
			refused++
		}
	}
	for path, fields := range forms {
		for _, field := range fields {
			for _, text := range texts {
				visitor := ama
				if path == "/signin" || strings.HasPrefix(path, "/enter/") {
					if len(text) > 300 {
						continue // the limit of guesses of the address is kept for the others
					}
					visitor = newVisitor(t, s.portal(0))
				}
				if path == "/account/sessions" || path == "/account/password" {
					visitor = newVisitor(t, s.portal(0)) // what succeeds would end the session here
				}
				sane(fmt.Sprintf("%s, %s=%.30q", path, field, text),
					visitor.send(http.MethodPost, path, url.Values{field: {text}, "name": {"Efua"}, "email": {"efua@stormy.example"}}))
			}
		}
	}
	for _, id := range []string{"%00", "%ff", "%2e%2e%2f", "app_%00", "%27", "%E2%80%AE", strings.Repeat("a", 2_000), "%5c", "a;b", "a%20b"} {
		for _, path := range []string{"/apps/" + id, "/apps/" + id + "/live/keys", keys + "/" + id + "/rotate", "/people/" + id + "/remove",
			"/assets/" + id, "/nothing/" + id} {
			sane(path, ama.get(path).is(t, http.StatusNotFound, "Page not found"))
		}
		for _, query := range []string{"done", "action", "before", "next", "q", "cursor"} {
			sane(query, ama.get("/audit?"+query+"="+id))
		}
	}
	// More than a form has, and more than a proxy lets through: the answer is read all the same.
	for _, size := range []int{64 << 10, 1 << 20, 7 << 20} {
		p := ama.send(http.MethodPost, "/apps", url.Values{"name": {strings.Repeat("a", size)}})
		sane("too large", p.is(t, http.StatusRequestEntityTooLarge, "The form is too large"))
	}
	many := url.Values{}
	for i := range 5_000 {
		many.Add(fmt.Sprintf("f%d", i), "x")
	}
	sane("many fields", ama.send(http.MethodPost, "/apps", many))
	for _, kind := range []string{"multipart/form-data; boundary=x", "multipart/form-data", "application/json", "text/plain", ""} {
		sane(kind, ama.send(http.MethodPost, "/apps", url.Values{"name": {"x"}}, "Content-Type", kind))
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, "SEARCH"} {
		sane(method, ama.send(method, "/apps", nil).is(t, http.StatusMethodNotAllowed, "This page cannot do that"))
	}
	if refused < 200 {
		t.Errorf("only %d of them were refused", refused)
	}
	ama.get("/people").is(t, http.StatusOK, "ama@stormy.example")
	log, err := os.ReadFile(filepath.Join(s.servers[0].dir, "serve.log"))
	if err != nil || strings.Contains(string(log), `"level":"ERROR"`) || strings.Contains(string(log), "level=ERROR") ||
		strings.Contains(string(log), "panic") {
		t.Errorf("the server complains of itself (%v):\n%s", err, log)
	}
}

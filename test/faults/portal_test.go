package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// everything is what a database holds, as text.
func everything(t *testing.T, url string) string {
	t.Helper()
	db := openDatabase(t, url)
	var list string
	if err := db.QueryRowContext(t.Context(),
		`SELECT string_agg(c.oid::regclass::text, ' ') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname = current_schema()`).Scan(&list); err != nil {
		t.Fatal(err)
	}
	tables := strings.Fields(list)
	if len(tables) < 20 {
		t.Fatalf("only the tables %v", tables)
	}
	var all strings.Builder
	for _, table := range tables {
		var text string
		if err := db.QueryRowContext(t.Context(), "SELECT coalesce(string_agg(t::text, E'\\n'), '') FROM "+table+" t").Scan(&text); err != nil {
			t.Fatal(err)
		}
		all.WriteString(table + "\n" + text + "\n")
	}
	return all.String()
}

// What an integrator does first, with nothing but a link: in, a key, a delivery, the
// key rotated and revoked. Two servers share the database, and what is secret is
// looked for everywhere afterwards.
func TestAKeyIsMadeUsedRotatedAndRevokedAtTwoServersAndIsNowhereAfterItsOneAnswer(t *testing.T) {
	t.Parallel()
	url := freshDatabase(t, Postgres)
	s := serve(t, url, 2, "WAYBILL_LOG_LEVEL=debug")
	t.Cleanup(s.close)
	ama := newVisitor(t, s.portal(0))
	person, link := s.invites(t, ama, "ama@stormy.example", "owner")
	second := ama.elsewhere(s.portal(1))

	key := s.makesKey(t, ama, "live")
	books := func(key string) bool {
		sender := newSender(customer{Key: key}, s.servers)
		j := newClerk(0, 0).single()
		booked := true
		for _, target := range sender.targets {
			booked = sender.try(t.Context(), j, target) && booked
		}
		return booked
	}
	if !books(key) {
		t.Fatal("the new key books nothing")
	}
	at := second.get(s.keys("live")).keyAt(t, "…"+key[len(key)-4:])
	form := second.get(at+"/rotate").is(t, http.StatusOK, "Rotate the live key")

	// The form reaches both servers at once.
	var sending sync.WaitGroup
	answers := make([]sheet, 6)
	for i := range answers {
		sending.Go(func() { answers[i] = ama.elsewhere(s.portal(i%2)).post(at+"/rotate", "once", form.once(t)) })
	}
	sending.Wait()
	rotated := ""
	for _, a := range answers {
		switch {
		case a.secret() != "" && rotated != "":
			t.Error("two answers show a key")
		case a.secret() != "":
			rotated = a.secret()
		case a.status != http.StatusConflict:
			t.Errorf("the same form again: %d\n%s", a.status, a.body)
		}
	}
	if rotated == "" || !books(rotated) || !books(key) {
		t.Error("the old key and its successor do not both book")
	}
	second.post(at+"/revoke").is(t, http.StatusOK, "The key was revoked")
	until(t, "the revoked key is refused by both servers", time.Minute, func() bool {
		for _, v := range s.servers {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, v.url()+"/api-key", http.NoBody)
			req.Header.Set("Authorization", "Bearer "+key)
			res, err := probe.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if _ = res.Body.Close(); res.StatusCode != http.StatusUnauthorized {
				return false
			}
		}
		return true
	})
	if !books(rotated) {
		t.Error("the successor went with the old key")
	}

	cookie := ama.session(t)
	places := map[string]string{"the database": everything(t, url)}
	for i, v := range s.servers {
		text, err := os.ReadFile(filepath.Join(v.dir, "serve.log"))
		if err != nil {
			t.Fatal(err)
		}
		places["the log of server "+string(rune('1'+i))] = string(text)
	}
	for _, path := range []string{"/", s.keys("live"), "/audit", "/people", "/account", at + "/revoke"} {
		places[path] = second.get(path).is(t, http.StatusOK, "").body
	}
	secret := func(key string) string { return key[strings.LastIndexByte(key, '_')+1:] }
	for what, text := range map[string]string{
		"the first key": secret(key), "its successor": secret(rotated), "the link": link, "the session": cookie, "the password": sesame,
	} {
		for place, held := range places {
			if len(text) < 20 || strings.Contains(held, text) {
				t.Errorf("%s (of %d characters) is in %s", what, len(text), place)
			}
		}
	}
	if !strings.Contains(places["the database"], person) { // the search finds what is there
		t.Error("the dump of the database is empty")
	}
}

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/test/contract"
)

// operator calls the operations API of a server with one token.
type operator struct {
	t     testing.TB
	s     *server
	token string
	http  *http.Client
}

// operator is one of its own, and the ID of its token.
func (s *server) operator(t testing.TB, more ...string) (*operator, string) {
	t.Helper()
	made := s.command(t, append([]string{"operator", "create", "--name", "Dispatch of " + t.Name()}, more...)...)
	token := made["token"].(string)
	s.hide(token)
	return s.operatorWith(t, token), made["id"].(string)
}

func (s *server) operatorWith(t testing.TB, token string) *operator {
	transport := contract.LoadOperations(t).Transport(s.connections, func(err error) { t.Error(err) })
	return &operator{t: t, s: s, token: token, http: &http.Client{Transport: transport, Timeout: patience}}
}

// send makes a request; the body is nil, text or what is to be written as JSON.
func (o *operator) send(method, path string, body any, options ...option) *answer {
	o.t.Helper()
	var content []byte
	switch b := body.(type) {
	case nil:
	case string:
		content = []byte(b)
	default:
		var err error
		if content, err = json.Marshal(b); err != nil {
			o.t.Fatal(err)
		}
	}
	req, err := http.NewRequest(method, o.s.vars["WAYBILL_OPS_URL"]+"/ops/v1"+path, bytes.NewReader(content))
	if err != nil {
		o.t.Fatal(err)
	}
	if body == nil {
		req.Body = http.NoBody
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if o.token != "" {
		req.Header.Set("Authorization", "Bearer "+o.token)
	}
	for _, change := range options {
		change(req)
	}
	res, err := o.http.Do(req)
	if err != nil {
		o.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	a := &answer{t: o.t, what: method + " " + path, status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		o.t.Fatal(err)
	}
	a.tree = parse(a.body)
	return a
}

func (o *operator) get(path string) *answer {
	o.t.Helper()
	return o.send(http.MethodGet, path, nil).is(200)
}

func (o *operator) post(path string, body any) *answer {
	o.t.Helper()
	return o.send(http.MethodPost, path, body)
}

// did are the actions of one operator, oldest first.
func (o *operator) did(token string) string {
	o.t.Helper()
	list := o.get("/audit?limit=100&operator_id=" + token)
	var actions []string
	for i := range list.count("data") {
		actions = append([]string{list.text(fmt.Sprintf("data.%d.action", i))}, actions...)
	}
	return strings.Join(actions, " ")
}

func TestAnOperatorTakesACustomerFromTheStartToADelivery(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		o, token := s.operator(t)
		business := o.post("/businesses", m{"name": "Kejetia Kitchens"}).is(201).id()
		app := o.post("/businesses/"+business+"/applications", m{"name": "Web shop"}).is(201).id()
		made := o.post("/applications/"+app+"/keys", m{"environment": live, "scopes": []string{"all"}}).is(201)
		s.hide(made.text("data.key"))
		c := s.newClient(t, live, made.text("data.key"))
		hooks := newReceiver(t)
		c.endpoint(hooks)
		booked := c.post("/deliveries", anOrder(set("external_id", newExternalID()))).is(201)
		id := booked.id()

		for _, query := range [][]string{
			{"id", id}, {"reference", booked.text("data.reference")}, {"external_id", booked.text("data.external_id")}, {"business_id", business},
			{"application_id", app, "status", "booked", "environment", live, "order", "desc"},
		} {
			found := o.get("/deliveries" + escaped(query...))
			if found.count("data") != 1 {
				t.Errorf("%v found %d", query, found.count("data"))
			}
			found.has("data.0.id", id, "data.0.business_id", business, "data.0.application_id", app)
		}
		o.get("/deliveries"+escaped("business_id", business, "environment", sandbox)).has("meta.has_more", "false").lacks("data.0")
		o.get("/deliveries" + escaped("business_id", business, "status_older_than", "1h")).lacks("data.0")

		for _, status := range []string{"assigned", "picked_up", "in_transit", "delivered"} {
			o.post("/deliveries/"+id+"/advance", m{"status": status}).is(200).has("data.status", status)
			c.get("/deliveries/"+id).has("data.status", status)
		}
		// The answer got lost, say: the state tells that the move was made.
		o.post("/deliveries/"+id+"/advance", m{"status": "delivered"}).refused(409, "TRANSITION_INVALID").
			has("error.details.current_status", "delivered", "error.details.requested_status", "delivered", "error.details.allowed_statuses", "[]")
		o.get("/deliveries/"+id).has("data.timeline.4.status", "delivered", "data.business.name", "Kejetia Kitchens", "data.application.id", app)
		types := map[string]bool{}
		for _, got := range hooks.awaits(t, 5) {
			types[got.tree.text("type")] = true
		}
		if !types["delivery.created"] || !types["delivery.delivered"] {
			t.Errorf("sent %v", types)
		}

		o.post("/keys/"+made.id()+"/revoke", nil).is(200)
		eventually(t, "the key stops", func() bool { return c.get("/deliveries").status == 401 })
		want := "business.create application.create key.create" + strings.Repeat(" delivery.advance", 4) + " key.revoke"
		if got := o.did(token); got != want {
			t.Errorf("did %q, want %q", got, want)
		}
		o.get("/audit"+escaped("target", id, "limit", "1")).has("data.0.action", "delivery.advance", "data.0.business_id", business,
			"data.0.details.from", "in_transit", "data.0.details.to", "delivered", "data.0.operator.id", token)

		// A command is in the log, too, under the name of its user.
		s.command(t, "app", "disable", app)
		entry := o.get("/audit"+escaped("target", app, "action", "application.disable")).has("data.0.operator.id", "null", "data.0.request_id",
			"null")
		if name := entry.text("data.0.operator.name"); !strings.HasPrefix(name, "command:") || name == "command:" {
			t.Errorf("the command was run by %q", name)
		}
	})
}

func TestAnOperatorTokenStopsWhenItIsRevokedAndWhenItExpires(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		o, token := s.operator(t)
		o.get("/businesses?limit=1")
		begun := time.Now()
		s.command(t, "operator", "revoke", token)
		if o.send("GET", "/businesses", nil).status == 200 && time.Since(begun) < 2*time.Second {
			eventually(t, "the token stops", func() bool { return o.send("GET", "/businesses", nil).status != 200 })
		}
		o.send("GET", "/businesses", nil).refused(401, "OPERATOR_TOKEN_REVOKED")
		brief, _ := s.operator(t, "--expires-in", "1ms")
		brief.send("GET", "/businesses", nil).refused(401, "OPERATOR_TOKEN_EXPIRED")
		s.operatorWith(t, "").send("GET", "/businesses", nil).refused(401, "INVALID_OPERATOR_TOKEN").has("error.details.reason", "missing")
		s.operatorWith(t, o.token[:len(o.token)-1]).send("GET", "/businesses", nil).refused(401, "INVALID_OPERATOR_TOKEN").has(
			"error.details.reason", "malformed")
		key := s.caller(t, live).key
		s.operatorWith(t, key).send("GET", "/businesses", nil).refused(401, "INVALID_OPERATOR_TOKEN").has("error.details.reason", "malformed")
		// And the other way round: it is no key of the public API.
		s.newClient(t, live, o.token).get("/deliveries").refused(401, "INVALID_API_KEY")
	})
}

func TestLongTheDemoOperatorIsKeptWhileItWorks(t *testing.T) {
	t.Parallel()
	s := prepare(t, sqlite)
	var first string
	for run := range 3 {
		s.launch(t)
		token := s.vars["WAYBILL_OPS_TOKEN"]
		s.hide(token)
		o := s.operatorWith(t, token)
		list := o.get("/audit" + escaped("action", "operator.create"))
		switch run {
		case 0:
			first = token
		case 1:
			if token != first {
				t.Error("the second start made another token")
			}
			s.command(t, "operator", "revoke", list.text("data.0.target"))
		default:
			if token == first {
				t.Error("a revoked token was kept")
			}
		}
		s.stop(t)
	}
}

func TestPickupLocationsComeFromAFileOfEitherSide(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		o, _ := s.operator(t)
		business := s.newBusiness(t)
		at := "/businesses/" + business + "/environments/live/pickup-locations"
		table := "\xef\xbb\xbfname,address,contact,latitude,longitude,active\r\n" +
			"\"Osu \"\"A\"\"\",\"12 Oxford Street, Osu\",0302000001,5.5571,-0.1818,\r\nTema,1 Harbour Road,,,,\r\n"
		csv := with("Content-Type", "text/csv")
		o.send("POST", at+"/import?dry_run=true", table, csv).is(200).has("data.created", "2", "data.dry_run", "true")
		o.send("POST", at+"/import", table, csv).is(200).has("data.created", "2", "data.incomplete.0.line", "3", "data.incomplete.0.missing.1",
			"coordinates")

		file := filepath.Join(t.TempDir(), "branches.csv")
		if err := os.WriteFile(file, []byte(strings.Replace(table, "Road,,,,", "Road,0302000002,5.6,-0.1,", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		importFile := []string{"pickup-location", "import", "--business", business, "--env", live, file}
		for _, c := range []struct {
			more []string
			want string
		}{{[]string{"--dry-run"}, "0 1 1"}, {nil, "0 1 1"}, {nil, "0 0 2"}} {
			done := s.command(t, append(importFile[:len(importFile):len(importFile)], c.more...)...)
			if got := fmt.Sprint(done["created"], " ", done["updated"], " ", done["unchanged"]); got != c.want {
				t.Errorf("%v came to %s, want %s", c.more, got, c.want)
			}
		}
		o.get(at).has("data.0.complete", "true", "data.1.complete", "true", "data.0.missing", "[]").lacks("data.2")

		// Of imports at the same time one waits for another, more are told to come again, and nothing is doubled.
		const rows = 500
		var many strings.Builder
		many.WriteString("name,address\n")
		for i := range rows {
			fmt.Fprintf(&many, "Branch %d,%d Ring Road\n", i, i)
		}
		var all sync.WaitGroup
		var created atomic.Int64
		for range 6 {
			all.Go(func() {
				a := o.send("POST", strings.Replace(at, live, sandbox, 1)+"/import", many.String(), csv)
				if a.status == http.StatusServiceUnavailable {
					a.refused(503, "SERVICE_UNAVAILABLE")
					return
				}
				n, err := strconv.Atoi(a.is(200).text("data.created"))
				if err != nil {
					t.Error(err)
				}
				created.Add(int64(n))
			})
		}
		all.Wait()
		if created.Load() != rows {
			t.Errorf("six imports at once created %d locations, want %d", created.Load(), rows)
		}

		if err := os.WriteFile(file, []byte("name,address\nOsu\n,\"1 Street\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, complaint, err := s.tryCommand(importFile...)
		if err == nil || !strings.Contains(string(complaint), "line 2:") || !strings.Contains(string(complaint), "line 3: name:") {
			t.Errorf("%v: %s", err, complaint)
		}
		o.send("POST", at+"/import", "name,address\nOsu \"x\",1 Street\n", csv).refused(422, "IMPORT_INVALID").has("error.details.errors.0.line",
			"2")
		o.send("POST", at+"/import", "name,address\n"+strings.Repeat("x,12 Street\n", 10_001), csv).refused(422, "IMPORT_INVALID")
		o.send("POST", at+"/import", strings.Repeat("x", 5<<20+1), csv).refused(413, "PAYLOAD_TOO_LARGE")
		o.send("POST", at+"/import", "{}").refused(415, "UNSUPPORTED_MEDIA_TYPE")
	})
}

func TestLongAnImportOfTenThousandRowsIsOneChange(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		o, token := s.operator(t)
		business := s.newBusiness(t)
		var table strings.Builder
		table.WriteString("name,address,contact,latitude,longitude\n")
		for i := range 10_000 {
			fmt.Fprintf(&table, "Branch %d,%d Ring Road,0302000001,5.5,-0.1\n", i, i)
		}
		at := "/businesses/" + business + "/environments/sandbox/pickup-locations/import"
		begun := time.Now()
		o.send("POST", at, table.String(), with("Content-Type", "text/csv")).is(200).has("data.created", "10000")
		stored := time.Since(begun)
		o.send("POST", at, table.String(), with("Content-Type", "text/csv")).is(200).has("data.unchanged", "10000", "data.created", "0")
		t.Logf("stored within %v, and all of it found again within %v", stored, time.Since(begun)-stored)
		if got := o.did(token); got != "pickup_location.import" {
			t.Errorf("did %q", got)
		}
	})
}

func TestLimitsOfApplicationsAndKeys(t *testing.T) {
	t.Parallel()
	s := shared(t, sqlite)
	o := s.admin(t)
	fill := func(path string, body m) {
		t.Helper()
		for range 100 {
			if key := o.post(path, body).is(201).text("data.key"); key != "" {
				s.hide(key)
			}
		}
	}
	apps, app := "/businesses/"+s.newBusiness(t)+"/applications", m{"name": "App"}
	fill(apps, app)
	o.post(apps, app).refused(409, "APPLICATION_LIMIT").has("error.details.limit", "100")
	keys, key := "/applications/"+o.get(apps).text("data.0.id")+"/keys", m{"environment": live, "scopes": []string{"all"}}
	fill(keys, key)
	o.post(keys, key).refused(409, "API_KEY_LIMIT").has("error.details.limit", "100")
	o.post("/keys/"+o.get(keys).text("data.0.id")+"/rotate", nil).refused(409, "API_KEY_LIMIT")
}

func TestHostileRequestsToTheOperationsAPI(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		o, token := s.operator(t)
		business := s.newBusiness(t)
		for range 3 {
			o.post("/businesses/"+business+"/applications", m{"name": "App"}).is(201)
		}
		list := o.get("/audit"+escaped("operator_id", token, "limit", "1")).has("meta.has_more", "true")
		cursor := list.text("meta.next_cursor")
		o.get("/audit"+escaped("operator_id", token, "limit", "2", "cursor", cursor)).has("meta.has_more", "false")
		for _, elsewhere := range []string{"/audit" + escaped("cursor", cursor), "/businesses" + escaped("cursor", cursor),
			"/deliveries" + escaped("cursor", cursor)} {
			o.send("GET", elsewhere, nil).invalid("cursor invalid_format")
		}
		o.send("DELETE", "/businesses/"+business, nil).refused(405, "METHOD_NOT_ALLOWED")
		o.send("GET", "/nothing", nil).refused(404, "NOT_FOUND")
		o.post("/businesses", `{"name":"`+strings.Repeat("x", 64<<10)+`"}`).refused(413, "PAYLOAD_TOO_LARGE")
		o.post("/businesses", `{"name":"x"}{}`).refused(400, "INVALID_REQUEST")
		o.post("/businesses", m{"name": "x", "owner": "y"}).refused(400, "INVALID_REQUEST")
		o.post("/businesses", m{"name": strings.Repeat("x", 129), "rate_limit": m{"limit": 0}}).
			invalid("name too_long", "rate_limit.limit out_of_range", "rate_limit.window_seconds required")
		o.send("GET", "/deliveries?page=2", nil).refused(400, "INVALID_REQUEST")
		o.send("PATCH", "/businesses/"+business, m{"name": "x"}, with("Content-Type", "text/plain")).refused(415, "UNSUPPORTED_MEDIA_TYPE")
		if got := o.did(token); got != strings.TrimSpace(strings.Repeat("application.create ", 3)) {
			t.Errorf("did %q", got)
		}
		open := s.operatorWith(t, "")
		open.get("/openapi.json").has("openapi", "3.1.0")
		if described := open.get("/openapi.yaml"); !strings.HasPrefix(string(described.body), "openapi: 3.1.0") {
			t.Errorf("%.40s", described.body)
		}
	})
}

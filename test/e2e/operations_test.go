package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"waybill/test/contract"
)

// operations is, for a client, the operations API in the place of an environment.
const operations = "operations"

// operator calls the operations API of a server with one token.
type operator struct{ *client }

// operator is one of its own, and the ID of its token.
func (s *server) operator(t testing.TB, more ...string) (*operator, string) {
	t.Helper()
	made := s.command(t, append([]string{"operator", "create", "--name", "Dispatch of " + t.Name()}, more...)...)
	token := made["token"].(string)
	s.hide(token)
	return s.operatorWith(t, token), made["id"].(string)
}

func (s *server) operatorWith(t testing.TB, token string) *operator {
	return &operator{s.clientOf(t, contract.LoadOperations(t), operations, token)}
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

func TestLongTheDemoOperatorIsKeptWhileItWorks(t *testing.T) {
	t.Parallel()
	s := prepare(t, sqlite)
	var first string
	for run := range 3 {
		s.launch(t)
		token := s.Vars["WAYBILL_OPS_TOKEN"]
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
		done := s.command(t, "pickup-location", "import", "--business", business, "--env", live, file)
		if got := fmt.Sprint(done["created"], " ", done["updated"], " ", done["unchanged"]); got != "0 1 1" {
			t.Errorf("the command came to %s", got)
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

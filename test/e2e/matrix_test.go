package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"waybill/adapters/httpapi"
	"waybill/test/contract"
)

// party is an application of a business in an environment, and what it has.
type party struct {
	business, app, env string
	client             *client
	records            map[string][]string // IDs by their prefix, two or more of each
}

// visitor is a key that calls, or the lack of one.
type visitor struct {
	name   string
	client *client
	acts   *party // the party it acts for; nil where it is not admitted
	code   string // of the 401, where it is not let in
	lacks  string // a scope
}

// world is two businesses, one of them with two applications, and all callers of
// one environment of a server.
type world struct {
	t        *testing.T
	env      string
	parties  map[string]*party
	visitors []visitor
	cells    int

	// The one answer there is to each kind of refusal.
	answers map[string]string
}

func TestNoCallerSeesOrChangesARecordOfAnother(t *testing.T) {
	var cells atomic.Int64
	t.Cleanup(func() { t.Logf("%d cells of the tenancy matrix were checked", cells.Load()) })
	everywhere(t, func(t *testing.T, s *server, env string) {
		w := newWorld(t, s, env)
		for _, r := range rules {
			w.checkPath(r)
			w.checkKeyReuse(r)
		}
		w.checkBodies()
		w.checkCursors()
		t.Logf("%d cells", w.cells)
		cells.Add(int64(w.cells))
	})
}

func TestTheTableOfRulesCoversEveryRoute(t *testing.T) {
	t.Parallel()
	ruled := map[string]bool{}
	for _, r := range rules {
		ruled[call(r.method, r.path, r.sandboxOnly)] = true
	}
	routed, documented := map[string]bool{}, map[string]bool{}
	for _, r := range httpapi.Routes() {
		routed[call(r.Method, r.Path, r.SandboxOnly)] = true
	}
	for _, o := range contract.Load(t).Operations() {
		documented[call(o.Method, o.Path, o.SandboxOnly)] = true
	}
	for name, others := range map[string]map[string]bool{"the route table": routed, "openapi.yaml": documented} {
		for call := range others {
			if !ruled[call] {
				t.Errorf("%s has %s: say in the table of rules who may call it", name, call)
			}
		}
		for call := range ruled {
			if !others[call] {
				t.Errorf("the table of rules has %s, and %s has not", call, name)
			}
		}
	}
}

// call names an operation where lists of them are compared.
func call(method, path string, sandboxOnly bool) string {
	if sandboxOnly {
		path += ", sandbox only"
	}
	return method + " " + path
}

func newWorld(t *testing.T, s *server, env string) *world {
	t.Helper()
	w := &world{t: t, env: env, parties: map[string]*party{}, answers: map[string]string{}}
	other := map[string]string{live: sandbox, sandbox: live}[env]
	ours, theirs := s.newBusiness(t), s.newBusiness(t)
	app, second := s.newApp(t, ours), s.newApp(t, ours)
	join := func(name, business, app, env string) *party {
		p := &party{business: business, app: app, env: env, client: s.newClient(t, env, s.newKey(t, app, env, "all").secret)}
		p.records = furnish(p.client)
		w.parties[name] = p
		return p
	}
	owner := join("the owner", ours, app, env)
	colleague := join("the other application", ours, second, env)
	foreign := join("the other business", theirs, s.newApp(t, theirs), env)
	abroad := join("the other environment", ours, app, other)

	in := func(name string, acts *party, secret string) {
		w.visitors = append(w.visitors, visitor{name: name, acts: acts, client: s.newClient(t, env, secret)})
	}
	in("the owner", owner, owner.client.key)
	in("its second key", owner, s.newKey(t, app, env, "all").secret)
	in("the other application", colleague, colleague.client.key)
	in("the other business", foreign, foreign.client.key)
	for _, scope := range scopes {
		in("a key without "+scope, owner, s.newKey(t, app, env, without(scope)).secret)
		w.visitors[len(w.visitors)-1].lacks = scope
	}
	// The same application, called where its other key belongs: nothing crosses.
	w.visitors = append(w.visitors, visitor{name: "the other environment at home", acts: abroad, client: abroad.client})

	out := func(name, code, secret string) {
		w.visitors = append(w.visitors, visitor{name: name, code: code, client: s.newClient(t, env, secret)})
	}
	revoked := s.newKey(t, app, env, "all")
	s.command(t, "key", "revoke", revoked.id)
	expired := s.newKey(t, app, env, "all", "1s")
	disabled := s.newApp(t, ours)
	shut := s.newKey(t, disabled, env, "all")
	s.command(t, "app", "disable", disabled)
	out("no key", "INVALID_API_KEY", "")
	out("a malformed key", "INVALID_API_KEY", owner.client.key[:len(owner.client.key)-1])
	out("an unknown key", "INVALID_API_KEY", unknownKey(env))
	out("a key of the other environment", "ENVIRONMENT_MISMATCH", abroad.client.key)
	out("a revoked key", "API_KEY_REVOKED", revoked.secret)
	out("an expired key", "API_KEY_EXPIRED", expired.secret)
	out("a key of a disabled application", "INVALID_API_KEY", shut.secret)
	eventually(t, "the key has expired", func() bool {
		return s.newClient(t, env, expired.secret).get("/api-key").status == 401
	})
	return w
}

// furnish makes two records of each kind.
func furnish(c *client) map[string][]string {
	records := map[string][]string{}
	for range 2 {
		person := c.post("/recipients", m{"phone_number": newPhone(), "name": "Matrix Person"}).is(201).id()
		home := c.post("/recipients/"+person+"/addresses", anAddress(set("address", newPlaceText()))).is(201).id()
		place := c.post("/pickup-locations", aPlace()).is(201).id()
		delivery := c.post("/deliveries", anOrder()).is(201).id()
		endpoint := c.newEndpoint()
		webhook := c.post("/webhook-endpoints/"+endpoint+"/test", nil).is(202).id()
		for kind, id := range map[string]string{
			"rcp_": person, "adr_": home, "pkp_": place, "dlv_": delivery, "whe_": endpoint, "whd_": webhook, "listener": unknown("whe_"),
		} {
			records[kind] = append(records[kind], id)
		}
	}
	return records
}

// sees says whether a caller may see a record of another.
func (p *party) sees(owner *party, o ownership) bool {
	return p.env == owner.env && p.business == owner.business && (o == ofTheBusiness || p.app == owner.app)
}

// target is an ID and its owner; one without an owner is unknown or malformed.
type target struct {
	id        string
	owner     *party
	malformed bool
}

func (w *world) targets(kind string) []target {
	var all []target
	for _, name := range slices.Sorted(maps.Keys(w.parties)) {
		all = append(all, target{id: w.parties[name].records[kind][0], owner: w.parties[name]})
	}
	if kind == "listener" {
		kind = "whe_"
	}
	all = append(all, target{id: unknown(kind)})
	for _, id := range malformed(kind) {
		all = append(all, target{id: id, malformed: true})
	}
	return all
}

// checkPath calls an operation as everybody with every ID, and as the owner with what is none.
func (w *world) checkPath(r rule) {
	targets := []target{{}}
	if r.owner != ownerless {
		targets = w.targets(r.kind)
	}
	for i, v := range w.visitors {
		for _, target := range targets {
			if target.malformed && i > 0 {
				continue // what it names belongs to nobody
			}
			mayCall := v.acts != nil && r.isThere(v.client.env) && !r.needs(v.lacks)
			if mayCall && r.ready != nil && target.owner != nil && v.acts.sees(target.owner, r.owner) {
				r.ready(target.owner.client, target.id)
			}
			if r.made != nil && target.owner != nil {
				target.id = r.made(target.owner.client)
			}
			a := w.call(v, r, target.id)
			if r.undo != nil && target.owner != nil {
				r.undo(target.owner.client, target.id)
			}
			if w.turnedAway(v, r, a) {
				continue
			}
			if r.owner != ownerless && (target.owner == nil || !v.acts.sees(target.owner, r.owner)) {
				a.refused(404, "NOT_FOUND")
				w.sameAnswer("NOT_FOUND", v, a)
				continue
			}
			a.is(r.success)
			if r.undo != nil && r.owner == ownerless {
				r.undo(v.acts.client, a.id())
			}
			// An event does not name its delivery, and a new address is another record.
			if target.id != "" && r.success == 200 && !r.anonymous && r.path != "/deliveries/{delivery_id}/events" &&
				!bytes.Contains(a.body, []byte(target.id)) {
				w.t.Errorf("%s: %s does not show what was asked for: %s", v.name, a.what, a.body)
			}
			w.nothingForeign(v, a)
		}
	}
}

// call makes a request of a rule; a fresh address keeps failures apart.
func (w *world) call(v visitor, r rule, id string, options ...option) *answer {
	w.cells++
	before, after, _ := strings.Cut(r.path, "{")
	_, after, _ = strings.Cut(after, "}")
	var body any
	if r.body != nil {
		body = r.body()
	}
	if r.keyed {
		options = append([]option{idem(newKeyText())}, options...)
	}
	return w.send(v, r.method, before+id+after, body, options...)
}

func (w *world) send(v visitor, method, path string, body any, options ...option) *answer {
	c := *v.client
	c.address = newAddress()
	return c.send(method, path, body, options...)
}

// turnedAway checks the refusals that come before any ID is looked at.
func (w *world) turnedAway(v visitor, r rule, a *answer) bool {
	switch {
	case !r.isThere(v.client.env):
		a.refused(404, "NOT_FOUND")
		w.sameAnswer("no such address", v, a)
		return true
	case r.scope == openToAll:
		return false
	case v.acts == nil:
		a.refused(401, v.code)
		w.sameAnswer(v.name, v, a)
		return true
	case r.needs(v.lacks):
		a.refused(403, "INSUFFICIENT_SCOPE").has("error.details.required_scope", v.lacks)
		w.sameAnswer(v.name, v, a)
		return true
	}
	return false
}

// sameAnswer holds an answer against all others of its kind, byte by byte:
// any difference would tell the caller something.
func (w *world) sameAnswer(kind string, v visitor, a *answer) {
	w.t.Helper()
	header := maps.Clone(a.header)
	for _, name := range []string{"X-Request-Id", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset", "Date"} {
		delete(header, name)
	}
	got := fmt.Sprint(a.status, header, string(a.body))
	if want, seen := w.answers[kind]; !seen {
		w.answers[kind] = got
	} else if got != want {
		w.t.Errorf("%s: %s: %s differs from other answers of the kind:\n%s\n%s", kind, v.name, a.what, got, want)
	}
}

// nothingForeign looks for the IDs of records the caller may not see.
func (w *world) nothingForeign(v visitor, a *answer) {
	w.t.Helper()
	if v.acts == nil {
		return // the description, which everybody may read
	}
	for name, p := range w.parties {
		for kind, ids := range p.records {
			level := ofTheBusiness
			if kind == "dlv_" || kind == "whe_" || kind == "whd_" {
				level = ofApplications
			}
			if kind == "listener" {
				continue // has no records that last
			}
			for _, id := range ids {
				if !v.acts.sees(p, level) && bytes.Contains(a.body, []byte(id)) {
					w.t.Errorf("%s: %s shows a record of %s: %s", v.name, a.what, name, a.body)
				}
			}
		}
	}
}

// checkKeyReuse repeats requests of the owner under the owner's key.
func (w *world) checkKeyReuse(r rule) {
	if !r.keyed {
		return
	}
	owner, key := w.parties["the owner"], newKeyText()
	if !r.isThere(owner.env) {
		return
	}
	id := ""
	if r.owner != ownerless {
		id = owner.records[r.kind][1]
		if r.made != nil {
			id = r.made(owner.client)
		}
	}
	body := r.body()
	r.body = func() any { return body }
	first := w.call(w.visitors[0], r, id, idem(key)).is(r.success).replayed(false)
	for _, v := range w.visitors {
		a := w.call(v, r, id, idem(key))
		switch {
		case w.turnedAway(v, r, a):
		case r.owner != ownerless && !v.acts.sees(owner, r.owner):
			a.refused(404, "NOT_FOUND")
			w.sameAnswer("NOT_FOUND", v, a)
		case v.acts == owner:
			if a.is(r.success).replayed(true); !bytes.Equal(a.body, first.body) {
				w.t.Errorf("%s: %s replayed %s, want %s", v.name, a.what, a.body, first.body)
			}
		default:
			// A colleague finds the same recipient or address by its own means.
			if a.replayed(false); a.status != r.success && !(a.status == 200 && v.acts.business == owner.business) {
				w.t.Errorf("%s: %s under a key of the owner answered %d %s", v.name, a.what, a.status, a.body)
			}
			for _, id := range append(first.booked(), first.id()) {
				if v.acts.business != owner.business && id != "" && bytes.Contains(a.body, []byte(id)) {
					w.t.Errorf("%s: %s shows the owner's record: %s", v.name, a.what, a.body)
				}
			}
			w.nothingForeign(v, a)
		}
		if h := a.header.Get("Idempotent-Replayed"); h != "" && v.acts != owner {
			w.t.Errorf("%s: %s replayed an answer of the owner", v.name, a.what)
		}
	}
}

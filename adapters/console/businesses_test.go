package console_test

import (
	"context"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/adapters/pages"
	"waybill/adapters/passkeys"
	"waybill/adapters/portal"
	"waybill/application/access"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/monitoring"
	"waybill/application/people"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

func init() {
	equip = append(equip, func(_ *testing.T, s *scene, u *console.UseCases) { u.Tenants = s.tenants })
	arrange = append(arrange, func(t *testing.T, s *scene, o *console.Options) {
		o.PortalBaseURL, o.PerBusiness, o.Customer = s.portal, domain.RateLimit{Limit: 1200, Window: time.Minute},
			s.newPortal(t, s.portal).Mounted(console.BusinessAt)
	})
	furnish = append(furnish, furnishCustomer, servePortal)

	at := func(path string) string { return console.BusinessAt + path }
	page, form := func(paths ...string) {
		for _, path := range paths {
			add(map[string]row{"GET " + at(path): {may: everybody}})
		}
	}, func(path string, fields func(*scene) url.Values) {
		add(map[string]row{"POST " + at(path): {may: admins, form: fields}})
	}
	key := func(s *scene) url.Values {
		return url.Values{"once": {string(s.IDs.ID(domain.PrefixAPIKey))}, "scopes": {"quotes:read"}}
	}
	table := sent("csv", "name,address,active\nMain depot,1 Depot Road,false\nRidge,1 Ring Road,\n")
	add(map[string]row{
		"GET /businesses": {may: everybody}, "GET /businesses/new": {may: admins}, "POST /businesses": {may: admins, form: sent("name", "Kofi Pharmacy")},
		"GET " + at("/disable"): {may: admins}, "GET " + at("/view"): {may: readers},
		"POST " + at("/view"):                                     {may: readers, form: sent("reason", "Order 1001 is said to be missing")},
		"GET " + at("/audit"):                                     {may: readers},
		"GET " + at("/audit.csv"):                                 {may: readers},
		"GET " + at("/apps/:app/disable"):                         {may: admins},
		"GET " + at("/people/:person/remove"):                     {may: admins},
		"GET " + at("/people/:person/disable"):                    {may: admins},
		"GET " + at("/pickup-locations/:env/import"):              {may: admins},
		"GET " + at("/pickup-locations/:env/import/rows"):         {may: admins},
		"GET " + at("/pickup-locations/:env/import/template.csv"): {may: admins},
	})
	page("", "/rename", "/limits", "/tracking", "/enable", "/apps", "/apps/:app", "/apps/:app/rename", "/apps/:app/enable", "/apps/:app/:env/keys",
		"/apps/:app/:env/keys/:key/rotate", "/apps/:app/:env/keys/:key/revoke", "/apps/new", "/apps/:app/:env/keys/new", "/pickup-locations/:env/new", "/people/new", "/people", "/people/:person/role", "/people/:person/link",
		"/people/:person/sessions", "/people/:person/enable", "/pickup-locations", "/pickup-locations/:env", "/pickup-locations/:env/:location", "/webhooks",
		"/webhooks/:endpoint", "/webhooks/:endpoint/sent/:sent", "/usage", "/usage.csv")
	form("/rename", sent("name", "Adom Kitchens"))
	form("/tracking", sent("cash", "show"))
	form("/limits", sent("limit", "7", "window_seconds", "60"))
	form("/disable", nil)
	form("/enable", nil)
	form("/apps", sent("name", "Another shop"))
	form("/apps/:app/rename", sent("name", "Renamed shop"))
	form("/apps/:app/disable", nil)
	form("/apps/:app/enable", nil)
	form("/apps/:app/:env/keys", key)
	form("/apps/:app/:env/keys/:key/rotate", key)
	form("/apps/:app/:env/keys/:key/revoke", nil)
	form("/people", sent("email", "efua@new.example", "name", "Efua", "role", "viewer"))
	form("/people/:person/role", sent("role", "developer"))
	form("/people/:person/link", nil)
	form("/people/:person/sessions", nil)
	form("/people/:person/disable", nil)
	form("/people/:person/enable", nil)
	form("/people/:person/remove", nil)
	form("/pickup-locations/:env", sent("name", "Ridge", "address", "1 Ring Road"))
	form("/pickup-locations/:env/import", table)
	form("/pickup-locations/:env/import/rows", table)
	form("/pickup-locations/:env/:location", sent("active", "false"))
}

// newPortal is the portal of the customers.
func (s *scene) newPortal(t *testing.T, at string) *portal.Portal {
	t.Helper()
	party := must[*passkeys.Party](t)(passkeys.New(at))
	return portal.New(portal.UseCases{Access: s.access, Passkeys: people.NewPasskeys(s.access, party, stage.Digester{}),
		Directory: s.directory, Tenants: s.tenants, Audit: s.audit,
		Requests: monitoring.NewRequests(s.Store, s.Clock), Handling: deliveries.NewHandling(s.Store, s.Clock, s.IDs, stage.Renderer{}),
		PickupLocations: directory.NewPickupLocations(s.Store, nil, s.Clock, s.IDs), Endpoints: webhooks.NewEndpoints(s.Store,
			webhooks.New(s.Store, nil, nil, nil, stage.Renderer{}, s.Clock, s.IDs, false), s.Clock, s.IDs),
		Readiness: monitoring.NewReadiness(s.Store, s.Clock),
	}, portal.Options{BaseURL: at, LiveBaseURL: "http://live.example/v1", SandboxBaseURL: "http://sandbox.example/v1",
		Log: slog.New(slog.NewTextHandler(&s.log, nil)), Clock: s.Clock, Identifiers: s.IDs, Normalizer: stage.FoldCase{},
		RequestLog: pages.RequestLog{Mode: monitoring.LogAll},
		PerKey:     domain.RateLimit{Limit: 600, Window: time.Minute}, PerBusiness: domain.RateLimit{Limit: 1200, Window: time.Minute},
	})
}

// servePortal has the portal on a listener of its own.
func servePortal(t *testing.T, s *scene) {
	t.Helper()
	server, at := atLocalhost()
	s.portal = at
	start(t, server, s.newPortal(t, at))
}

// furnishCustomer gives the customer of a scene one of everything.
func furnishCustomer(t *testing.T, s *scene) {
	t.Helper()
	ctx, tenant := t.Context(), domain.Tenant{BusinessID: s.business.ID, ApplicationID: s.app.ID, Environment: domain.Sandbox}
	key := must[access.IssuedKey](t)(s.tenants.IssueKey(ctx, operator, s.app.ID, domain.Sandbox, domain.AllScopes(), nil))
	place := must[domain.PickupLocation](t)(directory.NewPickupLocations(s.Store, nil, s.Clock, s.IDs).Add(ctx, operator, tenant,
		directory.PickupLocationForm{Name: "Tema depot", Address: "1 Depot Road", Contact: "+233302000001", Active: true}))
	var e domain.WebhookEndpoint
	var d domain.WebhookDelivery
	s.Write(t, func(ctx context.Context, tx ports.Stores) (err error) {
		if e, err = tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant)); err != nil {
			return err
		}
		d, err = tx.Webhooks.PublishTo(ctx, e, sample.EndpointEvent(domain.EventEndpointTest, func(f *domain.FeedEvent) {
			f.OccurredAt, f.Payload = s.Clock.Now(), []byte(`{}`)
		}))
		return err
	})
	for name, id := range map[string]domain.ID{
		":business": s.business.ID, ":app": s.app.ID, ":key": key.ID, ":location": place.ID, ":endpoint": e.ID, ":sent": d.ID,
		":member": s.owner.ID,
	} {
		s.ids[name] = string(id)
		s.records = append(s.records, string(id))
	}
	s.ids[":env"] = string(domain.Sandbox)
	s.records = append(s.records, key.Secret, "…"+key.LastFour, place.Name, e.Host())
}

// customerAt is a page of the scene's customer.
func (s *scene) customerAt(path string) string { return "/businesses/" + string(s.business.ID) + path }

var (
	rooted = regexp.MustCompile(`(?:href|action)="(/[^"]*)"`)
	// listsOfAll are those that a page of one customer leads to narrowed.
	listsOfAll = regexp.MustCompile(`^/(deliveries|requests|errors)\?`)
)

func TestEachLinkOnThePagesOfACustomerLeadsToAPageOfTheConsole(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.called(t)
	for _, role := range everybody {
		caller, seen, todo, read := s.signedIn(t, role), map[string]bool{}, []string{s.customerAt("")}, 0
		for len(todo) > 0 {
			path := todo[0]
			todo = todo[1:]
			p := caller.get(path)
			if p.status != http.StatusOK {
				t.Errorf("%s: %s, which a page leads to: %d", role, path, p.status)
			}
			if !strings.HasPrefix(path, s.customerAt("")) {
				continue
			}
			read++
			for _, m := range rooted.FindAllStringSubmatch(p.body, -1) {
				to, ok := strings.CutPrefix(html.UnescapeString(m[1]), console.Prefix)
				if !ok {
					t.Errorf("%s: %s leads out of the console: %s", role, path, m[1])
					continue
				}
				if narrowed := listsOfAll.MatchString(to); narrowed && !strings.Contains(to, "business="+string(s.business.ID)) {
					t.Errorf("%s: %s leads to %s of all customers", role, path, to)
				}
				if to, _, _ = strings.Cut(to, "#"); !seen[to] && !strings.Contains(m[0], "action=") {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		if read < 14 {
			t.Errorf("%s: only %d pages were read: %v", role, read, seen)
		}
	}
}

func TestARecordOfOneCustomerIsNotFoundUnderAnother(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	other := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "Kofi Pharmacy", nil))
	admin, before, asked := s.signedIn(t, domain.RoleAdmin), s.state(t), 0
	for route, r := range matrix {
		if !strings.Contains(route, console.BusinessAt) || strings.Count(route, "/:") < 2 ||
			strings.Count(strings.ReplaceAll(route, "/:env", ""), "/:") < 2 {
			continue
		}
		method, path, form := r.question(t, s, route)
		path = strings.Replace(path, string(s.business.ID), string(other.ID), 1)
		asked++
		p := admin.ask(method, path, form)
		if p.status != http.StatusNotFound {
			t.Errorf("%s of a record of another customer: %d", route, p.status)
		}
	}
	s.wantSame(t, before, "what was asked under another customer")
	if asked < 20 {
		t.Errorf("only %d routes were asked", asked)
	}
	for _, id := range []string{string(s.IDs.ID(domain.PrefixBusiness)), "biz_1", string(s.app.ID)} {
		for _, path := range []string{"", "/apps", "/people", "/usage", "/audit", "/webhooks", "/pickup-locations", "/disable"} {
			if p := admin.get("/businesses/" + id + path); p.status != http.StatusNotFound {
				t.Errorf("%s of %s: %d", path, id, p.status)
			}
		}
	}
}

func TestACustomerIsCreatedOnceFoundAndGivenToItsOwner(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin := s.signedIn(t, domain.RoleAdmin)
	to, form := admin.get("/businesses/new").form(t, "Add customer")
	form.Set("name", "   ")
	if p := admin.post(to, form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="name-error"`) {
		t.Errorf("without a name: %d", p.status)
	}
	form.Set("name", "Kofi <Pharmacy>")
	made := admin.post(to, form)
	if made.status != http.StatusOK || !strings.Contains(made.body, "Kofi &lt;Pharmacy&gt;") {
		t.Fatalf("%d at %s", made.status, made.at)
	}
	if again := admin.post(to, form); again.status != http.StatusConflict || !strings.Contains(again.body, "already created") {
		t.Errorf("sent twice: %d", again.status)
	}
	for q, want := range map[string]bool{"q=pharm": true, "q=" + strings.TrimPrefix(made.at, "/businesses/"): true, "q=nothing": false,
		"state=disabled": false, "q=pharm&state=active": true} {
		if p := admin.get("/businesses?" + q); strings.Contains(p.body, "Kofi &lt;Pharmacy&gt;") != want {
			t.Errorf("%s finds it: %v, want %v", q, !want, want)
		}
	}
	to, form = admin.get(made.at+"/people/new").form(t, "Invite person")
	form.Set("email", "ama@kofi.example")
	form.Set("name", "Ama")
	form.Set("role", "owner")
	invited := admin.post(to, form)
	link := regexp.MustCompile(`<output[^>]*data-secret[^>]*>` + s.portal + `/enter/([^<]+)<`).FindStringSubmatch(invited.body)
	if link == nil {
		t.Fatalf("no link: %d %s", invited.status, invited.body)
	}
	entered := must[people.Entered](t)(s.access.Enter(t.Context(), people.Browser{}, link[1]))
	if entered.Role != domain.RoleOwner || "/businesses/"+string(entered.Session.BusinessID) != made.at {
		t.Errorf("the link lets in as %s of %s", entered.Role, entered.Session.BusinessID)
	}
	entries := must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), entered.Session.BusinessID, domain.AuditFilter{},
		domain.PageRequest{Limit: 10}))
	for _, e := range entries {
		if slices.Contains([]domain.Action{domain.ActionBusinessCreate, domain.ActionPersonInvite}, e.Action) &&
			(e.Actor.ID != s.staff[domain.RoleAdmin].ID || e.Actor.Kind() != domain.ActorOperator) {
			t.Errorf("%s by %+v", e.Action, e.Actor)
		}
	}
}

func TestACustomerIsAddedWithItsOwnerInOneForm(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin := s.signedIn(t, domain.RoleAdmin)
	add := func(owner, email string) page {
		to, form := admin.get("/businesses/new").form(t, "Add customer")
		form.Set("name", "Kofi Pharmacy")
		form.Set("owner", owner)
		form.Set("email", email)
		return admin.post(to, form)
	}
	const noOwner = "No owner yet"
	if p := add("Ama", "nonsense"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="email-error"`) ||
		strings.Contains(admin.get("/businesses").body, "Kofi Pharmacy") {
		t.Errorf("a wrong email: %d, or the customer was created", p.status)
	}
	if p := add("", "ama@kofi.example"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="owner-error"`) {
		t.Errorf("an owner without a name: %d", p.status)
	}
	made := add("Ama", "ama@kofi.example")
	link := regexp.MustCompile(`<output[^>]*data-secret[^>]*>` + s.portal + `/enter/([^<]+)<`).FindStringSubmatch(made.body)
	if link == nil {
		t.Fatalf("no link: %d %s", made.status, made.body)
	}
	if entered := must[people.Entered](t)(s.access.Enter(t.Context(), people.Browser{}, link[1])); entered.Role != domain.RoleOwner {
		t.Errorf("the link lets in as %s", entered.Role)
	}
	if p := admin.get("/businesses"); strings.Contains(p.body, noOwner) {
		t.Error("the list misses an owner that there is")
	}
	must[domain.Person](t)(s.directory.SetDisabled(t.Context(), operator, s.owner.ID, true))
	disabled := add("Kofi", string(s.owner.Email))
	disabled.has(t, "its owner was not invited", noOwner, "Invite its owner")
	made = add("", "")
	made.has(t, noOwner, "Invite its owner")
	admin.get(made.at+"/people/new").has(t, `<option value="owner" selected>`)
	admin.get(s.customerAt("/people/new")).has(t, `<option value="developer" selected>`)
	admin.get("/businesses").has(t, noOwner)
}

func TestALimitOfACustomerHasBoundsAndGoesBackToTheSetting(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin := s.signedIn(t, domain.RoleAdmin)
	for _, c := range []struct {
		limit, window string
		want          *domain.RateLimit
		refused       bool
	}{
		{"30", "60", &domain.RateLimit{Limit: 30, Window: time.Minute}, false},
		{"0", "60", &domain.RateLimit{Limit: 30, Window: time.Minute}, true},
		{"x", "y", &domain.RateLimit{Limit: 30, Window: time.Minute}, true},
		{"", "", nil, false},
	} {
		to, form := admin.get(s.customerAt("")).form(t, "Save limit")
		form.Set("limit", c.limit)
		form.Set("window_seconds", c.window)
		p := admin.post(to, form)
		if refused := p.status == http.StatusUnprocessableEntity && strings.Contains(p.body, `role="alert"`); refused != c.refused {
			t.Errorf("%q in %q: %d", c.limit, c.window, p.status)
		}
		b := must[domain.Business](t)(s.tenants.Business(t.Context(), s.business.ID))
		if (b.RateLimit == nil) != (c.want == nil) || b.RateLimit != nil && *b.RateLimit != *c.want {
			t.Errorf("%q in %q: the limit is %+v", c.limit, c.window, b.RateLimit)
		}
	}
}

func TestStaffViewACustomerWithAReasonByALinkToThePortal(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	support := s.signedIn(t, domain.RoleSupport)
	to, form := support.get(s.customerAt("")).form(t, "View as customer")
	form.Set("reason", "because")
	if p := support.post(to, form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="reason-error"`) {
		t.Errorf("a short reason: %d", p.status)
	}
	form.Set("reason", "Order 1001 is said to be missing")
	p := support.post(to, form)
	link := regexp.MustCompile(`href="` + s.portal + `/view/([^"]+)"`).FindStringSubmatch(p.body)
	if link == nil {
		t.Fatalf("%d %s", p.status, p.body)
	}
	opened := must[people.OpenedView](t)(s.access.OpenView(t.Context(), people.Browser{}, link[1]))
	if _, err := s.access.IdentifyView(t.Context(), opened.Secret); err != nil {
		t.Fatal(err)
	}
	support.post("/signout", nil)
	if _, err := s.access.IdentifyView(t.Context(), opened.Secret); !domain.HasCode(err, domain.CodeSessionEnded) {
		t.Errorf("behind the console it goes on: %v", err)
	}
}

// The pages of a customer name one who has not accepted by another ID than that of the account.
func TestStaffChangeOneWhoIsInvitedToACustomer(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin := s.signedIn(t, domain.RoleAdmin)
	efua := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{BusinessID: s.business.ID,
		Email: "efua@adom.example", Name: "Efua", Role: "viewer"})).Member
	list, at := s.customerAt("/people"), s.customerAt("/people/"+string(efua.Reference()))
	if p := admin.post(at+"/link", nil); p.status != http.StatusOK || !strings.Contains(p.body, "Efua is invited") {
		t.Errorf("invited again: %d at %s", p.status, p.at)
	}
	to, form := admin.get(at+"/disable").form(t, "Disable")
	if p := admin.post(to, form); p.at != list || !strings.Contains(p.body, at+"/enable") {
		t.Errorf("disabled: %d at %s", p.status, p.at)
	}
	if p := admin.post(at+"/enable", nil); p.at != list || !strings.Contains(p.body, at+"/disable") {
		t.Errorf("enabled: %d at %s", p.status, p.at)
	}
	to, form = admin.get(at+"/remove").form(t, "Remove")
	if p := admin.post(to, form); p.at != list || strings.Contains(p.body, "efua@adom.example") {
		t.Errorf("removed: %d at %s", p.status, p.at)
	}
}

func TestAnAdminLetsTrackingPagesShowTheCashToHaveReady(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin := s.signedIn(t, domain.RoleAdmin)
	for _, c := range []struct {
		button, audited string
		shows           bool
	}{{"Show cash on tracking pages", "tracking_cash_on", true}, {"Hide cash on tracking pages", "tracking_cash_off", false}} {
		to, form := admin.get(s.customerAt("")).form(t, c.button)
		if p := admin.post(to, form); p.status != http.StatusOK || p.at != s.customerAt("") {
			t.Errorf("%s: %d at %s", c.button, p.status, p.at)
		}
		b := must[domain.Business](t)(s.tenants.Business(t.Context(), s.business.ID))
		entries := must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), s.business.ID, domain.AuditFilter{}, domain.PageRequest{Limit: 1}))
		if b.TrackingCash != c.shows || entries[0].Action != domain.ActionBusinessUpdate || entries[0].Details["changed"] != c.audited {
			t.Errorf("%s: %v, and the audit log has %+v", c.button, b.TrackingCash, entries[0])
		}
	}
	if p := s.signedIn(t, domain.RoleSupport).post("/businesses/"+string(s.business.ID)+"/tracking", url.Values{"cash": {"show"}}); p.status != http.StatusForbidden {
		t.Errorf("support: %d", p.status)
	}
}

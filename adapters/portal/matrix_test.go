package portal_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"waybill/adapters/portal"
	"waybill/application/deliveries"
	"waybill/application/people"
	"waybill/domain"
	"waybill/test/stage"
)

// row is what the matrix knows of a route.
type row struct {
	// may are the roles that get past the check of roles; nil: no session is needed.
	may []domain.Role
	// form is what a form sends that names records of a business, or changes them.
	form func(s *scene, h house) url.Values
}

var (
	members    = domain.Roles(domain.Portal)
	developers = []domain.Role{domain.RoleOwner, domain.RoleDeveloper}
	owners     = []domain.Role{domain.RoleOwner}
)

// matrix is every route with who may use it. An environment has a row of its own.
// A route that is not here fails the test below, so that none is forgotten.
var matrix = map[string]row{
	"GET /enter/:link": {}, "POST /enter/:link": {}, "GET /enter/:link/email": {}, "POST /enter/:link/email": {}, "GET /signin": {}, "POST /signin": {}, "POST /signout": {},
	"GET /signin/passkey": {}, "POST /signin/passkey": {},
	"GET /signin/link": {}, "POST /signin/link": {},
	"GET /signout": {may: members},
	"GET /view":    {}, "GET /view/:link": {}, "POST /view/:link": {},

	"GET /":                   {may: members},
	"GET /apps":               {may: members},
	"POST /apps":              {may: owners, form: sent("name", "Another shop")},
	"GET /apps/new":           {may: members},
	"GET /apps/:app":          {may: members},
	"GET /apps/:app/rename":   {may: members},
	"POST /apps/:app/rename":  {may: owners, form: sent("name", "Renamed shop")},
	"GET /apps/:app/disable":  {may: owners},
	"POST /apps/:app/disable": {may: owners},
	"GET /apps/:app/enable":   {may: members},
	"POST /apps/:app/enable":  {may: owners},

	"GET /apps/:app/live/keys":                 {may: members},
	"GET /apps/:app/live/keys/new":             {may: members},
	"GET /apps/:app/sandbox/keys/new":          {may: members},
	"POST /apps/:app/live/keys":                {may: owners, form: newKey},
	"GET /apps/:app/live/keys/:key/rotate":     {may: members},
	"POST /apps/:app/live/keys/:key/rotate":    {may: owners, form: newKey},
	"GET /apps/:app/live/keys/:key/revoke":     {may: members},
	"POST /apps/:app/live/keys/:key/revoke":    {may: owners},
	"GET /apps/:app/sandbox/keys":              {may: members},
	"POST /apps/:app/sandbox/keys":             {may: developers, form: newKey},
	"GET /apps/:app/sandbox/keys/:key/rotate":  {may: members},
	"POST /apps/:app/sandbox/keys/:key/rotate": {may: developers, form: newKey},
	"GET /apps/:app/sandbox/keys/:key/revoke":  {may: members},
	"POST /apps/:app/sandbox/keys/:key/revoke": {may: developers},

	"GET /search":            {may: members},
	"GET /requests":          {may: members},
	"GET /requests/:request": {may: members},
	"GET /errors":            {may: members},
	"GET /usage":             {may: members},
	"GET /usage.csv":         {may: members},

	"GET /deliveries":                     {may: members},
	"GET /deliveries/:delivery":           {may: members},
	"GET /deliveries/:delivery/cancel":    {may: members},
	"POST /deliveries/:delivery/cancel":   {may: developers},
	"GET /deliveries/:delivery/move":      {may: members},
	"POST /deliveries/:delivery/move":     {may: developers, form: sent("from", "booked", "status", "assigned")},
	"GET /deliveries/:delivery/simulate":  {may: members},
	"POST /deliveries/:delivery/simulate": {may: developers, form: sent("scenario", "delivered", "step_seconds", "5")},
	"GET /deliveries/:delivery/stop":      {may: members},
	"POST /deliveries/:delivery/stop":     {may: developers},

	"GET /pickup-locations":                             {may: members},
	"GET /pickup-locations/live":                        {may: members},
	"POST /pickup-locations/live":                       {may: owners, form: sent("name", "Ridge", "address", "1 Ring Road")},
	"GET /pickup-locations/live/new":                    {may: members},
	"GET /pickup-locations/sandbox/new":                 {may: members},
	"GET /pickup-locations/live/import":                 {may: owners},
	"POST /pickup-locations/live/import":                {may: owners, form: table},
	"GET /pickup-locations/live/import/rows":            {may: owners},
	"GET /pickup-locations/live/import/template.csv":    {may: owners},
	"POST /pickup-locations/live/import/rows":           {may: owners, form: table},
	"GET /pickup-locations/live/:location":              {may: members},
	"POST /pickup-locations/live/:location":             {may: owners, form: sent("active", "false")},
	"GET /pickup-locations/sandbox":                     {may: members},
	"POST /pickup-locations/sandbox":                    {may: developers, form: sent("name", "Ridge", "address", "1 Ring Road")},
	"GET /pickup-locations/sandbox/import":              {may: developers},
	"POST /pickup-locations/sandbox/import":             {may: developers, form: table},
	"GET /pickup-locations/sandbox/import/rows":         {may: developers},
	"GET /pickup-locations/sandbox/import/template.csv": {may: developers},
	"POST /pickup-locations/sandbox/import/rows":        {may: developers, form: table},
	"GET /pickup-locations/sandbox/:location":           {may: members},
	"POST /pickup-locations/sandbox/:location":          {may: developers, form: sent("active", "false")},

	"GET /sandbox":        {may: members},
	"GET /sandbox/book":   {may: members},
	"POST /sandbox/book":  {may: developers, form: newSample},
	"GET /sandbox/card":   {may: members},
	"GET /sandbox/inbox":  {may: members},
	"POST /sandbox/inbox": {may: developers, form: ofApp},

	"GET /people":                  {may: members},
	"POST /people":                 {may: owners, form: sent("email", "efua@new.example", "name", "Efua", "role", "viewer")},
	"GET /people/new":              {may: members},
	"GET /people/:person/role":     {may: members},
	"POST /people/:person/role":    {may: owners, form: sent("role", "developer")},
	"GET /people/:person/link":     {may: members},
	"POST /people/:person/link":    {may: owners},
	"GET /people/:person/sessions": {may: members}, "POST /people/:person/sessions": {may: owners},
	"GET /people/:person/remove":  {may: owners},
	"POST /people/:person/remove": {may: owners},

	"GET /audit":     {may: developers},
	"GET /audit.csv": {may: developers},

	"GET /account":           {may: members},
	"GET /account/password":  {may: members},
	"POST /account/password": {may: members, form: sent("password", "another battery, another horse")},
	"GET /account/name":      {may: members},
	"POST /account/name":     {may: members, form: sent("own_name", "Ama O. Mensah")},
	"GET /account/sessions":  {may: members},
	"POST /account/sessions": {may: members, form: func(_ *scene, h house) url.Values { return url.Values{"session": {string(h.session)}} }},
	"GET /account/confirm":   {may: members},
	"POST /account/confirm":  {may: members},
	"GET /account/business":  {may: members},
	"POST /account/business": {may: members, form: func(_ *scene, h house) url.Values {
		return url.Values{"business": {string(h.business.ID)}}
	}},
}

// Passkeys are everybody's own.
func init() {
	for _, route := range []string{
		"GET /account/confirm/passkey", "POST /account/confirm/passkey", "GET /account/passkeys", "POST /account/passkeys",
		"GET /account/passkeys/ask", "POST /account/passkeys/ask", "GET /account/passkeys/:passkey/remove",
		"POST /account/passkeys/:passkey/remove",
		"GET /account/passkeys/:passkey", "POST /account/passkeys/:passkey",
	} {
		matrix[route] = row{may: members, form: sent("name", "Phone")}
	}
}

// sent is a form with the same fields for every business.
func sent(pairs ...string) func(*scene, house) url.Values {
	return func(*scene, house) url.Values {
		form := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		return form
	}
}

// table is one that names the pickup location of a house.
func table(*scene, house) url.Values {
	return url.Values{"csv": {"name,address,active\nMain depot,1 Depot Road,false\nRidge,1 Ring Road,\n"}}
}

// made is the ID of the key that a form makes when the person of the role sends it.
func (s *scene) made(t *testing.T, role domain.Role, form url.Values) domain.ID {
	t.Helper()
	return must[domain.ID](t)(domain.ParseFormID(domain.PrefixAPIKey, form.Get("once"), s.house.people[role].ID, s.house.business.ID, s.Clock.Now()))
}

func newKey(s *scene, _ house) url.Values {
	return url.Values{"once": {string(s.IDs.ID(domain.PrefixAPIKey))}, "scopes": {"quotes:read"}}
}

// ids are the records of a business that a path names.
func (h house) ids(route string) map[string]string {
	e := domain.Sandbox
	if strings.Contains(route, "/live/") {
		e = domain.Live
	}
	return map[string]string{":app": string(h.app.ID), ":key": string(h.key[e].ID), ":person": string(h.people[domain.RoleViewer].ID),
		":link":    strings.Repeat("x", 43),
		":request": string(h.request), ":delivery": string(h.delivery), ":passkey": string(h.passkey), ":location": string(h.pickup[e]),
		":endpoint": string(h.endpoint.ID), ":sent": string(h.sent)}
}

// path is a route with IDs in it.
func path(t *testing.T, route string, ids map[string]string) string {
	t.Helper()
	parts := strings.Split(route, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			if parts[i] = ids[part]; parts[i] == "" {
				t.Fatalf("the matrix has no ID to put into %s for %s: add it to house.ids", route, part)
			}
		}
	}
	return strings.Join(parts, "/")
}

// expand makes a route of each environment.
func expand(r portal.Route) []string {
	route := r.Method + " " + r.Path
	if !strings.Contains(route, ":env") {
		return []string{route}
	}
	return []string{strings.Replace(route, ":env", "live", 1), strings.Replace(route, ":env", "sandbox", 1)}
}

func TestEveryRouteIsInTheMatrix(t *testing.T) {
	t.Parallel()
	routes := map[string]bool{}
	for _, r := range portal.Routes() {
		for _, route := range expand(r) {
			routes[route] = true
			if _, there := matrix[route]; !there {
				t.Errorf("%s has no row in the matrix: say who may use it", route)
			}
		}
	}
	for route := range matrix {
		if !routes[route] {
			t.Errorf("there is no route %s", route)
		}
	}
}

// outsiders are browsers that no page of a business is for.
func (s *scene) outsiders(t *testing.T) map[string]*reader {
	t.Helper()
	ctx, callers := t.Context(), map[string]*reader{"signed out": s.reader(t)}
	cookie := func(name, secret string) {
		callers[name] = s.reader(t)
		at, _ := url.Parse(s.url)
		callers[name].client.Jar.SetCookies(at, []*http.Cookie{{Name: "waybill_portal", Value: secret}})
	}
	cookie("forged cookie", strings.Repeat("A", 43))
	idle := s.signedIn(t, s.house, domain.RoleOwner)
	s.wait(domain.SessionIdle)
	callers["idle session"] = idle
	ended := s.signedIn(t, s.house, domain.RoleOwner)
	if p := ended.post("/signout", nil); p.at != "/signin" {
		t.Fatalf("sign out leads to %s", p.at)
	}
	for _, c := range ended.client.Jar.Cookies(must[*url.URL](t)(url.Parse(s.url))) {
		if c.Name != "waybill_portal_device" { // it signs no person in
			t.Errorf("the cookie %s stays after signing out", c.Name)
		}
	}
	for _, role := range domain.Roles(domain.Console) {
		issued := must[people.Issued](t)(s.directory.Invite(ctx, operator, people.Invitation{Email: string(role) + "@waybill.example",
			Name: "Kofi", Role: string(role)}))
		cookie("staff "+string(role), must[people.Entered](t)(s.access.Enter(ctx, people.Browser{}, issued.Secret)).Secret)
	}
	join := func(email string) people.Entered {
		issued := must[people.Issued](t)(s.directory.Invite(ctx, operator, people.Invitation{BusinessID: s.house.business.ID, Email: email,
			Name: "Left", Role: "owner"}))
		return must[people.Entered](t)(s.access.Enter(ctx, people.Browser{}, issued.Secret))
	}
	revoked, removed, disabled := join("revoked@left.example"), join("removed@left.example"), join("disabled@left.example")
	cookie("revoked session", revoked.Secret)
	cookie("removed person", removed.Secret)
	cookie("disabled person", disabled.Secret)
	must[int](t)(s.directory.EndSessions(ctx, operator, revoked.Person.ID))
	must[domain.Member](t)(s.directory.Remove(ctx, operator, s.house.business.ID, removed.Person.ID))
	must[domain.Person](t)(s.directory.SetDisabled(ctx, operator, disabled.Person.ID, true))
	return callers
}

// foreign are texts of a house that no other caller may read.
func (h house) foreign() []string {
	texts := []string{h.business.Name, h.app.Name, string(h.business.ID), string(h.app.ID), string(h.session), string(h.request),
		string(h.delivery), string(h.passkey), string(h.pickup[domain.Live]), string(h.pickup[domain.Sandbox])}
	texts = append(texts, string(h.endpoint.ID), string(h.sent), h.endpoint.Host())
	for _, k := range h.key {
		texts = append(texts, "…"+k.LastFour, "ending "+k.LastFour, k.Secret, string(k.ID))
	}
	for _, p := range h.people {
		texts = append(texts, p.Name, string(p.Email), string(p.ID))
	}
	return texts
}

// state is all that may be changed of a house.
func (s *scene) state(t *testing.T, h house) string {
	t.Helper()
	var b strings.Builder
	for _, a := range must[[]domain.Application](t)(s.tenants.Applications(t.Context(), h.business.ID)) {
		fmt.Fprintln(&b, a.ID, a.Name, a.Disabled)
		for _, k := range must[[]domain.APIKey](t)(s.tenants.Keys(t.Context(), a.ID)) {
			fmt.Fprintln(&b, k.ID, k.RevokedAt != nil, k.Scopes, k.ExpiresAt)
		}
	}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		for _, l := range must[[]domain.PickupLocation](t)(s.Store.Read().PickupLocations.List(t.Context(), h.tenant(e),
			domain.PickupLocationFilter{}, domain.PageRequest{Limit: 50})) {
			fmt.Fprintln(&b, l.ID, l.Name, l.Address, l.Contact, l.Active)
		}
	}
	d := must[*domain.Delivery](t)(deliveries.NewHandling(s.Store, s.Clock, s.IDs, stage.Renderer{}).Get(t.Context(), h.business.ID, h.delivery))
	fmt.Fprintln(&b, d.ID, d.Lifecycle())
	s.webhookState(t, &b, h)
	for _, m := range must[[]domain.Member](t)(s.directory.Members(t.Context(), h.business.ID)) {
		sessions := must[[]domain.Session](t)(s.access.Sessions(t.Context(), domain.Principal{Person: m.Person}))
		for _, k := range must[[]domain.Passkey](t)(s.Store.Read().Passkeys.OfPerson(t.Context(), m.Person.ID)) {
			fmt.Fprintln(&b, k.ID, k.Name)
		}
		fmt.Fprintln(&b, m.Person.ID, m.Person.State, m.Person.PasswordHash, m.Membership.Role, m.Membership.AcceptedAt != nil, len(sessions))
	}
	return b.String()
}

// question is a request to a route.
type question struct {
	method, path string
	form         url.Values
}

// ask sends it, and follows nowhere.
func (r *reader) ask(q question) page {
	r.t.Helper()
	once := *r
	client := *r.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	once.client = &client
	if q.method == http.MethodPost {
		return once.post(q.path, q.form)
	}
	return once.get(q.path)
}

// tells fails where an answer has a text of a house that was not sent.
func (p page) tells(t *testing.T, who string, q question, h house) {
	t.Helper()
	sent, told := q.path+" "+q.form.Encode(), p.body+fmt.Sprint(p.header)
	for _, text := range h.foreign() {
		if strings.Contains(told, text) && !strings.Contains(sent, text) {
			t.Errorf("%s, %s %s: the answer (%d) has %q of another business", who, q.method, q.path, p.status, text)
		}
	}
}

// query are IDs of a house under every name that a page might look at.
func (s *scene) query(t *testing.T, h house) string {
	t.Helper()
	entries := must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), h.business.ID, domain.AuditFilter{},
		domain.PageRequest{Limit: 1}))
	q := url.Values{"done": {"password"}, "next": {"/apps/" + string(h.app.ID)}}
	for name, id := range map[string]domain.ID{
		"business": h.business.ID, "business_id": h.business.ID, "app": h.app.ID, "application": h.app.ID, "application_id": h.app.ID,
		"key": h.key[domain.Live].ID, "person": h.people[domain.RoleOwner].ID, "actor": h.people[domain.RoleOwner].ID, "session": h.session,
		"before": entries[0].ID, "cursor": entries[0].ID, "after": entries[0].ID, "q": h.app.ID,
		"delivery": h.delivery, "request_id": h.request,
	} {
		q.Set(name, string(id))
	}
	return "?" + q.Encode()
}

// malformed are no IDs at all, as they stand in an address.
var malformed = []string{"x", "app_1", "%00", "%ff%fe", "%2e%2e", "a%2Fb", "%27%20OR%201=1%20--", "%E2%80%AE", strings.Repeat("a", 300)}

func TestNoRouteGivesACallerAByteOfAnotherBusiness(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	outsiders := s.outsiders(t)
	spare := must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, s.house.business.ID, "Second shop"))
	another := s.house
	another.app, another.key = s.house.app, map[domain.Environment]tenancyKey{}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		another.key[e] = must[tenancyKey](t)(s.tenants.IssueKey(t.Context(), operator, spare.ID, e, domain.AllScopes(), nil))
	}
	before, own, query := s.state(t, s.other), s.state(t, s.house), s.query(t, s.other)
	asked, insiders := 0, map[domain.Role]*reader{}
	for _, role := range members {
		insiders[role] = s.signedIn(t, s.house, role)
	}
	for _, route := range slices.Sorted(maps.Keys(matrix)) {
		r := matrix[route]
		method, pattern, _ := strings.Cut(route, " ")
		about := func(ids map[string]string, h house) question {
			q := question{method: method, path: path(t, pattern, ids)}
			if r.form != nil {
				q.form = r.form(s, h)
			}
			if method == http.MethodGet {
				q.path += query
			}
			return q
		}
		for name, caller := range outsiders {
			for _, h := range []house{s.other, s.house} {
				q := about(h.ids(pattern), h)
				asked++
				p := caller.ask(q)
				p.tells(t, name, q, h)
				inside := p.status == http.StatusUnauthorized || p.status == http.StatusSeeOther && strings.HasPrefix(p.header.Get("Location"),
					"/signin")
				if r.may != nil && !inside {
					t.Errorf("%s, %s: %d, and no page for signing in", name, route, p.status)
				}
			}
		}
		if r.may == nil {
			continue
		}
		for _, role := range members {
			caller := insiders[role]
			// The house whose records are named; where it has none of its own, the caller's.
			kinds := map[string]question{"foreign": about(s.other.ids(pattern), s.other)}
			if strings.Contains(pattern, "/:") {
				kinds["unknown"] = about(map[string]string{":app": string(s.IDs.ID(domain.PrefixApplication)),
					":key": string(s.IDs.ID(domain.PrefixAPIKey)), ":person": string(s.IDs.ID(domain.PrefixPerson)),
					":request": string(s.IDs.ID(domain.PrefixRequest)), ":delivery": string(s.IDs.ID(domain.PrefixDelivery)),
					":passkey": string(s.IDs.ID(domain.PrefixPasskey)), ":location": string(s.IDs.ID(domain.PrefixPickupLocation)),
					":endpoint": string(s.IDs.ID(domain.PrefixWebhookEndpoint)), ":sent": string(s.IDs.ID(domain.PrefixWebhookDelivery))}, s.other)
				for _, id := range malformed {
					kinds["malformed "+id] = about(map[string]string{":app": id, ":key": id, ":person": id, ":request": id, ":delivery": id,
						":passkey": id, ":location": id, ":endpoint": id, ":sent": id}, s.other)
				}
				for param, id := range s.other.ids(pattern) { // one foreign among own ones
					if mixed := s.house.ids(pattern); strings.Contains(pattern, param) && strings.Count(pattern, "/:") > 1 {
						mixed[param] = id
						kinds["foreign "+param] = about(mixed, s.other)
					}
				}
			}
			if strings.Contains(pattern, ":key") {
				kinds["of another application"] = about(another.ids(pattern), another)
			}
			if strings.Contains(pattern, ":key") || strings.Contains(pattern, ":location") {
				other := s.house.ids(strings.NewReplacer("/live/", "/sandbox/", "/sandbox/", "/live/").Replace(pattern))
				kinds["of the other environment"] = about(other, s.house)
			}
			names := strings.Contains(pattern, "/:") || route == "POST /account/sessions" || route == "POST /account/business" ||
				route == "GET /deliveries" || strings.HasSuffix(route, " /webhooks") || // these name an application
				strings.HasSuffix(route, " /webhooks/verify") || strings.HasSuffix(route, " /webhooks/new") ||
				strings.HasPrefix(route, "GET /sandbox")
			may := slices.Contains(r.may, role)
			if !names && method == http.MethodPost {
				continue // it names nothing, and does what the caller may
			}
			for kind, q := range kinds {
				asked++
				p := caller.ask(q)
				p.tells(t, string(role), q, s.other)
				want := http.StatusOK
				switch {
				case !may:
					want = http.StatusForbidden
				case names:
					want = http.StatusNotFound
				}
				if p.status != want || names && p.body != caller.ask(kinds["foreign"]).body {
					t.Errorf("%s, %s, %s: %d, want %d and the page of a foreign ID", role, route, kind, p.status, want)
				}
			}
		}
	}
	if after := s.state(t, s.other); after != before {
		t.Errorf("the other business was\n%s\nand is\n%s", before, after)
	}
	if after := s.state(t, s.house); withoutSessions(after) != withoutSessions(own) {
		t.Errorf("the own business was\n%s\nand is\n%s", own, after)
	}
	if asked < 1500 {
		t.Errorf("only %d requests were made", asked)
	}
}

// TestNoPageOffersARoleWhatItMayNotDo reads each page as each role and looks where its forms lead.
func TestNoPageOffersARoleWhatItMayNotDo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, role := range members {
		caller, offered := s.signedIn(t, s.house, role), 0
		for _, page := range slices.Sorted(maps.Keys(matrix)) {
			method, pattern, _ := strings.Cut(page, " ")
			if method != http.MethodGet || !slices.Contains(matrix[page].may, role) {
				continue
			}
			p := caller.get(path(t, pattern, s.house.ids(pattern)))
			for _, form := range stage.Forms(p.body) {
				to := cmp.Or(form.Action, p.at)
				route := stage.RouteOf(matrix, http.MethodPost, to)
				if may := matrix[route].may; route == "" || may != nil && !slices.Contains(may, role) {
					t.Errorf("%s offers a %s the form to %s (%q), which may not send it", p.at, role, to, route)
				}
				offered++
			}
		}
		if offered < 20 {
			t.Errorf("a %s is offered %d forms only", role, offered)
		}
	}
}

// withoutSessions leaves out how many sessions people have, the last word of a line.
func withoutSessions(state string) string {
	lines := strings.Split(state, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, string(domain.PrefixPerson)) {
			lines[i] = line[:strings.LastIndexByte(line, ' ')]
		}
	}
	return strings.Join(lines, "\n")
}

func TestARoleDoesWhatItIncludesAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	callers := map[domain.Role]*reader{}
	for _, role := range members {
		callers[role] = s.signedIn(t, s.house, role)
	}
	before, done := s.state(t, s.house), 0
	for _, route := range slices.Sorted(maps.Keys(matrix)) {
		r := matrix[route]
		method, pattern, _ := strings.Cut(route, " ")
		for _, role := range members {
			if r.may == nil {
				continue
			}
			h, caller, may := s.house, callers[role], slices.Contains(r.may, role)
			if may && method == http.MethodPost { // in a business of its own
				done++
				h = s.newHouse(t, fmt.Sprintf("Business %d", done), fmt.Sprintf("word%d", done))
				caller = s.signedIn(t, h, role)
			}
			q := question{method: method, path: path(t, pattern, h.ids(pattern))}
			if r.form != nil {
				q.form = r.form(s, h)
			}
			p := caller.ask(q)
			refused := p.status == http.StatusForbidden && strings.Contains(p.body, "Your role does not allow this")
			if refused == may || p.status == http.StatusNotFound && role == domain.RoleOwner || p.status >= 500 {
				t.Errorf("%s, %s: %d, may: %v", role, route, p.status, may)
			}
		}
	}
	if after := s.state(t, s.house); after != before {
		t.Errorf("after what roles do not include the business was\n%s\nand is\n%s", before, after)
	}
}

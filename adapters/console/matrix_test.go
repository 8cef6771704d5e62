package console_test

import (
	"database/sql"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"waybill/adapters/console"
	"waybill/application/people"
	"waybill/domain"

	_ "modernc.org/sqlite"
)

// row is what the matrix knows of a route.
type row struct {
	// may are the roles that get past the check of roles; nil: no session is needed.
	may []domain.Role
	// form is what a form sends that would change something; nil: nothing.
	form func(s *scene) url.Values
}

var (
	everybody   = domain.Roles(domain.Console)
	admins      = []domain.Role{domain.RoleAdmin}
	dispatchers = []domain.Role{domain.RoleAdmin, domain.RoleDispatcher}
	readers     = []domain.Role{domain.RoleAdmin, domain.RoleSupport}
)

// sent is a form of names and values.
func sent(pairs ...string) func(*scene) url.Values {
	return func(*scene) url.Values {
		form := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			form.Add(pairs[i], pairs[i+1])
		}
		return form
	}
}

// matrix is every route with who may use it. The files of pages add their own rows by
// init; a route without one fails the test below, so that none is forgotten.
var matrix = map[string]row{
	"GET /enter/:link": {}, "POST /enter/:link": {}, "GET /enter/:link/email": {}, "POST /enter/:link/email": {}, "GET /signin": {}, "POST /signin": {}, "POST /signout": {},
	"GET /signin/passkey": {}, "POST /signin/passkey": {}, "GET /signin/link": {},
	"POST /signin/link": {form: sent("email", "nobody@waybill.example")},
	"GET /signout":      {may: everybody},

	"GET /":                       {may: everybody},
	"GET /staff":                  {may: everybody},
	"GET /staff/new":              {may: everybody},
	"POST /staff":                 {may: admins, form: sent("email", "efua@waybill.example", "name", "Efua", "role", "viewer")},
	"GET /staff/:person/role":     {may: everybody},
	"POST /staff/:person/role":    {may: admins, form: sent("role", "support")},
	"GET /staff/:person/link":     {may: everybody},
	"POST /staff/:person/link":    {may: admins},
	"GET /staff/:person/sessions": {may: everybody}, "POST /staff/:person/sessions": {may: admins},
	"GET /staff/:person/disable": {may: admins}, "POST /staff/:person/disable": {may: admins},
	"GET /staff/:person/enable": {may: everybody}, "POST /staff/:person/enable": {may: admins},
	"GET /staff/:person/remove": {may: admins}, "POST /staff/:person/remove": {may: admins},

	"GET /account":          {may: everybody},
	"GET /account/password": {may: everybody}, "POST /account/password": {may: everybody, form: sent("password", "another long password")},
	"GET /account/name": {may: everybody}, "POST /account/name": {may: everybody, form: sent("own_name", "Ama O. Mensah")},
	"GET /account/sessions": {may: everybody}, "POST /account/sessions": {may: everybody},
	"GET /account/confirm": {may: everybody}, "POST /account/confirm": {may: everybody},
	"GET /account/confirm/passkey": {may: everybody}, "POST /account/confirm/passkey": {may: everybody},
	"GET /account/passkeys": {may: everybody}, "POST /account/passkeys": {may: everybody, form: sent("name", "Phone")},
	"GET /account/passkeys/ask": {may: everybody}, "POST /account/passkeys/ask": {may: everybody},
	"GET /account/passkeys/:passkey": {may: everybody}, "POST /account/passkeys/:passkey": {may: everybody, form: sent("name", "Phone")},
	"GET /account/passkeys/:passkey/remove": {may: everybody}, "POST /account/passkeys/:passkey/remove": {may: everybody},
}

// add puts the rows of a page into the matrix.
func add(rows map[string]row) { maps.Copy(matrix, rows) }

// question is a route as it is asked, with IDs in its path and, for a page, every ID of the
// scene in its query.
func (r row) question(t *testing.T, s *scene, route string) (method, path string, form url.Values) {
	t.Helper()
	method, pattern, _ := strings.Cut(route, " ")
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			if parts[1] == "businesses" && part == ":person" {
				part = ":member" // of the customer, and not of the staff
			}
			if parts[i] = s.ids[part]; parts[i] == "" {
				t.Fatalf("the scene has no ID to put into %s for %s: add it to ids, in a func of furnish", route, part)
			}
		}
	}
	if r.form != nil {
		form = r.form(s)
	}
	return method, strings.Join(parts, "/"), form
}

func TestEveryRouteHasARow(t *testing.T) {
	t.Parallel()
	routes := map[string]bool{}
	for _, r := range console.Routes() {
		route := r.Method + " " + r.Path
		routes[route] = true
		known, there := matrix[route]
		if !there {
			t.Errorf("%s has no row in the matrix: say who may use it", route)
			continue
		}
		if (known.may == nil) != (r.Act == "") {
			t.Errorf("%s: that it is open to everybody is %v in the matrix, and the act is %q", route, known.may == nil, r.Act)
		}
		for _, role := range everybody {
			if known.may != nil && domain.May(domain.Console, role, r.Act) != slices.Contains(known.may, role) {
				t.Errorf("%s: the matrix and the table of permissions differ about %s and %s", route, role, r.Act)
			}
		}
		if page := "GET " + r.Path; r.Method == http.MethodPost && matrix[page].may == nil && known.may != nil {
			t.Errorf("%s has no page with its form: a session that is lost could not come back to it", route)
		}
	}
	for route := range matrix {
		if !routes[route] {
			t.Errorf("there is no route %s", route)
		}
	}
}

// unwatched are tables that change without an act: when a session was seen last,
// what a limiter counts.
var unwatched = []string{"sessions", "passkey_ceremonies", "ceremonies"}

// state is every row of every table, by table.
func (s *scene) state(t *testing.T) map[string]string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+s.Path+"?_pragma=query_only(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := map[string]string{}
	for _, table := range texts(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'") {
		if !slices.Contains(unwatched, table) {
			all[table] = strings.Join(texts(t, db, `SELECT * FROM "`+table+`"`), "\n")
		}
	}
	if len(all) < 10 || !strings.Contains(all["persons"], string(s.owner.Email)) {
		t.Fatalf("the database has %d tables", len(all))
	}
	return all
}

// texts are the rows of a query, each as one text.
func texts(t *testing.T, db *sql.DB, query string) (rows []string) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	columns := must[[]string](t)(found.Columns())
	for found.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := fmt.Sprint(values...)
		if len(columns) > 1 {
			row = fmt.Sprint(values)
		}
		rows = append(rows, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// wantSame fails where something was changed.
func (s *scene) wantSame(t *testing.T, before map[string]string, by string) {
	t.Helper()
	after := s.state(t)
	for table, rows := range before {
		if after[table] != rows {
			t.Errorf("%s changed %s", by, table)
		}
	}
}

// outsiders are browsers that no page is for.
func (s *scene) outsiders(t *testing.T) map[string]*reader {
	t.Helper()
	ctx := t.Context()
	enter := func(email string) people.Entered { return s.join(t, "", email, "Left", domain.RoleAdmin) }
	revoked, removed, disabled := enter("revoked@left.example"), enter("removed@left.example"), enter("disabled@left.example")
	owner := s.join(t, s.business.ID, "second@adom.example", "Second owner", domain.RoleOwner)
	callers := map[string]*reader{
		"signed out":           s.reader(t),
		"forged cookie":        s.withCookie(t, "waybill_console", strings.Repeat("A", 43)),
		"revoked session":      s.withCookie(t, "waybill_console", revoked.Secret),
		"removed person":       s.withCookie(t, "waybill_console", removed.Secret),
		"disabled person":      s.withCookie(t, "waybill_console", disabled.Secret),
		"owner of a customer":  s.withCookie(t, "waybill_portal", owner.Secret),
		"session of a portal":  s.withCookie(t, "waybill_console", owner.Secret),
		"cookie of the portal": s.withCookie(t, "waybill_portal", enter("here@left.example").Secret),
		"operator token":       s.reader(t),
		"token as a cookie":    s.withCookie(t, "waybill_console", s.token),
	}
	callers["operator token"].bearer = s.token
	ended := s.signedIn(t, domain.RoleAdmin)
	if p := ended.post("/signout", nil); p.at != "/signin" {
		t.Fatalf("sign out leads to %s", p.at)
	}
	idle := s.signedIn(t, domain.RoleAdmin)
	s.wait(domain.SessionIdle)
	callers["ended session"], callers["idle session"] = ended, idle
	must[int](t)(s.directory.EndSessions(ctx, operator, revoked.Person.ID))
	must[domain.Member](t)(s.directory.Remove(ctx, operator, "", removed.Person.ID))
	must[domain.Person](t)(s.directory.SetDisabled(ctx, operator, disabled.Person.ID, true))
	return callers
}

func TestNobodyWithoutASessionReadsAByteOrChangesAnything(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	callers := s.outsiders(t)
	before := s.state(t)
	for _, route := range slices.Sorted(maps.Keys(matrix)) {
		r := matrix[route]
		for name, caller := range callers {
			method, path, form := r.question(t, s, route)
			p := caller.ask(method, path, form)
			told, given := p.body+fmt.Sprint(p.header), path+" "+form.Encode()
			for _, text := range s.records {
				if strings.Contains(told, text) && !strings.Contains(given, text) {
					t.Errorf("%s, %s: the answer (%d) has %q", name, route, p.status, text)
				}
			}
			toSignIn := p.status == http.StatusUnauthorized || p.status == http.StatusSeeOther &&
				strings.HasPrefix(p.header.Get("Location"), console.Prefix+"/signin")
			if r.may != nil && !toSignIn {
				t.Errorf("%s, %s: %d, and no page for signing in", name, route, p.status)
			}
		}
		if r.may == nil {
			before = s.state(t) // a link that was asked for is kept, for whomever it was
			continue
		}
		s.wantSame(t, before, route)
	}
}

func TestARoleDoesWhatItIncludesAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	callers := map[domain.Role]*reader{}
	for _, role := range everybody {
		callers[role] = s.signedIn(t, role)
	}
	before := s.state(t)
	for _, route := range slices.Sorted(maps.Keys(matrix)) {
		r := matrix[route]
		if r.may == nil {
			continue
		}
		asked := func(t *testing.T, here *scene, role domain.Role, caller *reader) {
			t.Helper()
			may := slices.Contains(r.may, role)
			method, path, form := r.question(t, here, route)
			p := caller.ask(method, path, form)
			refused := p.status == http.StatusForbidden && strings.Contains(p.body, "Your role does not allow this")
			gone := p.status == http.StatusNotFound && role == domain.RoleAdmin
			if refused == may || gone || p.status >= 500 {
				t.Errorf("%s, %s: %d, may: %v\n%s", role, route, p.status, may, here.log.String())
			}
		}
		changes := strings.HasPrefix(route, http.MethodPost)
		for _, role := range everybody {
			if !changes || !slices.Contains(r.may, role) {
				asked(t, s, role, callers[role])
			}
		}
		if !changes {
			continue
		}
		t.Run(route, func(t *testing.T) { // in a world of its own, by an admin first
			t.Parallel()
			here := newScene(t)
			for _, role := range r.may {
				asked(t, here, role, here.signedIn(t, role))
			}
		})
	}
	s.wantSame(t, before, "what roles do not include")
}

func TestWhatTakesARecentSignInAsksForItAndChangesNothingBefore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleAdmin)
	s.wait(domain.FreshFor)
	before, asked := s.state(t), 0
	for _, route := range console.Routes() {
		if route.Method != http.MethodPost || !domain.NeedsFreshSignIn(route.Act) || route.Path == "/account/password" {
			continue // that one asks itself
		}
		name := route.Method + " " + route.Path
		method, path, form := matrix[name].question(t, s, name)
		asked++
		if p := r.ask(method, path, form); p.status != http.StatusForbidden || !strings.Contains(p.body, "Sign in again to continue") {
			t.Errorf("%s: %d", name, p.status)
		}
	}
	s.wantSame(t, before, "a sign-in that is too old")
	if asked < 4 {
		t.Errorf("only %d routes were asked", asked)
	}
}

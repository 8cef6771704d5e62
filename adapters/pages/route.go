package pages

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/domain"

	"github.com/gin-gonic/gin"
)

// Route describes a page or the action of a form.
type Route struct {
	Method, Path string // Path: below the prefix of the site
	// Act returns the act that the role must include; nil: no session is needed.
	Act    func(c *Call) domain.Act
	Handle func(c *Call) error
	// AsksItself says that the form has its own field for the current password.
	AsksItself bool
	// Credentials says that the route sets a password or adds a passkey. The first of them needs no
	// recent sign-in.
	Credentials bool
	Part        bool          // one of many parts of a page: it has its own limits and does not count as a page
	MaxForm     int64         // limits the form, in bytes; 0: maxForm
	TooLarge    string        // what to say when the form has more; empty: its limit
	Within      time.Duration // limits the response time; 0: readTimeout, or writeTimeout for a form

	mount *Mount // the mount of the route; nil: none
}

// matches reports whether the route has a path, and returns the values of its parameters.
func (r Route) matches(path string) (params gin.Params, ok bool) {
	pattern, parts := strings.Split(r.Path, "/"), strings.Split(path, "/")
	if len(pattern) != len(parts) {
		return nil, false
	}
	for i, part := range pattern {
		name, param := strings.CutPrefix(part, ":")
		if !param && part != parts[i] || param && parts[i] == "" {
			return nil, false
		}
		if param {
			params = append(params, gin.Param{Key: name, Value: parts[i]})
		}
	}
	return params, true
}

// Always returns the same act for all calls of a route.
func Always(a domain.Act) func(*Call) domain.Act { return func(*Call) domain.Act { return a } }

// Described returns a site that serves nothing, for tests that inspect its routes.
func Described(o Options) *Site { return &Site{o: o} }

// Routes returns all routes of the site.
func (s *Site) Routes() []Route {
	routes := append(s.common(), s.o.Routes...)
	if s.o.Mount != nil {
		routes = append(routes, s.o.Mount.routes(s)...)
	}
	if s.o.Site != domain.Console {
		routes = append(routes, s.viewRoutes()...)
	}
	return routes
}

// common returns the routes of sign-in, the own account and the people of the site.
func (s *Site) common() []Route {
	var (
		account = Always(domain.ActOwnAccount)
		read    = Always(domain.ActRead)
	)
	if s.o.Site == domain.Console {
		read = Always(domain.ActReadEverything)
	}
	const get, post = http.MethodGet, http.MethodPost
	return slices.Concat(s.people(read, s.o.People), s.ofCompany(read), []Route{
		{Method: get, Path: "/enter/:link", Handle: s.showLink},
		{Method: post, Path: "/enter/:link", Handle: s.useLink},
		{Method: get, Path: "/enter/:link/email", Handle: s.showLink},
		{Method: post, Path: "/enter/:link/email", Handle: s.sendAcceptLink},
		{Method: get, Path: "/signin", Handle: s.showSignIn},
		{Method: post, Path: "/signin", Handle: s.signIn},
		{Method: get, Path: "/signin/passkey", Handle: s.showSignIn},
		{Method: post, Path: "/signin/passkey", Handle: s.askToSignInByPasskey},
		{Method: get, Path: "/signin/link", Handle: s.showSignIn},
		{Method: post, Path: "/signin/link", Handle: s.sendLink},
		{Method: get, Path: "/signout", Act: read, Handle: s.ShowAccount},
		{Method: post, Path: "/signout", Handle: s.signOut},

		{Method: get, Path: "/account", Act: read, Handle: s.ShowAccount},
		{Method: get, Path: "/account/password", Act: read, Handle: s.ShowAccount},
		{Method: post, Path: "/account/password", Act: account, Handle: s.setPassword, AsksItself: true, Credentials: true},
		{Method: get, Path: "/account/name", Act: read, Handle: s.ShowAccount},
		{Method: post, Path: "/account/name", Act: read, Handle: s.rename},
		{Method: get, Path: "/account/sessions", Act: read, Handle: s.ShowAccount},
		{Method: post, Path: "/account/sessions", Act: read, Handle: s.endSessions},
		{Method: get, Path: "/account/confirm", Act: account, Handle: s.askToConfirm},
		{Method: post, Path: "/account/confirm", Act: account, Handle: s.confirmed},
		{Method: get, Path: "/account/confirm/passkey", Act: read, Handle: s.ShowAccount},
		{Method: post, Path: "/account/confirm/passkey", Act: read, Handle: s.askToConfirmByPasskey},
		{Method: get, Path: "/account/passkeys", Act: read, Handle: s.ShowAccount},
		{Method: post, Path: "/account/passkeys", Act: account, Handle: s.addPasskey, Credentials: true},
		{Method: get, Path: "/account/passkeys/ask", Act: read, Handle: s.ShowAccount},
		{Method: post, Path: "/account/passkeys/ask", Act: account, Handle: s.askToAddPasskey, Credentials: true},
		{Method: get, Path: "/account/passkeys/:passkey", Act: account, Handle: s.showPasskey},
		{Method: post, Path: "/account/passkeys/:passkey", Act: account, Handle: s.renamePasskey},
		{Method: get, Path: "/account/passkeys/:passkey/remove", Act: account, Handle: s.showPasskey},
		{Method: post, Path: "/account/passkeys/:passkey/remove", Act: account, Handle: s.removePasskey},
	})
}

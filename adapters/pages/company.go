package pages

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"waybill/application/people"
	"waybill/domain"
)

// Paths for a sign-in at the company's identity provider, and for the way back.
const (
	companyPath    = "/signin/oidc"
	companyBack    = companyPath + "/callback"
	companyConfirm = "/account/confirm/oidc"
	companyConnect = "/account/oidc"
)

// CompanyBack returns the redirect address to register at the identity provider.
func CompanyBack(base, prefix string) string { return base + prefix + companyBack }

// askProvider limits how long a page may wait for the identity provider. Discovery, the code and
// the keys have deadlines of their own.
const askProvider = 20 * time.Second

// ofCompany returns the routes with which staff sign in by the identity provider. A sign-in starts
// with a link, because the Content-Security-Policy keeps a form from leading to another site.
// Connecting changes the account, so it starts with a form. The page behind the form leads to the
// provider.
func (s *Site) ofCompany(read func(*Call) domain.Act) []Route {
	if s.o.Site != domain.Console {
		return nil
	}
	const get, post = http.MethodGet, http.MethodPost
	route := func(method, path string, act func(*Call) domain.Act, handle func(*Call) error) Route {
		return Route{Method: method, Path: path, Act: act, Within: askProvider, Handle: func(c *Call) error {
			if !s.companyOffered() {
				return domain.ErrNotFound
			}
			return handle(c)
		}}
	}
	return []Route{
		route(get, companyPath, nil, s.leaveToSignIn), route(get, companyBack, nil, s.backFromCompany),
		route(get, companyConfirm, read, s.leaveToConfirm),
		route(get, companyConnect, read, s.ShowAccount), route(post, companyConnect, Always(domain.ActOwnAccount), s.leaveToConnect),
	}
}

// companyOffered reports whether an identity provider is configured.
func (s *Site) companyOffered() bool { return s.o.Company != nil && s.o.Company.Offered() }

// companyHref returns the sign-in page's link to the provider; empty: there is none.
func (s *Site) companyHref(next string) string {
	if !s.companyOffered() {
		return ""
	}
	return s.o.Prefix + companyPath + "?" + url.Values{"next": {next}}.Encode()
}

// leaveToSignIn starts a sign-in only from our own pages. Requests from other sites get the sign-in
// page: an image on any page could otherwise replace the cookie of a sign-in that has begun. Over
// plain HTTP, browsers send no Sec-Fetch-Site, and any page can suppress the Referer.
func (s *Site) leaveToSignIn(c *Call) error {
	unknown := c.GetHeader("Sec-Fetch-Site") == "" && c.Request.Referer() == ""
	if unknown || s.foreign(c.Request) {
		return c.Lead("/signin?" + url.Values{"next": {ownPath(c.Query("next"))}}.Encode())
	}
	d, err := s.o.Company.BeginSignIn(c.Ctx())
	return s.leave(c, d, err)
}

func (s *Site) leaveToConfirm(c *Call) error {
	d, err := s.o.Company.BeginConfirm(c.Ctx(), c.Principal)
	return s.leave(c, d, err)
}

func (s *Site) leaveToConnect(c *Call) error {
	d, err := s.o.Company.BeginConnect(c.Ctx(), c.Principal)
	if err != nil {
		return s.notByCompany(c, domain.CeremonyOIDCConnect, err)
	}
	s.keepDeparture(c, d)
	c.Header("Refresh", "0;url="+d.Address) // the policy of the pages blocks a redirect behind a form
	s.Notice(c, http.StatusOK, Notice{Title: "Sign in at the identity provider", Lines: []string{
		"The page of your company's identity provider opens now. Sign in there with the account that you want to connect.",
	}, Link: &Link{Href: d.Address, Text: "Open it"}})
	return nil
}

// leave redirects the browser to the provider. The cookie holds the secret and the path to open
// afterwards.
func (s *Site) leave(c *Call, d people.Departure, err error) error {
	if err != nil {
		return s.notByCompany(c, domain.CeremonyOIDCSignIn, err)
	}
	s.keepDeparture(c, d)
	c.Header("Location", d.Address)
	c.Status(http.StatusSeeOther)
	return nil
}

func (s *Site) keepDeparture(c *Call, d people.Departure) {
	s.keep(c, ofCompany, d.Secret+"."+url.QueryEscape(ownPath(c.Query("next"))), domain.IdentityLifetime)
}

// backFromCompany signs in a browser that returns from the provider.
func (s *Site) backFromCompany(c *Call) error {
	kept, _ := c.Cookie(s.cookie(ofCompany)) // without the cookie, Return refuses below
	secret, path, _ := strings.Cut(kept, ".")
	if kept != "" {
		s.keep(c, ofCompany, "", 0)
	}
	if err := s.identify(c); err != nil && !domain.HasCode(err, domain.CodeSessionEnded) {
		return err
	}
	back, err := s.o.Company.Return(c.Ctx(), c.Browser(), c.Principal, people.Answer{
		Secret: secret, State: c.Query("state"), Code: c.Query("code"), Fault: c.Query("error"), FaultWhy: c.Query("error_description"),
	})
	if err != nil {
		return s.notByCompany(c, back.Purpose, err)
	}
	switch back.Purpose {
	case domain.CeremonyOIDCConfirm:
		return c.Lead("/account?done=confirmed")
	case domain.CeremonyOIDCConnect:
		return c.Lead("/account?done=connected")
	}
	s.welcome(c, back.Entered)
	return c.Lead(ownPath(path))
}

// notByCompany shows why the sign-in by the provider failed, next to other ways to sign in.
func (s *Site) notByCompany(c *Call, p domain.CeremonyPurpose, err error) error {
	var e *domain.Error
	if !errors.As(err, &e) {
		return err
	}
	lines := []string{e.Message}
	switch e.Code {
	case domain.CodeIdentityRefused, domain.CodeIdentityTaken:
		s.noteRefusal(c, err)
	case domain.CodeIdentityUnavailable:
		s.o.Log.WarnContext(c.Ctx(), "the identity provider is not available", "request_id", c.RequestID(), "error", err)
	case domain.CodeIdentityClientRefused:
		s.o.Log.ErrorContext(c.Ctx(), "the identity provider refuses this client: nobody can sign in by it before an admin sets "+
			"WAYBILL_OIDC_CLIENT_ID and WAYBILL_OIDC_CLIENT_SECRET to those that it has now", "request_id", c.RequestID(), "error", err)
		lines = append(lines, "Admin: make a new client secret at the identity provider, set WAYBILL_OIDC_CLIENT_SECRET to it and restart the "+
			"server. The command waybill doctor checks it.")
	case domain.CodeTooManySignIns:
		s.noteRefusal(c, err)
		c.RetryAfter(err)
	default:
		return err
	}
	if p == domain.CeremonyOIDCConfirm || p == domain.CeremonyOIDCConnect {
		if c.Principal.Person.ID != "" {
			return s.accountPage(c, StatusOf(err), &Notice{Tone: "bad", Title: "The sign-in did not work", Lines: lines})
		}
	}
	return s.signInPage(c, StatusOf(err), signInView{
		Notice: &Notice{Tone: "bad", Title: "Sign-in failed", Lines: lines},
	})
}

// companyView holds the account page's part about the company account.
type companyView struct {
	Connected []domain.ConnectedIdentity
	Fresh     bool
	Connect   string
}

func (s *Site) companyView(c *Call, fresh bool) (*companyView, error) {
	if !s.companyOffered() {
		return nil, nil //nolint:nilnil // the page has no such part
	}
	connected, err := s.o.Company.Connected(c.Ctx(), c.Principal)
	return &companyView{Connected: connected, Fresh: fresh, Connect: s.o.Prefix + companyConnect}, err
}

// confirmHref returns the link with which a person signs in again at the provider. It is empty if
// they have no account there.
func (s *Site) confirmHref(c *Call) (string, error) {
	if !s.companyOffered() {
		return "", nil
	}
	connected, err := s.o.Company.Connected(c.Ctx(), c.Principal)
	if err != nil || len(connected) == 0 {
		return "", err
	}
	return s.o.Prefix + companyConfirm, nil
}

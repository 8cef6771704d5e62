package pages

import (
	"errors"
	"net/http"

	"waybill/domain"
)

// Staff can see the portal as a customer, read-only, through a link of the console. A view has its
// own cookie, next to that of the session. Package people defines views. Here, the only form that a
// view may send is the one that ends it.

// ofView names the cookie of a view.
const ofView = "_view"

// viewRoutes returns the routes of views.
func (s *Site) viewRoutes() []Route {
	const get, post = http.MethodGet, http.MethodPost
	return []Route{
		{Method: get, Path: "/view", Handle: s.viewOver},
		{Method: get, Path: "/view/:link", Handle: s.showView},
		{Method: post, Path: "/view/:link", Handle: s.openView},
	}
}

// viewCookie returns the secret of a view. ok is false if the browser has none.
func (s *Site) viewCookie(c *Call) (secret string, ok bool) {
	if s.o.Site != domain.Portal {
		return "", false
	}
	cookie, err := c.Request.Cookie(s.cookie(ofView))
	if err != nil {
		return "", false
	}
	return cookie.Value, true
}

// identifyView sets c.Principal from the view. If the view has ended, it shows that once and
// deletes the cookie.
func (s *Site) identifyView(c *Call, secret string) (err error) {
	c.Principal, err = s.o.Access.IdentifyView(c.Ctx(), secret)
	if !domain.HasCode(err, domain.CodeSessionEnded) {
		return err
	}
	s.keep(c, ofView, "", 0)
	s.Notice(c, http.StatusUnauthorized, viewEnded())
	return ErrAnswered
}

func viewEnded() Notice {
	return Notice{Title: "This view has ended", Lines: []string{
		"You saw the portal as a customer. A view lasts for one hour at most, and ends when you sign out of the console.",
		"To see it again, open the customer in the console and give a reason.",
	}}
}

// readOnly refuses forms in a view.
func readOnly(c *Call, r Route) error {
	if c.Principal.View == nil || r.Method != http.MethodPost {
		return nil
	}
	return &domain.Error{Kind: domain.KindForbidden, Code: domain.CodeViewReadOnly,
		Message: "You see this business as its customer, read-only. Nothing was changed. To make a change, open the customer in the console."}
}

// banner returns the banner of a view; nil: the page is not in a view.
func (s *Site) banner(c *Call, place string) *Banner {
	v := c.Principal.View
	if v == nil {
		return nil
	}
	return &Banner{Title: "You see " + place + " as its customer: read-only.", Reason: v.Reason, Until: v.ExpiresAt,
		Action: c.At("/signout"), Button: "End the view"}
}

// viewAsked holds the data of a view link's page.
type viewAsked struct{ Business, Reason string }

func (s *Site) showView(c *Call) error {
	v, err := s.o.Access.LookView(c.Ctx(), c.Browser(), c.Param("link"))
	if err != nil {
		return s.badView(c, err)
	}
	name, err := s.o.BusinessName(c.Ctx(), v.BusinessID)
	if err != nil {
		return err
	}
	return s.ShowPlain(c, http.StatusOK, "view", "See "+name+" as its customer", viewAsked{name, v.Reason})
}

func (s *Site) openView(c *Call) error {
	v, err := s.o.Access.OpenView(c.Ctx(), c.Browser(), c.Param("link"))
	if err != nil {
		return s.badView(c, err)
	}
	s.keep(c, ofView, v.Secret, domain.ViewLifetime)
	return c.Lead("/")
}

// badView shows why a view link does not work.
func (s *Site) badView(c *Call, err error) error {
	s.noteRefusal(c, err)
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.KindGone && e.Kind != domain.KindNotFound {
		return err
	}
	s.Notice(c, StatusOf(err), Notice{Title: "This link does not open a view", Lines: []string{e.Message,
		"Open the customer in the console and give a reason. You get a new link, which works only once, within two minutes."}})
	return nil
}

// endView ends the browser's view. It reports whether there was one.
func (s *Site) endView(c *Call) (ended bool, err error) {
	secret, ok := s.viewCookie(c)
	if !ok {
		return false, nil
	}
	p, err := s.o.Access.IdentifyView(c.Ctx(), secret)
	if err == nil {
		err = s.o.Access.EndView(c.Ctx(), p, c.RequestID())
	}
	if err != nil && !domain.HasCode(err, domain.CodeSessionEnded) {
		return true, err
	}
	s.keep(c, ofView, "", 0)
	return true, c.Lead("/view")
}

// viewOver shows the page after the end of a view.
func (s *Site) viewOver(c *Call) error {
	if _, ok := s.viewCookie(c); ok {
		return c.Lead("/")
	}
	s.Notice(c, http.StatusOK, viewEnded())
	return nil
}

package pages

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
)

// Metrics counts refusals to people. No label ever names a person.
type Metrics struct {
	refusals *prometheus.CounterVec
}

// NewMetrics registers the metrics of all sites.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_people_refused_total", Help: "Sign-ins, links, forms and acts of people that portal and console refused, by outcome.",
	}, []string{"site", "outcome"})}
	r.MustRegister(m.refusals)
	for _, site := range []domain.Site{domain.Portal, domain.Console} {
		for _, outcome := range domain.RefusalOutcomes() {
			m.refusals.WithLabelValues(string(site), string(outcome)) // so that a rate exists from the start
		}
	}
	return m
}

// outcomes maps error codes to refusals of people. Other errors are mistakes.
var outcomes = map[string]domain.RefusalOutcome{
	domain.CodeSignInRefused: domain.RefusedPassword, domain.CodePasskeyRefused: domain.RefusedPasskey,
	domain.CodeCeremonyOver: domain.RefusedPasskey, domain.CodePasskeyUnusable: domain.RefusedPasskey,
	domain.CodeLinkUnknown: domain.RefusedLink, domain.CodeLinkExpired: domain.RefusedEndedLink,
	domain.CodeLinkUsed: domain.RefusedEndedLink, domain.CodeLinkReplaced: domain.RefusedEndedLink,
	domain.CodeIdentityRefused: domain.RefusedIdentity, domain.CodeIdentityTaken: domain.RefusedIdentity,
	domain.CodeTooManySignIns: domain.RefusedTooMany, domain.CodeBusinessDisabled: domain.RefusedDisabled,
	domain.CodeRoleRefused: domain.RefusedRole, domain.CodeOwnSignInNeeded: domain.RefusedRole, domain.CodeViewReadOnly: domain.RefusedView,
	domain.CodeTooManyMails: domain.RefusedMails,
}

// noteRefusal records a refused attempt of a person, once per call. It writes a log line, counts a
// metric, and adds an audit log entry if the person is known.
func (s *Site) noteRefusal(c *Call, err error) {
	var e *domain.Error
	if c.noted || !errors.As(err, &e) {
		return
	}
	outcome := outcomes[e.Code]
	if errors.Is(err, ports.ErrPasswordsBusy) {
		outcome = domain.RefusedBusy
	}
	if outcome == "" {
		return
	}
	r := domain.Refusal{Outcome: outcome, PersonID: c.Principal.Person.ID}
	var about *people.Refused
	switch {
	case errors.As(err, &about):
		r.PersonID, r.Site, r.BusinessID = about.Person, about.Site, about.Business
	case c.Principal.View != nil:
		r.Site = domain.Console // the person's own site; the customer sees nothing of it
	default:
		r.BusinessID = c.Principal.Session.BusinessID
	}
	s.refused(c, r, e.Err)
}

// refused logs, counts and stores a refusal. The log line has only listed fields: typed text, link
// addresses and queries may be secrets.
func (s *Site) refused(c *Call, r domain.Refusal, cause error) {
	c.noted = true
	r.Site, r.RequestID = cmp.Or(r.Site, s.o.Site), c.RequestID()
	fields := []any{"request_id", r.RequestID, "site", string(s.o.Site), "outcome", string(r.Outcome),
		"person", string(r.PersonID), "client_network", domain.ClientNetwork(c.ClientIP()), "route", s.named(c.Context)}
	if cause != nil {
		fields = append(fields, "error", cause)
	}
	s.o.Log.InfoContext(c.Ctx(), refusalText(r.Outcome), fields...)
	if s.o.Metrics != nil {
		s.o.Metrics.refusals.WithLabelValues(string(s.o.Site), string(r.Outcome)).Inc()
	}
	s.o.Refusals.Keep(r)
}

func refusalText(o domain.RefusalOutcome) string {
	switch o {
	case domain.RefusedRole, domain.RefusedView:
		return "an act was refused: the role does not include it"
	case domain.RefusedMails:
		return "an invitation or link was refused: too many emails were sent"
	case domain.RefusedForgedForm:
		return "a form of another site was refused"
	}
	return "a sign-in was refused"
}

// refuseForged refuses a form that another site sends. It has the session cookie if the browser is
// old or the other host counts as the same site.
func (s *Site) refuseForged(g *gin.Context) {
	if s.protection.Check(g.Request) == nil {
		return
	}
	g.Abort()
	c := s.newCall(g)
	r := domain.Refusal{Outcome: domain.RefusedForgedForm}
	if cookie, err := c.Request.Cookie(s.cookie(ofSession)); err == nil {
		ctx, cancel := context.WithTimeout(c.Ctx(), readTimeout)
		defer cancel()
		p, _ := s.o.Access.Identify(ctx, s.o.Site, cookie.Value) // without a session nobody is known
		r.PersonID, r.BusinessID = p.Person.ID, p.Session.BusinessID
	}
	s.refused(c, r, nil)
	s.Notice(c, http.StatusForbidden, Notice{Tone: "bad", Title: "This form came from another site",
		Lines: []string{"Nothing was changed. Open the page here and send it again."}})
}

// foreign reports whether a page of another site made the browser send the request. For browsers
// without Sec-Fetch-Site it checks the Referer, which our own pages always allow.
func (s *Site) foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none": // none: typed, or opened from outside the browser
		return false
	case "":
		from, err := url.Parse(r.Referer())
		return err != nil || r.Referer() != "" && domain.WebOrigin(from) != s.origin
	}
	return true
}

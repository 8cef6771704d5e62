package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/access"
	"waybill/domain"
)

// BusinessAt holds the path of a customer's pages.
const BusinessAt = "/businesses/:business"

// businessRoutes returns the customer pages that only the console has. The others come from the
// customer's own portal.
func (p *Console) businessRoutes() []pages.Route {
	const get, post = http.MethodGet, http.MethodPost
	read, manage, view := pages.Always(domain.ActReadEverything), pages.Always(domain.ActManageBusinesses), pages.Always(domain.ActViewAsCustomer)
	return []pages.Route{
		{Method: get, Path: "", Act: read, Handle: p.showBusiness},
		{Method: get, Path: "/rename", Act: read, Handle: p.showBusiness},
		{Method: post, Path: "/rename", Act: manage, Handle: p.renameBusiness},
		{Method: get, Path: "/limits", Act: read, Handle: p.showBusiness},
		{Method: post, Path: "/limits", Act: manage, Handle: p.limitBusiness},
		{Method: get, Path: "/tracking", Act: read, Handle: p.showBusiness},
		{Method: post, Path: "/tracking", Act: manage, Handle: p.changeTracking},
		{Method: get, Path: "/disable", Act: manage, Handle: p.askDisableBusiness},
		{Method: post, Path: "/disable", Act: manage, Handle: p.disableBusiness},
		{Method: get, Path: "/enable", Act: read, Handle: p.showBusiness},
		{Method: post, Path: "/enable", Act: manage, Handle: p.enableBusiness},
		{Method: get, Path: "/view", Act: view, Handle: p.showBusiness},
		{Method: post, Path: "/view", Act: view, Handle: p.viewAsCustomer},
	}
}

type businessView struct {
	Notice       *pages.Notice
	Business     domain.Business
	Has          domain.Footprint
	Most         int    // counts stop here
	Limit        string // the present limit
	NoOwner      bool   // nobody is an owner, or invited as one
	People       string // the form that invites a person
	May, MayView bool
	Name         pages.Field
	Number, Per  pages.Field // the fields of an own limit
	Reason       pages.Field // why staff view the portal
	ViewMinutes  int
	At           string // the address of the page
}

func (p *Console) showBusiness(c *call) error {
	n := c.Told()
	if n != nil && slices.Contains([]string{"owner-failed", "owner-mails", "owner-disabled"}, c.Query("done")) {
		n.Tone = "warn"
	}
	return p.businessPage(c, http.StatusOK, n)
}

func (p *Console) businessPage(c *call, status int, n *pages.Notice) error {
	b, err := p.Tenants.Business(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	v := businessView{
		Notice: n, Business: b, Most: domain.MaxFootprint, May: c.May(domain.ActManageBusinesses),
		MayView: c.May(domain.ActViewAsCustomer) && !b.Disabled,
		At:      c.At("/businesses/" + string(b.ID)), People: c.At("/people/new"),
		Name: c.Field(pages.Field{Name: "name", Label: "Name", Value: b.Name, Required: true, MaxLength: domain.NameRule.Most}),
		Reason: c.Field(pages.Field{Name: "reason", Label: "Reason", Required: true, MinLength: domain.ViewReasonRule.Least,
			MaxLength: domain.ViewReasonRule.Most, Hint: "10 to 500 characters. The customer sees it in its audit log."}),
		ViewMinutes: int(domain.ViewLifetime.Minutes()),
		Number: pages.Field{Name: "limit", Label: "Requests",
			Hint: "The most requests of all its keys together. Leave both fields empty to use the default."},
		Per:   pages.Field{Name: "window_seconds", Label: "Per number of seconds", Hint: "1 to 3,600"},
		Limit: rateText(p.options.PerBusiness) + " (the default)",
	}
	if b.RateLimit != nil {
		v.Limit = rateText(*b.RateLimit) + " (set for this customer)"
		v.Number.Value, v.Per.Value = strconv.Itoa(b.RateLimit.Limit), strconv.Itoa(int(b.RateLimit.Window.Seconds()))
	}
	v.Number, v.Per = c.Field(v.Number), c.Field(v.Per)
	if v.Has, err = p.Tenants.Footprint(c.Ctx(), b.ID, ""); err != nil {
		return err
	}
	members, err := p.Directory.Members(c.Ctx(), b.ID)
	if err != nil {
		return err
	}
	v.NoOwner = !slices.ContainsFunc(members, func(m domain.Member) bool { return m.Membership.Role == domain.RoleOwner })
	return p.Show(c, status, "business", b.Name, v)
}

func rateText(l domain.RateLimit) string {
	window, unit := int64(l.Window.Seconds()), "second"
	if window%60 == 0 {
		window, unit = window/60, "minute"
	}
	if window > 1 {
		unit += "s"
	}
	return pages.Count(int64(l.Limit)) + " requests per " + pages.Count(window) + " " + unit
}

// toBusiness opens the page of the customer with a notice.
func (p *Console) toBusiness(c *call, done string) error {
	return c.Lead("/businesses/" + string(c.Business()) + "?done=" + done)
}

func (p *Console) renameBusiness(c *call) error {
	_, err := p.Tenants.ChangeBusiness(c.Ctx(), c.Actor(), c.Business(), access.BusinessChange{Name: new(c.Form.Get("name"))})
	if c.Wrong(err) {
		return p.businessPage(c, http.StatusUnprocessableEntity, nil)
	}
	if err != nil {
		return err
	}
	return p.toBusiness(c, "business-renamed")
}

// maxWindow limits the window of a rate limit, in seconds.
const maxWindow = 3600

func (p *Console) limitBusiness(c *call) error {
	number, per := strings.TrimSpace(c.Form.Get("limit")), strings.TrimSpace(c.Form.Get("window_seconds"))
	change := access.BusinessChange{DefaultLimit: number == "" && per == ""}
	if !change.DefaultLimit {
		faults := map[string]string{}
		limit := whole(number, domain.MaxRateLimit, "limit", faults)
		seconds := whole(per, maxWindow, "window_seconds", faults)
		if len(faults) > 0 {
			c.Faults = faults
			return p.businessPage(c, http.StatusUnprocessableEntity, nil)
		}
		change.RateLimit = &domain.RateLimit{Limit: limit, Window: time.Duration(seconds) * time.Second}
	}
	if _, err := p.Tenants.ChangeBusiness(c.Ctx(), c.Actor(), c.Business(), change); err != nil {
		return err
	}
	return p.toBusiness(c, "business-limited")
}

// whole parses a number from 1 to most, or notes an error at its field.
func whole(text string, most int, field string, faults map[string]string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		faults[field] = "Enter a whole number from 1 to " + pages.Count(int64(most)) + "."
	}
	return n
}

// changeTracking shows or hides the cash to have ready on the customer's tracking pages.
func (p *Console) changeTracking(c *call) error {
	shows := c.Form.Get("cash") == "show"
	if _, err := p.Tenants.ChangeBusiness(c.Ctx(), c.Actor(), c.Business(), access.BusinessChange{TrackingCash: &shows}); err != nil {
		return err
	}
	if shows {
		return p.toBusiness(c, "business-cash-shown")
	}
	return p.toBusiness(c, "business-cash-hidden")
}

func (p *Console) askDisableBusiness(c *call) error {
	b, err := p.Tenants.Business(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	has, err := p.Tenants.Footprint(c.Ctx(), b.ID, "")
	if err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "business_disable", "Disable "+b.Name, businessView{Notice: c.Told(), Business: b, Has: has,
		Most: domain.MaxFootprint, At: c.At("/businesses/" + string(b.ID))})
}

func (p *Console) disableBusiness(c *call) error {
	if _, err := p.Tenants.SetBusinessDisabled(c.Ctx(), c.Actor(), c.Business(), true); err != nil {
		return err
	}
	return p.toBusiness(c, "business-disabled")
}

func (p *Console) enableBusiness(c *call) error {
	if _, err := p.Tenants.SetBusinessDisabled(c.Ctx(), c.Actor(), c.Business(), false); err != nil {
		return err
	}
	return p.toBusiness(c, "business-enabled")
}

type viewLink struct {
	Name, Reason, Href string
	Seconds            int
}

// viewAsCustomer shows a link to the portal, because a form cannot lead to another origin.
func (p *Console) viewAsCustomer(c *call) error {
	v, err := p.Access.ViewAs(c.Ctx(), c.Principal, c.Business(), c.Form.Get("reason"))
	if c.Wrong(err) {
		return p.businessPage(c, http.StatusUnprocessableEntity, nil)
	}
	if err != nil {
		return err
	}
	b, err := p.Tenants.Business(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "business_view", "View "+b.Name+" as its customer", viewLink{
		Name: b.Name, Reason: v.Reason, Href: p.options.PortalBaseURL + "/view/" + v.Secret, Seconds: int(domain.ViewLinkLifetime.Seconds()),
	})
}

package portal

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"waybill/adapters/pages"
	"waybill/domain"
)

// mountedHeads lists the customer pages that staff see too, by first path segment. Of webhooks,
// staff only see the status: a secret belongs to the customer alone.
var mountedHeads = []string{"apps", "people", "pickup-locations", "webhooks", "usage", "audit"}

var mountedWebhooks = []string{"/webhooks", "/webhooks/:endpoint", "/webhooks/:endpoint/sent/:sent"}

// ofCustomer holds the texts of the people pages for staff.
var ofCustomer = func() pages.People {
	texts := members
	texts.Lead, texts.Others = "People who can sign in to the portal for this customer, and their roles.",
		"Admins invite people and change roles."
	texts.Losing = "access to this customer's portal at once. Keys that the person created still work."
	return texts
}()

// Mounted returns the portal pages that the console shows to staff: the pages in mountedHeads, for
// the business in the path.
func (p *Portal) Mounted(at string) *pages.Mount {
	staff := *p // with the console as its site
	m := &pages.Mount{
		Path: at, Heads: mountedHeads, Pages: files, Records: records, Done: done, Act: staffAct, People: ofCustomer, BaseURL: p.options.BaseURL,
		Bind: func(s *pages.Site) { staff.Site = s }, Owns: staff.owns, Over: staff.over,
	}
	for _, r := range staff.routes() {
		head, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/")
		if !slices.Contains(mountedHeads, strings.TrimSuffix(head, ".csv")) || head == "webhooks" && (r.Method != http.MethodGet ||
			!slices.Contains(mountedWebhooks, r.Path)) {
			continue
		}
		m.Routes = append(m.Routes, r)
	}
	return m
}

// notByStaff is an act that no role of the console has.
const notByStaff domain.Act = ""

// staffAct maps an act of the portal to an act of the console. Acts of the console stay unchanged.
func staffAct(a domain.Act) domain.Act {
	switch a {
	case domain.ActRead:
		return domain.ActReadEverything
	case domain.ActReadAudit:
		return domain.ActReadEveryAudit
	case domain.ActManageApplications, domain.ActManageSandboxKeys, domain.ActManageLiveKeys, domain.ActManagePeople,
		domain.ActManageSandboxLocations, domain.ActManageLiveLocations:
		return domain.ActManageBusinesses
	}
	if domain.May(domain.Console, domain.RoleAdmin, a) {
		return a
	}
	return notByStaff
}

// ownPages reports whether the reader uses the portal, not the console.
func ownPages(c *call) bool { return c.Principal.Session.BusinessID != "" }

// namesRecipients reports whether the reader may see names and phone numbers of recipients. All
// people of a customer may, and staff who move deliveries or support customers.
func namesRecipients(c *call) bool {
	return ownPages(c) || c.May(domain.ActMoveDeliveries) || c.May(domain.ActViewAsCustomer)
}

// owns returns domain.ErrNotFound if the business does not exist, or if the path names an
// application, key or person of another business. Staff may act on all businesses, but each only on
// its own pages.
func (p *Portal) owns(c *call) error {
	if _, err := p.Tenants.Business(c.Ctx(), c.Business()); err != nil {
		return err
	}
	app, key := domain.ID(c.Param("app")), domain.ID(c.Param("key"))
	if app != "" {
		if _, err := p.Tenants.ApplicationOf(c.Ctx(), c.Business(), app); err != nil {
			return err
		}
	}
	if key != "" {
		e, err := environment(c)
		if err != nil {
			return err
		}
		if _, err := p.Tenants.KeyOf(c.Ctx(), c.Business(), app, e, key); err != nil {
			return err
		}
	}
	person := domain.ID(c.Param("person"))
	if person == "" {
		return nil
	}
	members, err := p.Directory.Members(c.Ctx(), c.Business())
	if err == nil && !slices.ContainsFunc(members, func(m domain.Member) bool { return m.Reference() == person }) {
		err = domain.ErrNotFound
	}
	return err
}

// over returns the heading above the pages of a business.
func (p *Portal) over(ctx context.Context, id domain.ID) (pages.Over, error) {
	b, err := p.Tenants.Business(ctx, id)
	return Over(b), err
}

// Over returns the console's heading above the pages of a business.
func Over(b domain.Business) pages.Over {
	home := "/businesses/" + string(b.ID)
	v := pages.Over{Title: b.Name, Href: home, Tabs: pages.Tabs{Label: "Customer", Tabs: []pages.Link{
		{Href: home, Text: "Overview"}, {Href: "/apps", Text: "Applications"}, {Href: "/people", Text: "People"},
		{Href: pickupsAt, Text: "Pickup locations"}, {Href: "/webhooks", Text: "Webhooks"}, {Href: "/usage", Text: "Usage"},
		{Href: "/audit", Text: "Audit log"},
	}}}
	if b.Disabled {
		v.Tag = "disabled"
	}
	return v
}

package portal

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"waybill/adapters/pages"
	"waybill/domain"
)

// mountedHeads are the pages of a business that staff see too, by the first part of their
// paths. Of webhooks they see how they are, and no more: a secret is the customer's alone.
var mountedHeads = []string{"apps", "people", "pickup-locations", "webhooks", "usage", "audit"}

var mountedWebhooks = []string{"/webhooks", "/webhooks/:endpoint", "/webhooks/:endpoint/sent/:sent"}

// ofCustomer are the pages about people as staff read them.
var ofCustomer = func() pages.People {
	texts := members
	texts.Lead, texts.Others = "Who may sign in to the portal for this customer, and what they may do there.",
		"Admins invite people and change roles."
	texts.Losing = "access to this customer's portal at once. Keys that were made stay, and work on."
	return texts
}()

// Mounted are pages of the portal as the console shows them to staff: those that
// mountedHeads names, of the business in the path.
func (p *Portal) Mounted(at string) *pages.Mount {
	staff := *p // with the console in the place of the portal
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

// staffAct is the act of the console that a page of the portal takes there; those of the
// console are themselves.
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

// ownPages reports whether the reader is in the portal, and not a person of the staff.
func ownPages(c *call) bool { return c.Principal.Session.BusinessID != "" }

// namesRecipients reports whether the reader may know names and phone numbers of recipients:
// all people of a customer may, and of the staff those who move deliveries or support.
func namesRecipients(c *call) bool {
	return ownPages(c) || c.May(domain.ActMoveDeliveries) || c.May(domain.ActViewAsCustomer)
}

// owns answers domain.ErrNotFound where there is no such business, or where the path names
// an application, a key or a person of another one: staff may act on all of them, each on its
// own pages.
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

// over is what stands above the pages of a business.
func (p *Portal) over(ctx context.Context, id domain.ID) (pages.Over, error) {
	b, err := p.Tenants.Business(ctx, id)
	return Over(b), err
}

// Over is what stands above the pages of a business at the console.
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

package portal

import (
	"waybill/adapters/pages"
	"waybill/domain"
)

// call is a request with its person and form.
type call = pages.Call

// done maps values of the parameter done to texts.
var done = map[string]string{
	"app-created":  "The application was created. Next, create a key.",
	"app-renamed":  "The application was renamed. Its keys stay the same.",
	"app-disabled": "The application was disabled. Its keys no longer work.",
	"app-enabled":  "The application was enabled. Its keys work again.",
	"key-revoked":  "The key was revoked. It stops working everywhere within two seconds.",

	"delivery-cancelled": "The delivery was cancelled.",
	"inbox-opened":       "The inbox is open. It shows the sandbox webhooks of this application.",
	"booked":             "The sample was booked. Its webhooks are in the inbox.",
	"delivery-moved":     "The delivery was moved. Its webhooks are in the inbox.",
	"simulated":          "The simulation is running.",
	"pickup-created":     "The pickup location was created.",
	"pickup-saved":       "The pickup location was saved.",
	"pickup-archived":    "The pickup location was archived. New orders cannot use it.",
	"pickups-imported":   "The table was imported.",
	"pickup-restored":    "The pickup location is in use again.",
	"simulation-stopped": "The simulation was stopped. The delivery keeps its status.",
	"webhook-paused":     "The endpoint was paused. Its events are held.",
	"webhook-resumed":    "The endpoint was resumed. To send the held events, recover a period.",
	"webhook-saved":      "The endpoint was saved. The change applies within seconds.",
	"webhook-deleted":    "The endpoint and its pending webhooks were deleted.",
	"webhook-tested":     "The test event was sent.",
	"webhooks-recovered": "The webhooks are being sent again.",
	"webhook-resent":     "The webhook was sent again.",
}

// frame returns the business name, menu, switch and search box of every page.
func (p *Portal) frame(c *call) (pages.Page, error) {
	business, err := p.Tenants.Business(c.Ctx(), c.Business())
	if err != nil {
		return pages.Page{}, err
	}
	choice, err := p.shownSwitch(c)
	return pages.Page{Place: business.Name, Menu: p.menu(c), Find: searchBox(c), Switch: choice}, err
}

// menu returns the menu of every page.
func (p *Portal) menu(c *call) []pages.MenuGroup {
	team := []pages.Link{{Href: "/people", Text: "People", Icon: "people"}}
	if c.May(domain.ActReadAudit) {
		team = append(team, pages.Link{Href: "/audit", Text: "Audit log", Icon: "audit"})
	}
	if c.Principal.View == nil {
		team = append(team, pages.Link{Href: "/account", Text: "Account", Icon: "account"})
	}
	menu := []pages.MenuGroup{
		{Links: []pages.Link{{Href: "/", Text: "Home", Icon: "home"}}},
		{Name: "Run", Links: []pages.Link{
			{Href: "/deliveries", Text: "Deliveries", Icon: "deliveries"},
			{Href: pickupsAt, Text: "Pickup locations", Icon: "pickups"},
		}},
		{Name: "Build", Links: []pages.Link{
			{Href: "/apps", Text: "Applications", Icon: "apps"},
			{Href: "/webhooks", Text: "Webhooks", Icon: "webhooks"},
			{Href: "/sandbox", Text: "Sandbox", Icon: "sandbox"},
		}},
		{Name: "Monitor", Links: []pages.Link{
			{Href: "/requests", Text: "Requests", Icon: "requests"},
			{Href: "/errors", Text: "Errors", Icon: "errors"},
			{Href: "/usage", Text: "Usage", Icon: "usage"},
		}},
		{Name: "Team", Links: team},
	}
	if p.options.DocsURL != "" {
		menu[2].Links = append(menu[2].Links, pages.Link{Href: p.options.DocsURL, Text: "Documentation", Icon: "docs"})
	}
	return menu
}

// businesses returns a person's businesses, or nothing if there is only one.
func (p *Portal) businesses(c *call) (all []pages.Business, err error) {
	memberships, err := p.Access.Businesses(c.Ctx(), c.Principal)
	if err != nil || len(memberships) < 2 {
		return nil, err
	}
	for _, m := range memberships {
		b, err := p.Tenants.Business(c.Ctx(), m.BusinessID)
		if err != nil {
			return nil, err
		}
		all = append(all, pages.Business{ID: string(b.ID), Name: b.Name, Role: string(m.Role), Here: b.ID == c.Business()})
	}
	return all, nil
}

// askBusiness shows the account page, which has the form.
func (p *Portal) askBusiness(c *call) error { return p.ShowAccount(c) }

func (p *Portal) showBusiness(c *call) error {
	if err := p.Access.Show(c.Ctx(), c.Principal, domain.ID(c.Form.Get("business"))); err != nil {
		return err
	}
	return c.Lead("/")
}

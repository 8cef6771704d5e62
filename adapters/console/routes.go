package console

import (
	"net/http"

	"waybill/adapters/pages"
	"waybill/adapters/site"
	"waybill/domain"
)

// menu is what stands beside every page.
var menu = []entry{
	{pages.Link{Href: "/", Text: "Home", Icon: "home"}, domain.ActReadEverything, ""},
	{pages.Link{Href: "/staff", Text: "Staff", Icon: "people"}, domain.ActReadEverything, "Who works here, and what they may do."},
	{pages.Link{Href: "/audit", Text: "Audit log", Icon: "audit"}, domain.ActReadEveryAudit, "Who changed what, and when."},
	{pages.Link{Href: "/account", Text: "Account", Icon: "account"}, domain.ActReadEverything, "Your password, passkeys and sessions."},
}

// records are the parameters of paths that are IDs, with what these begin with. What is
// none gets no further than the table: the database never hears of it.
var records = map[string]domain.Prefix{"person": domain.PrefixPerson, "passkey": domain.PrefixPasskey}

// done are the texts for the parameter of the same name.
var done = map[string]string{}

// routes are all pages and forms beside those of package site.
func (p *Console) routes() []site.Route {
	const get = http.MethodGet
	read := site.Always(domain.ActReadEverything)
	return []site.Route{
		{Method: get, Path: "/", Act: read, Handle: p.home},

		{Method: get, Path: "/audit", Act: site.Always(domain.ActReadEveryAudit), Handle: p.listAudit},
		{Method: get, Path: "/audit.csv", Act: site.Always(domain.ActReadEveryAudit), Handle: p.auditCSV},
	}
}

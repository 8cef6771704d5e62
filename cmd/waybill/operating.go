package main

import (
	"log/slog"
	"strings"
	"time"

	"waybill/adapters/brand"
	"waybill/adapters/cli/settings"
	"waybill/adapters/console"
	"waybill/adapters/docsite"
	"waybill/adapters/geo"
	"waybill/adapters/httpapi"
	"waybill/adapters/oidc"
	"waybill/adapters/opsapi"
	"waybill/adapters/pages"
	"waybill/adapters/passkeys"
	"waybill/adapters/portal"
	"waybill/adapters/web/server"
	"waybill/application/access"
	"waybill/application/people"
	"waybill/configs"
	"waybill/domain"
	"waybill/ports"
)

// newFailedOperators returns the limit of an address's requests without a valid operator token.
func newFailedOperators() access.FailedOperators {
	return access.FailedOperators{Limit: 60, Window: time.Minute}
}

// newManagement returns what the operations API of a server needs.
func newManagement(u opsapi.UseCases, keys cursorKeys, urls settings.PublicURLs, m *opsapi.Metrics) *opsapi.Management {
	return &opsapi.Management{UseCases: u, CursorKeys: keys, TrackingBaseURL: urls.Tracking, PortalBaseURL: urls.Portal, Metrics: m}
}

// newPasskeys returns the passkeys of the portal's host.
func newPasskeys(urls settings.PublicURLs) (ports.Passkeys, error) {
	return passkeys.New(urls.Portal)
}

func newPortal(u portal.UseCases, p products, a apis, c *configs.Config, b brand.Brand, urls settings.PublicURLs, clock ports.Clock,
	ids ports.Identifiers, n ports.Normalizer, watch *server.ProxyWatch, d connectionBounds, m *pages.Metrics, log *slog.Logger) *portal.Portal {
	u.Deliveries, u.Listeners, u.Admission = p.sandbox.Deliveries, p.sandbox.Listeners, p.sandbox.Admission
	return portal.New(u, portal.Options{
		BaseURL: urls.Portal, Brand: b, LiveBaseURL: urls.Live, SandboxBaseURL: urls.Sandbox, TrackingBaseURL: urls.Tracking,
		DocsURL:        strings.TrimSuffix(urls.Sandbox, "/v1") + docsite.Prefix,
		TrustedProxies: c.TrustedProxies, Log: log, Clock: clock, Identifiers: ids, Mails: c.MailsAreRead(), Around: around(watch, urls.Portal),
		Metrics: m, Connections: d.portal, Normalizer: n, ReadOrder: a.sandbox.ReadOrder, ForcedErrors: httpapi.ForcedErrors(),
		Operations: operationsOfAPI, PerKey: rateLimit(c.RateLimitPerKey), PerBusiness: rateLimit(c.RateLimitPerBusiness),
		RequestLog: pages.RequestLog{Mode: newRequestLogMode(c), Keeping: settings.RequestLogKeeping(c)},
	})
}

// newConsole returns the site of the staff, which is on the operations listener.
func newConsole(u console.UseCases, o *portal.Portal, c *configs.Config, b brand.Brand, urls settings.PublicURLs, clock ports.Clock, ids ports.Identifiers,
	digest ports.KeyDigester, n ports.Normalizer, m *pages.Metrics, log *slog.Logger) (*console.Console, error) {
	streets, err := newStreets(c)
	if err != nil {
		return nil, err
	}
	party, err := passkeys.New(urls.Console)
	u.Passkeys, u.Company = people.NewPasskeys(u.Access, party, digest), newCompany(u.Access, c, urls, clock, digest)
	return console.New(u, console.Options{BaseURL: urls.Console, Brand: b, TrustedProxies: c.TrustedProxies, Log: log, Clock: clock,
		Mails: c.MailsAreRead(), Identifiers: ids, Customer: o.Mounted(console.BusinessAt), PortalBaseURL: urls.Portal,
		PerBusiness: rateLimit(c.RateLimitPerBusiness), Normalizer: n, API: o.API(), Streets: streets, Metrics: m}), err
}

// newStreets returns the street map of the console, or nil without one.
func newStreets(c *configs.Config) (ports.MapTiles, error) {
	if c.MapFile == "" {
		return nil, nil
	}
	tiles, err := geo.OpenTiles(c.MapFile)
	if err != nil {
		return nil, settings.BadSetting(c, "map_file", err)
	}
	return tiles, nil
}

// newCompany returns the sign-ins at the company's identity provider, if there is one.
func newCompany(a *people.Access, c *configs.Config, urls settings.PublicURLs, clock ports.Clock,
	digest ports.KeyDigester) *people.Company {
	if c.OIDCIssuer == "" {
		return people.NewCompany(a, nil, nil, digest)
	}
	return people.NewCompany(a, newIdentityProvider(c, urls.Console, clock), domain.MakeRoleRules(c.OIDCRoles), digest)
}

// newIdentityProvider returns the client of the company's identity provider for a console at an
// address.
func newIdentityProvider(c *configs.Config, at string, clock ports.Clock) *oidc.Provider {
	return oidc.New(oidc.Config{Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID,
		ClientSecret: c.OIDCClientSecret.Reveal(), GroupsClaim: c.OIDCGroupsClaim, RedirectURL: pages.CompanyBack(at, console.Prefix)}, clock)
}

// operationsOfAPI returns the routes of the public API from its description.
func operationsOfAPI() (all []pages.Operation) {
	for _, o := range httpapi.Operations() {
		all = append(all, pages.Operation(o))
	}
	return all
}

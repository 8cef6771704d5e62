package main

import (
	"log/slog"

	"waybill/adapters/cli/settings"
	"waybill/adapters/docsite"
	"waybill/adapters/httpapi"
	"waybill/adapters/trackingpage"
	"waybill/application/deliveries"
	"waybill/configs"
)

// trackingSites holds the tracking pages on a listener of the API.
type trackingSites []httpapi.Site

func newTrackingPages(t *deliveries.Tracking, w *deliveries.Watches, c *configs.Config, log *slog.Logger,
	m *trackingpage.Metrics) *trackingpage.Pages {
	return trackingpage.New(t, w, trackingpage.Options{TrustedProxies: c.TrustedProxies, Log: log, Metrics: m})
}

// newTrackingSites returns the pages at their own path and at the one of their public address, so
// that a proxy need not change paths.
func newTrackingSites(pages *trackingpage.Pages, urls settings.PublicURLs) trackingSites {
	var sites trackingSites
	for _, path := range trackingpage.Paths(urls.Tracking) {
		sites = append(sites, httpapi.Site{Prefix: path, Handler: pages.At(path)})
	}
	return sites
}

// newDocs returns the documentation, served next to the sandbox API: it needs no key, and its
// reference calls the API of its own origin only.
func newDocs(c *configs.Config, urls settings.PublicURLs) []httpapi.Site {
	limits := newLimits(c)
	site := docsite.New(docsite.Options{
		Description:    func() []byte { return httpapi.Described(httpapi.OpenAPI.JSON(), urls.Live, urls.Sandbox) },
		SandboxBaseURL: urls.Sandbox, LiveBaseURL: urls.Live, PortalURL: settings.PortalFor(c, urls),
		PerKey: limits.PerKey, PerBusiness: limits.PerBusiness, PerAddress: limits.PerAddress,
		Schedules: newSchedules(c), IdempotencyRetention: c.IdempotencyRetention,
	})
	return []httpapi.Site{{Prefix: docsite.Prefix, Handler: site, Home: true}, {Prefix: docsite.IndexPath, Handler: site}}
}

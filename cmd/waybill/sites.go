package main

import (
	"log/slog"
	"os"

	"waybill/adapters/brand"
	"waybill/adapters/cli/settings"
	"waybill/adapters/docsite"
	"waybill/adapters/httpapi"
	"waybill/adapters/opsapi"
	"waybill/adapters/trackingpage"
	"waybill/application/deliveries"
	"waybill/configs"
)

// trackingSites holds the tracking pages on a listener of the API.
type trackingSites []httpapi.Site

// newBrand returns the company's brand, which all pages and emails show.
func newBrand(c *configs.Config) (brand.Brand, error) {
	o := brand.Options{Name: c.BrandName, SupportURL: c.SupportURL, SupportEmail: c.SupportEmail, Accent: c.BrandAccent}
	if c.BrandLogoFile != "" {
		logo, err := os.ReadFile(c.BrandLogoFile) // the settings checked it
		if err != nil {
			return brand.Brand{}, settings.BadSetting(c, "brand_logo_file", err)
		}
		o.Logo, o.PNG = logo, configs.IsPNG(logo)
	}
	return brand.New(o), nil
}

func newTrackingPages(t *deliveries.Tracking, w *deliveries.Watches, c *configs.Config, b brand.Brand, log *slog.Logger,
	m *trackingpage.Metrics) *trackingpage.Pages {
	return trackingpage.New(t, w, trackingpage.Options{Brand: b, TrustedProxies: c.TrustedProxies, Log: log, Metrics: m})
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
func newDocs(c *configs.Config, b brand.Brand, urls settings.PublicURLs) []httpapi.Site {
	site := docsite.New(docsOptions(c, b, urls))
	return []httpapi.Site{{Prefix: docsite.Prefix, Handler: site, Home: true}, {Prefix: docsite.IndexPath, Handler: site}}
}

// newOperatorsDocs returns the guides for those who run the service, for the operations listener.
func newOperatorsDocs(c *configs.Config, b brand.Brand, urls settings.PublicURLs) opsapi.Site {
	return opsapi.Site{Prefix: docsite.Prefix, Handler: docsite.NewForOperators(docsOptions(c, b, urls))}
}

func docsOptions(c *configs.Config, b brand.Brand, urls settings.PublicURLs) docsite.Options {
	limits := newLimits(c)
	return docsite.Options{
		Brand:          b,
		Description:    func() []byte { return httpapi.Described(httpapi.OpenAPI.JSON(), urls.Live, urls.Sandbox) },
		SandboxBaseURL: urls.Sandbox, LiveBaseURL: urls.Live, TrackingBaseURL: urls.Tracking, PortalURL: settings.PortalFor(c, urls),
		PerKey: limits.PerKey, PerBusiness: limits.PerBusiness, PerAddress: limits.PerAddress,
		Schedules: newSchedules(c), IdempotencyRetention: c.IdempotencyRetention,
	}
}

package main

import (
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"waybill/adapters/cli/settings"
	"waybill/adapters/httpapi"
	"waybill/adapters/trackingpage"
	"waybill/application/tracking"
	"waybill/configs"
)

// trackingPath is where tracking pages are whatever their public address is.
const trackingPath = "/track"

// trackingSites are the tracking pages on a listener of the API.
type trackingSites []httpapi.Site

func newTrackingPages(t *tracking.Tracking, w *tracking.Watches, c *configs.Config, log *slog.Logger, m *trackingpage.Metrics) *trackingpage.Pages {
	return trackingpage.New(t, w, trackingpage.Options{TrustedProxies: c.TrustedProxies, Log: log, Metrics: m})
}

// newTrackingSites puts the pages at their own path and at the one of their
// public address, so that a proxy need not change paths.
func newTrackingSites(pages *trackingpage.Pages, urls settings.PublicURLs) trackingSites {
	var sites trackingSites
	for _, path := range trackingPaths(urls.Tracking) {
		sites = append(sites, httpapi.Site{Prefix: path, Handler: pages.At(path)})
	}
	return sites
}

// trackingPaths leaves out what would hide another site of the listener: a
// proxy before such an address has to lead to trackingPath. The first one that
// fits is asked.
func trackingPaths(base string) []string {
	u, err := url.Parse(base)
	if err != nil || u.Path == trackingPath {
		return []string{trackingPath} // an error was told with the settings
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if slices.Contains([]string{"", "v1", "docs"}, first) {
		return []string{trackingPath}
	}
	return []string{u.Path, trackingPath}
}

package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"waybill/adapters/web"
)

// Site is a website that shares the listener of the API, such as its documentation. Its
// requests are not API requests: they need no key, count against no rate limit, and are neither
// measured nor logged here.
type Site struct {
	Prefix  string // a path such as /docs: it and everything below it
	Handler http.Handler
	Home    bool // browsers that ask for / are redirected here; programs get a 404 in the JSON envelope
}

// siteTimeout limits how long a site may take to write a response. A site that streams sets
// another deadline with http.ResponseController.
const siteTimeout = 30 * time.Second

// withSites routes requests for a site to it and all others to the API.
func (a *API) withSites(api http.Handler) http.Handler {
	if len(a.Beside) == 0 {
		return api
	}
	home := a.home()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if home != "" && r.URL.Path == "/" && forABrowser(r) {
			w.Header().Set("Location", strings.TrimPrefix(home, "/")) // relative, for clients behind a proxy's path
			w.Header().Set("Vary", "Accept")
			w.WriteHeader(http.StatusFound)
			return
		}
		for _, site := range a.Beside {
			if r.URL.Path == site.Prefix || strings.HasPrefix(r.URL.Path, site.Prefix+"/") {
				a.visit(site, w, r)
				return
			}
		}
		api.ServeHTTP(w, r)
	})
}

// home returns the path of the site that browsers are redirected to, or "" without one.
func (a *API) home() string {
	for _, site := range a.Beside {
		if site.Home {
			return site.Prefix
		}
	}
	return ""
}

// forABrowser reports whether the client is a browser. Browsers accept text/html by name,
// programs accept anything or JSON.
func forABrowser(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/html")
}

func (a *API) visit(site Site, w http.ResponseWriter, r *http.Request) {
	// The site logs the request under this ID.
	web.RequestID{Drawn: string(a.newRequestID())}.SetHeader(w.Header())
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(siteTimeout))
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	go func() {
		select {
		case <-a.closing: // an open stream must not delay the shutdown
			stop()
		case <-ctx.Done():
		}
	}()
	site.Handler.ServeHTTP(w, r.WithContext(ctx))
}

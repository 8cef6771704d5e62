package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"waybill/adapters/web"
)

// Site is something for people that shares the listener of the API, such as its
// documentation. Requests for it are not calls of the API: they need no key,
// count against no limit, and are neither measured nor logged here.
type Site struct {
	Prefix  string // such as /docs: that path and all below it
	Handler http.Handler
	Home    bool // where a browser is led that asks for /; programs get the envelope of a 404
}

// siteTimeout is how long a site may take to write its answer; one that streams
// sets another deadline with http.ResponseController.
const siteTimeout = 30 * time.Second

// beside gives requests for a site to it and all others to the API.
func (a *API) beside(api http.Handler) http.Handler {
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

// home is the path of the site that browsers are led to; empty: there is none.
func (a *API) home() string {
	for _, site := range a.Beside {
		if site.Home {
			return site.Prefix
		}
	}
	return ""
}

// forABrowser reports whether the client is a browser: browsers accept text/html
// by name, and programs accept anything or JSON.
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
		case <-a.closing: // an open stream must not hold the process up
			stop()
		case <-ctx.Done():
		}
	}()
	site.Handler.ServeHTTP(w, r.WithContext(ctx))
}

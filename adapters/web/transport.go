package web

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// strictTransport lasts a year. We cannot promise it for subdomains or for the list built into
// browsers.
const strictTransport = "max-age=31536000"

// StrictTransport tells browsers to use https only, at a listener with the given public
// addresses. It sets the header in responses for a host of theirs that is called by https. When
// a proxy has replaced the host, all of the addresses must be https.
func StrictTransport(next http.Handler, addresses ...string) http.Handler {
	secure := map[string]bool{} // by host
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil {
			host := strings.ToLower(u.Hostname())
			already, known := secure[host]
			secure[host] = u.Scheme == "https" && (already || !known)
		}
	}
	var hosts []bool
	for _, https := range secure {
		hosts = append(hosts, https)
	}
	all := len(hosts) > 0 && !slices.Contains(hosts, false)
	if !slices.Contains(hosts, true) {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		https, known := secure[strings.ToLower(strings.Trim(host, "[]"))]
		if https || !known && all {
			w.Header().Set("Strict-Transport-Security", strictTransport)
		}
		next.ServeHTTP(w, r)
	})
}

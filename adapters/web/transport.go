package web

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// strictTransport is for a year. Neither subdomains nor the list that browsers are built with
// are ours to promise.
const strictTransport = "max-age=31536000"

// StrictTransport tells browsers to come by https alone, at a listener whose public addresses
// are given: in answers for a host of theirs that is called by https. Where a proxy has put
// another host in its place, all of them have to be https.
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

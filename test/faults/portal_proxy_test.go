package faults

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

func mustParse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A proxy speaks https to browsers and http to the portal, and names itself to it, as
// proxies do by default.
func TestBehindAProxyWithHTTPSCookiesAreForThisHostAlone(t *testing.T) {
	t.Parallel()
	var to *url.URL
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to) // and with it the Host
		r.SetXForwarded()
	}})
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	base := strings.Replace(proxy.URL, "https://", "HTTPS://", 1) // schemes know no case
	s := serve(t, freshDatabase(t, SQLite), 1, "WAYBILL_PORTAL_BASE_URL="+base, "WAYBILL_TRUSTED_PROXIES=127.0.0.1/32")
	t.Cleanup(s.close)
	to = mustParse(t, s.portal(0))
	ama := newVisitor(t, proxy.URL)
	authorities := proxy.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	ama.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}
	t.Cleanup(ama.client.CloseIdleConnections)
	s.invites(t, ama, "ama@stormy.example", "owner")
	const name = "__Host-waybill_portal"
	anonymous := newVisitor(t, proxy.URL)
	anonymous.client.Transport = ama.client.Transport
	anonymous.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	in := anonymous.post("/signin", "email", "ama@stormy.example", "password", sesame)
	set := in.header.Values("Set-Cookie")
	if len(set) == 0 || !strings.HasPrefix(set[0], name+"=") {
		t.Fatalf("%d, Set-Cookie: %q", in.status, set)
	}
	for _, cookie := range set { // that of the device too
		for _, want := range []string{"__Host-", "; Secure", "; HttpOnly", "; SameSite=Lax", "; Path=/;"} {
			if !strings.Contains(cookie, want) {
				t.Errorf("Set-Cookie %q lacks %q", cookie, want)
			}
		}
		if strings.Contains(cookie, "Domain") {
			t.Errorf("Set-Cookie: %s", cookie)
		}
	}
	// A cookie that a neighbour's host or a page without https could set is none.
	cookie, _, _ := strings.Cut(strings.TrimPrefix(set[0], name+"="), ";")
	plain := newVisitor(t, proxy.URL)
	plain.client.Transport = ama.client.Transport
	if p := plain.send(http.MethodGet, "/people", nil, "Cookie", "waybill_portal="+cookie); p.path != "/signin" {
		t.Errorf("a cookie without the prefix is let in: %d at %s", p.status, p.path)
	}
	// Links lead to the public address whatever Host a request names.
	made := ama.send(http.MethodPost, "/people", url.Values{"email": {"efua@stormy.example"}, "name": {"Efua"}, "role": {"viewer"}},
		"X-Forwarded-Host", "evil.example")
	if made.is(t, http.StatusOK, "Efua is invited"); !strings.HasPrefix(strings.ToLower(made.secret()), strings.ToLower(base)+"/enter/") {
		t.Errorf("the link is %s", made.secret())
	}
	// A browser too old for Sec-Fetch-Site tells its origin: ours is let in, others not.
	for origin, want := range map[string]int{proxy.URL: http.StatusOK, "https://evil.example": http.StatusForbidden,
		"null": http.StatusForbidden} {
		if p := ama.send(http.MethodPost, "/apps", url.Values{"name": {"Shop"}}, "Origin", origin); p.status != want {
			t.Errorf("a form of %s is answered %d, want %d", origin, p.status, want)
		}
	}
}

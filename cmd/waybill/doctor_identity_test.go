package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"waybill/adapters/cli/doctor"
)

func TestTheDoctorShowsTheClientToTheIdentityProviderAndSignsNobodyIn(t *testing.T) {
	t.Parallel()
	var provider *httptest.Server
	provider = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/token" {
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%[1]q,"token_endpoint":"%[1]s/token","jwks_uri":%[1]q}`, provider.URL)
			return
		}
		_, secret, _ := r.BasicAuth()
		if secret != "hunter22" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"error":"invalid_client"}`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"error":"invalid_grant"}`)
	}))
	t.Cleanup(provider.Close)
	set := func(issuer, secret string) []string {
		return []string{"WAYBILL_OIDC_ISSUER=" + issuer, "WAYBILL_OIDC_CLIENT_ID=waybill", "WAYBILL_OIDC_CLIENT_SECRET=" + secret,
			"WAYBILL_OIDC_ROLES=group:ops=admin"}
	}
	const check = "identity provider"
	dir := filepath.Join(t.TempDir(), "new")
	found(t, examined(t, dir, set(provider.URL, "hunter22")...), doctor.VerdictOK, check, provider.URL, "accepts the client waybill")
	found(t, examined(t, dir, set(provider.URL, "expired-in-june")...), doctor.VerdictFail, check, "refuses the client waybill",
		"WAYBILL_OIDC_CLIENT_SECRET")
	found(t, examined(t, dir, set(provider.URL+"/", "hunter22")...), doctor.VerdictFail, check, "issuer", "WAYBILL_OIDC_ISSUER")
}

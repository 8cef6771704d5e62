package oidc_test

import (
	"cmp"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/oidc"
	"waybill/domain"
	"waybill/ports"
)

// liar is a provider whose every response a test may change.
type liar struct {
	*httptest.Server
	key       *rsa.PrivateKey
	describe  func(map[string]any)
	claims    func(map[string]any)
	sign      func(header, payload string) (token string) // nil: as it should be
	token     http.HandlerFunc                            // nil: as it should be
	userInfo  map[string]any
	discovery http.HandlerFunc // nil: as it should be
	asked     int              // for userinfo

	groupsClaim string // empty: groups
}

// keys holds the key of all providers, and one that belongs to none: generating one takes a
// while.
var keys = sync.OnceValue(func() (pair [2]*rsa.PrivateKey) {
	for i := range pair {
		var err error
		if pair[i], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			panic(err)
		}
	}
	return pair
})

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func newLiar(t *testing.T) *liar {
	t.Helper()
	key := keys()[0]
	l := &liar{key: key}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, body any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		if l.discovery != nil {
			l.discovery(w, r)
			return
		}
		body := map[string]any{"issuer": l.URL, "authorization_endpoint": l.URL + "/auth", "token_endpoint": l.URL + "/token",
			"jwks_uri": l.URL + "/keys", "userinfo_endpoint": l.URL + "/userinfo", "scopes_supported": []string{"openid"}}
		if l.describe != nil {
			l.describe(body)
		}
		answer(w, body)
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256",
			"n": b64(key.N.Bytes()), "e": b64(big.NewInt(int64(key.E)).Bytes())}}})
	})
	mux.HandleFunc("/userinfo", func(w http.ResponseWriter, _ *http.Request) { l.asked++; answer(w, l.userInfo) })
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if l.token != nil {
			l.token(w, r)
			return
		}
		answer(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": l.idToken(t)})
	})
	l.Server = httptest.NewServer(mux)
	t.Cleanup(l.Close)
	return l
}

func (l *liar) idToken(t *testing.T) string {
	claims := map[string]any{"iss": l.URL, "sub": "s1", "aud": "waybill", "exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(),
		"nonce": "nonce-1", "email": "ama@example.com", "email_verified": true, "name": "Ama", "groups": []string{"dispatch"}}
	if l.claims != nil {
		l.claims(claims)
	}
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Error(err)
	}
	if l.sign != nil {
		return l.sign(`{"alg":"RS256","kid":"1"}`, b64(payload))
	}
	return l.signed(l.key, `{"alg":"RS256","kid":"1"}`, b64(payload))
}

func (l *liar) signed(key *rsa.PrivateKey, header, payload string) string {
	text := b64([]byte(header)) + "." + payload
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return text + "." + b64(signature)
}

func (l *liar) client() *oidc.Provider {
	return oidc.New(oidc.Config{Issuer: l.URL, ClientID: "waybill", ClientSecret: "s", RedirectURL: redirect,
		GroupsClaim: cmp.Or(l.groupsClaim, "groups")}, wallClock{})
}

func (l *liar) finish(t *testing.T) (domain.Identity, error) {
	t.Helper()
	return l.client().Finish(t.Context(), request("1"), "code")
}

func TestATokenThatIsNotOursIsNotBelieved(t *testing.T) {
	t.Parallel()
	another := keys()[1]
	claim := func(name string, value any) func(*liar) {
		return func(l *liar) { l.claims = func(c map[string]any) { c[name] = value } }
	}
	sign := func(how func(l *liar, header, payload string) string) func(*liar) {
		return func(l *liar) { l.sign = func(header, payload string) string { return how(l, header, payload) } }
	}
	for name, lie := range map[string]func(*liar){
		"another issuer":   claim("iss", "https://id.example.com"),
		"another audience": claim("aud", "another"),
		"no audience":      claim("aud", nil),
		"another party": func(l *liar) {
			l.claims = func(c map[string]any) { c["aud"], c["azp"] = []string{"waybill", "x"}, "x" }
		},
		"two audiences, none":   claim("aud", []string{"waybill", "x"}),
		"expired":               claim("exp", time.Now().Add(-2*time.Minute).Unix()),
		"no expiry":             claim("exp", nil),
		"for later":             claim("nbf", time.Now().Add(10*time.Minute).Unix()),
		"another nonce":         claim("nonce", "nonce-2"),
		"no nonce":              claim("nonce", nil),
		"a time that is none":   claim("auth_time", "yesterday"),
		"signed by another key": sign(func(l *liar, h, p string) string { return l.signed(another, h, p) }),
		"not signed":            sign(func(_ *liar, _, p string) string { return b64([]byte(`{"alg":"none"}`)) + "." + p + "." }),
		"signed by the client's secret": sign(func(_ *liar, _, p string) string {
			text := b64([]byte(`{"alg":"HS256","kid":"1"}`)) + "." + p
			mac := hmac.New(sha256.New, []byte("s"))
			mac.Write([]byte(text))
			return text + "." + b64(mac.Sum(nil))
		}),
		"changed after it was signed": sign(func(l *liar, h, p string) string {
			parts := strings.Split(l.signed(l.key, h, p), ".")
			return parts[0] + "." + b64([]byte(`{"sub":"s2"}`)) + "." + parts[2]
		}),
		"garbage":            sign(func(*liar, string, string) string { return "a.b.c" }),
		"a code of nobody's": func(l *liar) { l.token = refuse(http.StatusBadRequest, `{"error":"invalid_grant"}`) },
		"userinfo of another": func(l *liar) {
			l.claims = func(c map[string]any) { c["email"] = nil }
			l.userInfo = map[string]any{"sub": "s2", "email": "kofi@example.com"}
		},
	} {
		l := newLiar(t)
		lie(l)
		if i, err := l.finish(t); !errors.Is(err, ports.ErrIdentityUnproven) {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}
}

func refuse(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

func TestAProviderThatRefusesTheClientIsToldFromOneThatIsGone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"expired":                refuse(401, `{"error":"invalid_client","error_description":"AADSTS7000222: the client secret has expired"}`),
		"with 400, as some have": refuse(400, `{"error":"invalid_client"}`),
		"not for this flow":      refuse(400, `{"error":"unauthorized_client"}`),
		"without a word":         refuse(401, ``),
	} {
		l := newLiar(t)
		l.token = answer
		if i, err := l.finish(t); !errors.Is(err, ports.ErrIdentityClientRefused) || errors.Is(err, ports.ErrIdentityUnavailable) {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
		if err := l.client().Check(t.Context()); !errors.Is(err, ports.ErrIdentityClientRefused) {
			t.Errorf("%s, checked: %v", name, err)
		}
	}
	l := newLiar(t)
	l.token = func(w http.ResponseWriter, r *http.Request) { // takes the secret from the header alone
		if _, _, ok := r.BasicAuth(); !ok {
			refuse(401, `{"error":"invalid_client"}`)(w, r)
			return
		}
		refuse(400, `{"error":"invalid_grant"}`)(w, r)
	}
	if i, err := l.finish(t); !errors.Is(err, ports.ErrIdentityUnproven) {
		t.Errorf("a code of nobody's: %+v, %v", i, err)
	}
	if err := l.client().Check(t.Context()); err != nil {
		t.Errorf("a client that is known: %v", err)
	}
	l.describe = func(d map[string]any) { d["issuer"] = "https://id.example.com" }
	if err := l.client().Check(t.Context()); !errors.Is(err, ports.ErrIdentityUnavailable) || !strings.Contains(err.Error(), "issuer") {
		t.Errorf("another issuer: %v", err)
	}
}

func TestGroupsMayBeInsideAnotherClaim(t *testing.T) {
	t.Parallel()
	roles := map[string]any{"roles": []string{"ops"}}
	for name, c := range map[string]struct {
		claim  string
		claims map[string]any
		want   []string
	}{
		"a path":                   {"realm_access.roles", map[string]any{"realm_access": roles}, []string{"ops"}},
		"a claim of that name":     {"realm_access.roles", map[string]any{"realm_access": roles, "realm_access.roles": []string{"flat"}}, []string{"flat"}},
		"a client with dots":       {"resource_access.waybill.example.roles", map[string]any{"resource_access": map[string]any{"waybill.example": roles}}, []string{"ops"}},
		"a name that is a URL":     {"https://example.com/groups", map[string]any{"https://example.com/groups": []string{"ops"}}, []string{"ops"}},
		"a path to nothing":        {"realm_access.groups", map[string]any{"realm_access": roles}, nil},
		"a path through no object": {"realm_access.roles", map[string]any{"realm_access": "roles"}, nil},
	} {
		l := newLiar(t)
		l.groupsClaim = c.claim
		l.claims = func(said map[string]any) { delete(said, "groups"); maps.Copy(said, c.claims) }
		l.userInfo = map[string]any{"sub": "s1"}
		if i, err := l.finish(t); err != nil || !slices.Equal(i.Groups, c.want) {
			t.Errorf("%s: %q, %v, want %q", name, i.Groups, err, c.want)
		}
	}
}

func TestAProviderThatAnswersGarbageIsNotAvailable(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]func(*liar){
		"500":            func(l *liar) { l.discovery = refuse(500, "oops") },
		"a web page":     func(l *liar) { l.discovery = refuse(200, "<html>") },
		"nothing":        func(l *liar) { l.discovery = refuse(200, "") },
		"another issuer": func(l *liar) { l.describe = func(d map[string]any) { d["issuer"] = "https://id.example.com" } },
		"no endpoints":   func(l *liar) { l.describe = func(d map[string]any) { d["token_endpoint"] = nil } },
		"an address that is none": func(l *liar) {
			l.describe = func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" }
		},
		"no end": func(l *liar) {
			l.discovery = func(w http.ResponseWriter, _ *http.Request) {
				for chunk := strings.Repeat(" ", 1<<16); ; {
					if _, err := w.Write([]byte(chunk)); err != nil {
						return
					}
				}
			}
		},
		"500 for a code":    func(l *liar) { l.token = refuse(500, "oops") },
		"no token":          func(l *liar) { l.token = refuse(200, `{"access_token":"a","token_type":"Bearer"}`) },
		"a page for a code": func(l *liar) { l.token = refuse(200, "<html>") },
		"it sends us elsewhere": func(l *liar) {
			l.token = http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect).ServeHTTP
		},
	} {
		l := newLiar(t)
		lie(l)
		if i, err := l.finish(t); !errors.Is(err, ports.ErrIdentityUnavailable) {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}
}

func TestAnIssuerWithTLSHasNoEndpointWithout(t *testing.T) {
	t.Parallel()
	p := oidc.New(oidc.Config{Issuer: "https://id.example.com"}, wallClock{})
	for address, care := range map[string]bool{"https://id.example.com/token": true, "https://keys.example.com": true,
		"http://id.example.com/token": false, "/token": false, "": false, "ftp://id.example.com": false} {
		if err := oidc.SameCare(p, address); (err == nil) != care {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAClaimIsReadAsProvidersWriteIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims   map[string]any
		verified bool
		groups   []string
	}{
		"a string for true":          {map[string]any{"email_verified": "true"}, true, []string{"dispatch"}},
		"false":                      {map[string]any{"email_verified": false}, false, []string{"dispatch"}},
		"nothing":                    {map[string]any{"email_verified": nil}, false, []string{"dispatch"}},
		"a word":                     {map[string]any{"email_verified": "yes"}, false, []string{"dispatch"}},
		"Entra's claim":              {map[string]any{"email_verified": nil, "xms_edov": "1"}, true, []string{"dispatch"}},
		"one group":                  {map[string]any{"groups": "ops"}, true, []string{"ops"}},
		"no group":                   {map[string]any{"groups": []string{}}, true, []string{}},
		"groups that are no texts":   {map[string]any{"groups": []any{"ops", 7, map[string]any{"id": 1}}}, true, []string{"ops"}},
		"ours among two audiences":   {map[string]any{"aud": []string{"waybill", "x"}, "azp": "waybill"}, true, []string{"dispatch"}},
		"over for less than clocks":  {map[string]any{"exp": time.Now().Add(-20 * time.Second).Unix()}, true, []string{"dispatch"}},
		"for a moment from now":      {map[string]any{"nbf": time.Now().Add(30 * time.Second).Unix()}, true, []string{"dispatch"}},
		"a time with a fraction":     {map[string]any{"auth_time": 1.5e9}, true, []string{"dispatch"}},
		"an address without a claim": {map[string]any{"name": nil}, true, []string{"dispatch"}},
	} {
		l := newLiar(t)
		l.claims = func(all map[string]any) { maps.Copy(all, c.claims) }
		got, err := l.finish(t)
		if err != nil || got.EmailVerified != c.verified || !slices.Equal(got.Groups, c.groups) || got.Email != "ama@example.com" ||
			l.asked != 0 {
			t.Errorf("%s: %+v, %v, asked for userinfo %d times", name, got, err, l.asked)
		}
	}
}

func TestGroupsThatAreTooManyAreKnownToBeLeftOut(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]any{"groups": "src1"}
	for name, c := range map[string]struct {
		claims, userInfo map[string]any
		leftOut          bool
	}{
		"in another place":        {map[string]any{"groups": nil, "_claim_names": elsewhere}, nil, true},
		"some":                    {map[string]any{"groups": nil, "hasgroups": true}, nil, true},
		"another claim elsewhere": {map[string]any{"groups": nil, "_claim_names": map[string]any{"roles": "src1"}}, nil, false},
		"none":                    {map[string]any{"groups": nil}, nil, false},
		"both":                    {map[string]any{"_claim_names": elsewhere}, nil, false},
		"told by the userinfo":    {map[string]any{"groups": nil, "_claim_names": elsewhere}, map[string]any{"groups": []string{"ops"}}, false},
		"elsewhere there too":     {map[string]any{"groups": nil}, map[string]any{"_claim_names": elsewhere}, true},
	} {
		l := newLiar(t)
		l.claims = func(all map[string]any) {
			all["_claim_sources"] = map[string]any{"src1": map[string]any{"endpoint": "https://graph.example.com/groups"}}
			maps.Copy(all, c.claims)
		}
		l.userInfo = map[string]any{"sub": "s1"}
		maps.Copy(l.userInfo, c.userInfo)
		got, err := l.finish(t)
		if err != nil || got.GroupsLeftOut != c.leftOut {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestTheUserinfoTellsWhatATokenLeavesOut(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	l.claims = func(c map[string]any) { c["email"], c["groups"], c["email_verified"] = nil, nil, true }
	l.userInfo = map[string]any{"sub": "s1", "email": "ama@example.com", "email_verified": false, "groups": []string{"care"}}
	got, err := l.finish(t)
	if err != nil || got.Email != "ama@example.com" || got.EmailVerified || !slices.Equal(got.Groups, []string{"care"}) || got.Name != "Ama" {
		t.Errorf("%+v, %v", got, err)
	}
}

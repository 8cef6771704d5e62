package faults

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

const sesame = "correct horse battery staple"

// visitor is a person of the customer in front of the portal, in a browser without
// scripts. It keeps cookies by the host, whatever the port, as browsers do.
type visitor struct {
	t      *testing.T
	at     string // the address of the portal
	client *http.Client
	from   string // the address that a proxy tells of
}

// sheet is a page that was answered.
type sheet struct {
	status int
	path   string
	body   string
	header http.Header
	took   time.Duration
}

func newVisitor(t *testing.T, at string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t: t, at: at, client: &http.Client{Jar: jar, Timeout: time.Minute}}
}

// elsewhere is the same browser at another process.
func (v *visitor) elsewhere(at string) *visitor {
	other := *v
	other.at = at
	return &other
}

func (v *visitor) get(path string) sheet {
	v.t.Helper()
	return v.send(http.MethodGet, path, nil)
}

func (v *visitor) post(path string, fields ...string) sheet {
	v.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return v.send(http.MethodPost, path, form)
}

func (v *visitor) send(method, path string, form url.Values, headers ...string) sheet {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.at+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if v.from != "" {
		req.Header.Set("X-Forwarded-For", v.from)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	begun := time.Now()
	res, err := v.client.Do(req)
	if err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
	return sheet{status: res.StatusCode, path: res.Request.URL.Path, body: string(body), header: res.Header, took: time.Since(begun)}
}

// is fails where a page is another one.
func (s sheet) is(t *testing.T, status int, text string) sheet {
	t.Helper()
	if s.status != status || !strings.Contains(s.body, text) {
		t.Fatalf("%s answers %d, want %d and %q:\n%s", s.path, s.status, status, text, s.body)
	}
	return s
}

var (
	shownOnce  = regexp.MustCompile(`<output[^>]*data-secret[^>]*>([^<]*)</output>`)
	keyPath    = regexp.MustCompile(`"(/apps/[^"]*)/rotate"`)
	newKeyForm = regexp.MustCompile(`<form method="post"[^>]*>(?:\s*<input type="hidden"[^>]*>)*\s*<input type="hidden" name="once" value="([^"]*)">`)
)

// secret is what a page shows once; empty: nothing.
func (s sheet) secret() string {
	if m := shownOnce.FindStringSubmatch(s.body); m != nil {
		return html.UnescapeString(m[1])
	}
	return ""
}

// keyAt is the path of the first key of a list behind a text.
func (s sheet) keyAt(t *testing.T, behind string) string {
	t.Helper()
	_, rows, _ := strings.Cut(s.body, behind)
	m := keyPath.FindStringSubmatch(rows)
	if m == nil {
		t.Fatalf("no key behind %q at %s (%d):\n%s", behind, s.path, s.status, s.body)
	}
	return m[1]
}

// once is the ID that the form of a page gives to the key it makes.
func (s sheet) once(t *testing.T) string {
	t.Helper()
	m := newKeyForm.FindStringSubmatch(s.body)
	if m == nil {
		t.Fatalf("%s (%d) has no form for a key:\n%s", s.path, s.status, s.body)
	}
	return m[1]
}

func (s *shop) portal(n int) string { return "http://" + s.servers[n].portal }

// invites makes a person of the customer. The person signs in by the link and
// sets a password. It returns the person's ID and the secret of the link.
func (s *shop) invites(t *testing.T, v *visitor, email, role string) (id, link string) {
	t.Helper()
	var person struct{ ID, Link string }
	command(t, s.env, &person, "person", "invite", "--business", s.sender.customer.BusinessID,
		"--email", email, "--name", "Ama Mensah", "--role", role)
	_, secret, _ := strings.Cut(person.Link, "/enter/")
	v.post("/enter/"+secret).is(t, http.StatusOK, "Hello, Ama Mensah")
	v.post("/account/password", "password", sesame).is(t, http.StatusOK, "The password was saved")
	return person.ID, secret
}

// keys is the path of the customer's keys.
func (s *shop) keys(env string) string {
	return "/apps/" + s.sender.customer.AppID + "/" + env + "/keys"
}

// makesKey makes a key through the portal.
func (s *shop) makesKey(t *testing.T, v *visitor, env string) string {
	t.Helper()
	form := v.get(s.keys(env)+"/new").is(t, http.StatusOK, "Create")
	made := v.post(s.keys(env), "name", "Shop", "once", form.once(t), "scopes", "deliveries:write", "scopes", "deliveries:read").is(t, http.StatusOK,
		"It works at once")
	if made.secret() == "" {
		t.Fatalf("no key is shown:\n%s", made.body)
	}
	return made.secret()
}

// session is the secret of the session, as its cookie has it.
func (v *visitor) session(t *testing.T) string {
	t.Helper()
	for _, c := range v.client.Jar.Cookies(mustParse(t, v.at)) {
		if c.Name == "waybill_portal" {
			return c.Value
		}
	}
	t.Fatal("there is no session")
	return ""
}

package portal_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/domain"
)

func TestAKeyIsInOneAnswerAndNowhereElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	list := s.house.keysPath(domain.Live)
	action, form := r.get(list+"/new").form(t, "Create")
	if _, sandbox := r.get(s.house.keysPath(domain.Sandbox)+"/new").form(t, "Create"); !slices.Equal(form["scopes"], sandbox["scopes"]) || len(form["scopes"]) != 3 {
		t.Errorf("for live %q are preset, for the sandbox %q", form["scopes"], sandbox["scopes"])
	}
	form.Set("name", "Till in Osu")
	form["scopes"] = []string{"quotes:read", "deliveries:write"}
	form.Set("expires_in", "30d")
	first := r.post(action, form)
	key := first.secret()
	if e, sound := domain.ParseAPIKey(key); first.status != http.StatusOK || !sound || e != domain.Live ||
		first.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d, %q, Cache-Control %q", first.status, key, first.header.Get("Cache-Control"))
	}
	if strings.Contains(first.at, key) || strings.Count(first.body, key) != 1 {
		t.Error("the key is in the answer more than once, or in its address")
	}
	again := r.post(action, form)
	if again.status != http.StatusConflict || again.secret() != "" || !strings.Contains(again.body, "No second key was created") {
		t.Errorf("the same form again: %d, %q", again.status, again.secret())
	}
	keys := must[[]domain.APIKey](t)(s.tenants.Keys(t.Context(), s.house.app.ID))
	if len(keys) != 3 {
		t.Errorf("%d keys, want 3", len(keys))
	}
	made := keys[len(keys)-1]
	if p := r.get(list); made.Name != "Till in Osu" || !strings.Contains(p.body, "Till in Osu<br><code class=\"nowrap\">…"+made.LastFour) {
		t.Errorf("the key is called %q, or the list does not say so", made.Name)
	}
	if len(made.Scopes) != 2 || made.ExpiresAt == nil || made.ExpiresAt.Sub(made.CreatedAt) != 30*24*time.Hour ||
		made.ID != s.made(t, domain.RoleOwner, form) {
		t.Errorf("%+v", made)
	}
	for _, path := range []string{"/", "/apps", list, "/audit", "/people", "/account", list + "/" + string(made.ID) + "/revoke"} {
		if strings.Contains(r.get(path).body, key) {
			t.Errorf("%s has the key", path)
		}
	}
	if strings.Contains(s.log.String(), key) {
		t.Error("the key is in the log")
	}
	secret := key[strings.LastIndexByte(key, '_')+1:]
	for _, file := range databaseFiles(t, s) {
		if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), secret) {
			t.Errorf("the key is in %s", filepath.Base(file))
		}
	}
	shown := r.get(list).body
	if !strings.Contains(shown, "…"+made.LastFour) || !strings.Contains(shown, "adom owner") {
		t.Error("the list lacks the last four characters, or who made the key")
	}
}

// databaseFiles are those of the scene's database.
func databaseFiles(t *testing.T, s *scene) []string {
	t.Helper()
	files, err := filepath.Glob(s.Path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no database at %s: %v", s.Path, err)
	}
	return files
}

func TestADoubleClickMakesOneKey(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	list := s.house.keysPath(domain.Sandbox)
	for verb, page := range map[string]page{"Create": r.get(list + "/new"), "Rotate": r.get(list)} {
		action, form := page.form(t, verb)
		before := len(must[[]domain.APIKey](t)(s.tenants.Keys(t.Context(), s.house.app.ID)))
		var mu sync.Mutex
		var sending sync.WaitGroup
		secrets, statuses := 0, map[int]int{}
		for i := range 6 {
			at := *r
			at.url = []string{s.url, s.second}[i%2]
			sending.Go(func() {
				p := at.post(action, form)
				mu.Lock()
				defer mu.Unlock()
				statuses[p.status]++
				if p.secret() != "" {
					secrets++
				}
			})
		}
		sending.Wait()
		after := len(must[[]domain.APIKey](t)(s.tenants.Keys(t.Context(), s.house.app.ID)))
		if secrets != 1 || after != before+1 || statuses[http.StatusConflict] != 5 {
			t.Errorf("%s: %d keys shown, %d made, answers %v", verb, secrets, after-before, statuses)
		}
	}
}

func TestAFormKeepsWhatWasTypedAndTiesErrorsToFields(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	p := r.post("/people", url.Values{"email": {"not an address"}, "name": {"Efua"}, "role": {"owner"}})
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `value="not an address"`) ||
		!strings.Contains(p.body, `value="Efua"`) ||
		!strings.Contains(p.body, `id="email-error"`) || !strings.Contains(p.body, `<option value="owner" selected>Owner`) {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	p = r.post(s.house.keysPath(domain.Sandbox), url.Values{"once": {string(s.IDs.ID(domain.PrefixAPIKey))}, "expires_in": {"tomorrow"},
		"scopes": {"quotes:read"}})
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="expires_in-error"`) ||
		strings.Count(p.body, " checked") != 1 {
		t.Errorf("%d, %d scopes checked", p.status, strings.Count(p.body, " checked"))
	}
	p = r.post(s.house.keysPath(domain.Sandbox), url.Values{"once": {string(s.IDs.ID(domain.PrefixAPIKey))}})
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "Choose at least one scope.") {
		t.Errorf("without a scope: %d", p.status)
	}
}

func TestAFormForAKeyThatIsIncompleteSaysSoAndIsOpenedAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	list := s.house.keysPath(domain.Live)
	for _, path := range []string{list, list + "/" + string(s.house.key[domain.Live].ID) + "/rotate"} {
		for _, once := range []string{"", "key_1", "app_0000000000000000000000000"} {
			p := r.post(path, url.Values{"once": {once}, "scopes": {"quotes:read"}})
			if p.status != http.StatusUnprocessableEntity || strings.Contains(p.body, "sent already") ||
				!strings.Contains(p.body, "The form was incomplete") {
				t.Errorf("%s with %q: %d", path, once, p.status)
			}
			if path != list {
				continue // a list, where Rotate has a new ID
			}
			if _, form := p.form(t, "Create"); form.Get("once") == once {
				t.Errorf("%s with %q: the form is incomplete again", path, once)
			}
		}
	}
	if n := len(must[[]domain.APIKey](t)(s.tenants.Keys(t.Context(), s.house.app.ID))); n != 2 {
		t.Errorf("%d keys, want the 2 from before", n)
	}
}

func TestARevokedKeyIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	at := s.house.keysPath(domain.Live) + "/" + string(s.house.key[domain.Live].ID) + "/revoke"
	action, form := r.get(at).form(t, "Revoke")
	r.post(action, form)
	if p := r.get(at); strings.Contains(p.body, "?</h1>") || strings.Contains(p.body, "cannot be undone") ||
		!strings.Contains(p.body, "was revoked</h1>") || strings.Contains(p.body, "Revoke key") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
}

func TestAKeyThatWasReplacedTellsOfCallsSinceThen(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	list, old := s.house.keysPath(domain.Sandbox), s.house.key[domain.Sandbox]
	row := func() string {
		_, found, _ := strings.Cut(r.get(list).body, `<tr data-id="`+string(old.ID)+`"`)
		found, _, _ = strings.Cut(found, "</tr>")
		return found
	}
	if text := row(); !strings.Contains(text, "1 call</summary>") && !strings.Contains(text, "1 call in 24 hours") || strings.Contains(text,
		`<td data-label="Last used"><span><span class="quiet">never`) {
		t.Errorf("after the first call:\n%s", text)
	}
	s.wait(2 * time.Minute)
	ask := list + "/" + string(old.ID)
	action, form := r.get(ask+"/rotate").form(t, "Rotate")
	r.post(action, form)
	successor := must[domain.APIKey](t)(s.tenants.Key(t.Context(), s.made(t, domain.RoleOwner, form)))
	if text := row(); !strings.Contains(text, "replaced by …"+successor.LastFour) {
		t.Errorf("after the rotation:\n%s", text)
	}
	if p := r.get(ask + "/revoke"); strings.Contains(p.body, "still used") ||
		!strings.Contains(p.body, "Not used since it was replaced by …") ||
		!strings.Contains(p.body, "1 call in the last 24 hours</a> came before") {
		t.Errorf("without a call since:\n%s", p.body)
	}
	s.wait(2 * time.Minute)
	s.called(t, s.house, sandboxCall)
	if p := r.get(ask + "/revoke"); !strings.Contains(p.body, "It is still used, although …"+successor.LastFour) {
		t.Errorf("with a call since:\n%s", p.body)
	}
}

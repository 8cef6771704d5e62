package portal_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func TestASecretEndsWhenTheListSaysAndNeverByAnotherNumber(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r, e := s.signedIn(t, s.house, domain.RoleDeveloper), s.house.endpoint
	action, form := r.get(hooks(e, "/rotate")).form(t, "Rotate")
	for _, seconds := range []string{"18446744074", "-1", "3601", "604801", "", "0x0", "+0", "9223372036854775807"} {
		form.Set("overlap_seconds", seconds)
		if p := r.post(action, form); p.status != http.StatusUnprocessableEntity || p.secret() != "" ||
			!strings.Contains(p.body, "Choose one from the list.") {
			t.Errorf("%q seconds: %d", seconds, p.status)
		}
	}
	now := must[domain.WebhookEndpoint](t)(s.Store.Read().Webhooks.EndpointOf(t.Context(), s.house.business.ID, e.ID))
	if !now.UpdatedAt.Equal(e.UpdatedAt) || len(now.ActiveSecrets(s.Clock.Now().Add(time.Second))) != 1 {
		t.Errorf("the endpoint was changed: %v", now.UpdatedAt)
	}
}

func TestAFormCannotChooseTheIDOfItsRecord(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	form := newKey(s, s.house)
	for what, once := range map[string]domain.ID{"its own": s.IDs.ID(domain.PrefixAPIKey), "another key's": s.other.key[domain.Sandbox].ID} {
		form.Set("once", string(once))
		made := s.made(t, domain.RoleOwner, form)
		if p := owner.post(s.house.keysPath(domain.Sandbox), form); p.status != http.StatusOK || made == once {
			t.Errorf("%s: %d", what, p.status)
		}
		if _, err := s.tenants.Key(t.Context(), made); err != nil {
			t.Errorf("%s: the key has another ID: %v", what, err)
		}
	}
	form.Set("once", string(domain.PrefixAPIKey)+"ffffffffffff70008000000000000000") // of the future
	if p := owner.post(s.house.keysPath(domain.Sandbox), form); p.status != http.StatusUnprocessableEntity {
		t.Errorf("an ID of the future: %d", p.status)
	}
}

func TestAFormThatIsSentFiveTimesMakesOneThing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	places := func() int { return len(s.place(t, s.house, domain.Sandbox, "Twice")) }
	apps := func() (n int) {
		for _, a := range must[[]domain.Application](t)(s.Store.Read().Tenancy.Applications(t.Context(), s.house.business.ID)) {
			if a.Name == "Twice" {
				n++
			}
		}
		return n
	}
	for at, count := range map[string]func() int{"/apps": apps, "/pickup-locations/sandbox": places} {
		action, form := r.get(at+"/new").form(t, "Create")
		form.Set("name", "Twice")
		form.Set("address", "1 Ring Road")
		var statuses []int
		for range 5 {
			p := r.post(action, form)
			statuses = append(statuses, p.status)
			if p.status == http.StatusConflict && !strings.Contains(p.body, "No second ") {
				t.Errorf("%s:\n%s", at, p.body)
			}
			if _, next := r.get(at+"/new").form(t, "Create"); next.Get("once") == form.Get("once") {
				t.Errorf("%s: the next form has the ID of the last one", at)
			}
		}
		if got := fmt.Sprint(statuses); got != "[200 409 409 409 409]" || count() != 1 {
			t.Errorf("%s: %s, and %d were made", at, got, count())
		}
		// The form below the conflict makes another one.
		_, form = r.post(action, form).form(t, "Create")
		if p := r.post(action, form); p.status != http.StatusOK || count() != 2 {
			t.Errorf("%s: the next form: %d", at, p.status)
		}
	}
}

func TestAFormThatIsOlderThanAChangeOverwritesNothingAndSaysWhatChanged(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	place := "/pickup-locations/sandbox/" + string(s.house.pickup[domain.Sandbox])
	for _, c := range []struct{ at, field, mine, theirs string }{
		{hooks(s.house.endpoint, "/edit"), "description", "Mine", "Theirs"},
		{place, "name", "Mine", "Theirs"},
	} {
		action, stale := r.get(c.at).form(t, "Save")
		_, fresh := r.get(c.at).form(t, "Save")
		s.wait(time.Second)
		fresh.Set(c.field, c.theirs)
		if p := r.post(action, fresh); p.status != http.StatusOK || !strings.Contains(p.body, "saved") {
			t.Fatalf("%s: %d", c.at, p.status)
		}
		if p := r.post(action, fresh); p.status != http.StatusOK { // a double click
			t.Errorf("%s: the same form again: %d", c.at, p.status)
		}
		// What is wrong with a stale form does not make it a fresh one.
		stale.Set(c.field, strings.Repeat("x", 600))
		p := r.post(action, stale)
		_, stale = p.form(t, "Save")
		stale.Set(c.field, c.mine)
		wrong := p.status
		p = r.post(action, stale)
		if wrong != http.StatusUnprocessableEntity || p.status != http.StatusConflict || !strings.Contains(p.body, " is now: "+c.theirs) ||
			!strings.Contains(p.body, `value="`+c.mine+`"`) {
			t.Errorf("%s: %d, then %d\n%s", c.at, wrong, p.status, p.body)
		}
		if _, now := r.get(c.at).form(t, "Save"); now.Get(c.field) != c.theirs {
			t.Errorf("%s has %q", c.at, now.Get(c.field))
		}
		if _, form := p.form(t, "Save"); r.post(action, form).status != http.StatusOK {
			t.Errorf("%s: the form below the conflict is refused", c.at)
		}
	}
}

func TestALinkTellsNoNumbers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	for _, at := range []string{hooks(s.house.endpoint, "/recover?done=webhooks-recovered&sent=999999999"),
		"/pickup-locations/live?done=pickups-imported&created=999&updated=999"} {
		if p := r.get(at); p.status != http.StatusOK || strings.Contains(p.body, "999") {
			t.Errorf("%s: %d, and it tells the number", at, p.status)
		}
	}
	// The numbers of an import are told once.
	done := r.confirmed(t, r.importing(t, domain.Live, places))
	if again := r.get(done.at + "?done=pickups-imported"); !strings.Contains(done.body, "3 created, 1 updated.") ||
		strings.Contains(again.body, "3 created") || !strings.Contains(again.body, "The table was imported.") {
		t.Errorf("after an import:\n%s", again.body)
	}
}

func TestALostSessionSaysWhatItDoesNotKeep(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	s.wait(domain.SessionIdle)
	long := places + strings.Repeat("Osu,1 Street,,,,\n", 5_000)
	const keeps, at = "What you typed is kept", "/pickup-locations/sandbox/import"
	many := url.Values{}
	for i := range 101 {
		many.Set(fmt.Sprint("field", i), "x")
	}
	for what, p := range map[string]page{"a long table": r.post(at, url.Values{"csv": {long}}), "many fields": r.post(at, many),
		"a text that is long as a page writes it": r.post(at, url.Values{"csv": {strings.Repeat("&", 14_000)}}),
		"a file": r.importing(t, domain.Sandbox, places)} {
		if p.status != http.StatusUnauthorized || strings.Contains(p.body, keeps) || !strings.Contains(p.body, "The form was not kept") ||
			strings.Contains(p.body, `name="kept.`) {
			t.Errorf("%s: %d\n%s", what, p.status, p.body)
		}
	}
	if p := r.post(at, url.Values{"csv": {places}}); !strings.Contains(p.body, keeps) || strings.Count(p.body, `name="kept.csv"`) != 1 {
		t.Errorf("a short table is not kept, once: %d", p.status)
	}
}

// A page for signing in repeats little of what anybody sends.
func TestAnAnswerToAStrangerIsNotMuchLongerThanItsForm(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	plain := len(s.reader(t).get("/signin").body)
	for at, names := range map[string][]string{"/signin": {"email", "next", "kept.a"}, "/signin/link": {"email"}, "/apps": {"name", "next"}} {
		for _, name := range names {
			text := strings.Repeat("&", 20_000)
			if name == "next" {
				text = "/" + text
			}
			p := s.reader(t).post(at, url.Values{name: {text}})
			if more := len(p.body) - plain; p.status >= http.StatusInternalServerError || more > 8_000 {
				t.Errorf("%s with a long %s: %d, with %d bytes more than without a form", at, name, p.status, more)
			}
		}
	}
}

// What a stranger sends takes no memory: of a large form only the heading is read.
func TestALargeFormIsReadOfSignedInPeopleAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	viewer, at := s.signedIn(t, s.house, domain.RoleViewer), must[*url.URL](t)(url.Parse(s.url))
	for want, r := range map[int]*reader{http.StatusUnauthorized: s.reader(t), http.StatusForbidden: viewer} {
		head := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, http.NoBody))
		for _, cookie := range r.client.Jar.Cookies(at) {
			head.AddCookie(cookie)
		}
		c := must[net.Conn](t)((&net.Dialer{}).DialContext(t.Context(), "tcp", at.Host))
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		must[int](t)(fmt.Fprintf(c, "POST /pickup-locations/sandbox/import HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000000\r\n\r\n", at.Host, head.Header.Get("Cookie")))
		answer := must[*http.Response](t)(http.ReadResponse(bufio.NewReader(c), nil))
		if _ = answer.Body.Close(); answer.StatusCode != want {
			t.Errorf("before its form was sent: %d, want %d", answer.StatusCode, want)
		}
	}
}

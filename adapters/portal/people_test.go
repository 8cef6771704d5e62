package portal_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"waybill/application/people"
	"waybill/domain"
)

// The pages say the same of an address with an account and of one without. The name, the
// state and the ID of the account are not on them.
func TestTheAnswerToAnInvitationIsTheSameWhetherThereIsAnAccount(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	there := s.other.people[domain.RoleOwner]
	invite := func(email string) string {
		t.Helper()
		p := owner.post("/people", url.Values{"email": {email}, "name": {"Whoever"}, "role": {"viewer"}})
		if p.status != http.StatusOK || !strings.Contains(p.body, "Whoever is invited") {
			t.Fatalf("%s: %d\n%s", email, p.status, p.body)
		}
		list, id := owner.get("/people").body, regexp.MustCompile(`data-id="(prs_[0-9a-f]{32})"[^@]*`+regexp.QuoteMeta(email))
		at := id.FindAllStringSubmatch(list, -1)
		told := strings.NewReplacer(p.secret(), "LINK", email, "EMAIL", at[len(at)-1][1], "ID").Replace(p.body)
		if p := owner.post("/people/"+at[len(at)-1][1]+"/sessions", nil); p.status != http.StatusOK {
			t.Errorf("%s: signed out %d", email, p.status)
		}
		removed := owner.post("/people/"+at[len(at)-1][1]+"/remove", nil)
		if removed.status != http.StatusOK || !strings.Contains(removed.body, "The person was removed") {
			t.Errorf("%s: removed %d", email, removed.status)
		}
		return regexp.MustCompile(`req_[0-9a-f]+`).ReplaceAllString(told, "REQUEST")
	}
	known, unknown := invite(string(there.Email)), invite("nobody@new.example")
	if known != unknown {
		t.Errorf("an address with an account is answered\n%s\nand one without\n%s", known, unknown)
	}
	must[domain.Person](t)(s.directory.SetDisabled(t.Context(), operator, there.ID, true))
	if disabled := invite(string(there.Email)); disabled != unknown {
		t.Errorf("an address with a disabled account is answered\n%s", disabled)
	}
	for _, path := range []string{"/audit", "/audit.csv"} {
		if p := owner.get(path); strings.Contains(p.body, string(there.ID)) || strings.Contains(p.body, there.Name) {
			t.Errorf("%s tells of the account", path)
		}
	}
}

func TestAnInvitationToAnAccountAsksForItsOwnSignIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	there := s.other.people[domain.RoleOwner]
	invited := func() string {
		t.Helper()
		return "/enter/" + must[people.Issued](t)(s.directory.Invite(t.Context(), domain.AuditActor{ID: s.house.people[domain.RoleOwner].ID,
			BusinessID: s.house.business.ID}, people.Invitation{BusinessID: s.house.business.ID, Email: string(there.Email), Name: "Whoever",
			Role: "viewer"})).Secret
	}
	link, r := invited(), s.reader(t)
	if p := r.get(link); p.status != http.StatusOK || !strings.Contains(p.body, "already has an account. Sign in to it to accept") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	for what, c := range map[string]struct {
		form   url.Values
		status int
	}{
		"nothing":          {nil, http.StatusForbidden},
		"a wrong password": {url.Values{"password": {"something else, long"}}, http.StatusUnauthorized},
		"a passkey":        {url.Values{"passkey": {"{}"}, "ceremony": {string(s.IDs.ID(domain.PrefixCeremony))}}, http.StatusUnauthorized},
	} {
		if p := r.post(link, c.form); p.status != c.status || r.get("/people").at != "/signin" {
			t.Errorf("%s: %d", what, p.status)
		}
	}
	action, form := r.get(link).form(t, "Sign in and accept")
	form.Set("password", password)
	if p := r.post(action, form); p.at != "/" || !strings.Contains(p.body, "You accepted the invitation") {
		t.Errorf("%d at %s", p.status, p.at)
	}
	must[domain.Member](t)(s.directory.Remove(t.Context(), operator, s.house.business.ID, there.ID))

	// In a session of the account one button is enough.
	r = s.signedIn(t, s.other, domain.RoleOwner)
	asked := r.get(invited())
	if !strings.Contains(asked.body, "You are signed in as "+string(there.Email)) || strings.Contains(asked.body, "sign in to it") {
		t.Errorf("%d\n%s", asked.status, asked.body)
	}
	action, form = asked.form(t, "Accept invitation")
	if p := r.post(action, form); p.at != "/" || !strings.Contains(p.body, "You accepted the invitation") ||
		!strings.Contains(p.body, s.house.business.Name) {
		t.Errorf("%d at %s", p.status, p.at)
	}
	must[domain.Member](t)(s.directory.Remove(t.Context(), operator, s.house.business.ID, there.ID))

	s.mails(t)
	action, form = s.reader(t).get(invited()).form(t, "Email me a sign-in link")
	if p := s.reader(t).post(action, form); p.at != "/signin" || !strings.Contains(p.body, "sign-in link to the address that was invited") {
		t.Errorf("%d at %s", p.status, p.at)
	}
	if got := s.mails(t); len(got) != 1 || got[0] != "sign_in_link "+string(there.ID) {
		t.Errorf("the mails are %q", got)
	}
}

func TestAPersonChangesTheirOwnName(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleViewer)
	action, form := r.get("/account").form(t, "Save name")
	form.Set("own_name", "Ama\u202e")
	if p := r.post(action, form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="own-name-error"`) {
		t.Errorf("a name that is none: %d\n%s", p.status, p.body)
	}
	form.Set("own_name", "Ama O. Mensah")
	if p := r.post(action, form); p.at != "/account" || !strings.Contains(p.body, "Your name was changed") ||
		!strings.Contains(p.body, `<p class="lead">Ama O. Mensah,`) {
		t.Errorf("%d at %s", p.status, p.at)
	}
}

package portal_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
)

// send asks with headers of a browser.
func (r *reader) send(method, path string, form url.Values, headers map[string]string) page {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	return r.do(req)
}

func TestWhatIsRefusedLeavesATrace(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.guard.counts = &counting{now: s.Clock.Now, taken: map[string][]time.Time{}}
	owner, viewer := s.signedIn(t, s.house, domain.RoleOwner), s.signedIn(t, s.house, domain.RoleViewer)
	ownerID, viewerID := string(s.house.people[domain.RoleOwner].ID), string(s.house.people[domain.RoleViewer].ID)
	secret := strings.Repeat("s", 43)
	guess := url.Values{"email": {string(s.house.people[domain.RoleOwner].Email)}, "password": {secret}}
	for _, c := range []struct {
		outcome domain.RefusalOutcome
		person  string
		refused func() page
	}{
		{domain.RefusedPassword, ownerID, func() page { return s.reader(t).post("/signin", guess) }},
		{domain.RefusedPassword, "", func() page {
			return s.reader(t).post("/signin", url.Values{"email": {"nobody@adom.example"}, "password": {secret}})
		}},
		{domain.RefusedMails, ownerID, func() (p page) {
			for range domain.MailsAnHourToOne + 1 {
				p = owner.post("/people", url.Values{"email": {"ama@adom.example"}, "name": {"Ama"}, "role": {"viewer"}})
			}
			return p
		}},
		{domain.RefusedPasskey, "", func() page {
			return s.reader(t).post("/signin", url.Values{"passkey": {secret}, "ceremony": {secret}})
		}},
		{domain.RefusedPassword, ownerID, func() page {
			s.wait(domain.FreshFor)
			return owner.post("/account/confirm", url.Values{"confirm": {"1"}, "password": {secret}})
		}},
		{domain.RefusedLink, "", func() page { return s.reader(t).get("/enter/" + secret) }},
		{domain.RefusedLink, "", func() page { return s.reader(t).post("/enter/"+secret, nil) }},
		{domain.RefusedLink, "", func() page { return s.reader(t).get("/view/" + secret) }},
		{domain.RefusedRole, viewerID, func() page {
			return viewer.post("/people", url.Values{"email": {"x@adom.example"}, "name": {secret}, "role": {"owner"}})
		}},
		{domain.RefusedForgedForm, ownerID, func() page {
			return owner.send(http.MethodPost, "/apps?q="+secret, url.Values{"name": {secret}}, map[string]string{"Sec-Fetch-Site": "cross-site"})
		}},
		{domain.RefusedForgedForm, "", func() page {
			return s.reader(t).send(http.MethodPost, "/nowhere", url.Values{}, map[string]string{"Origin": "https://evil.example"})
		}},
	} {
		before := s.log.String()
		p := c.refused()
		lines := strings.Split(strings.TrimSpace(strings.TrimPrefix(s.log.String(), before)), "\n")
		if p.status < 400 || len(lines) != 1 {
			t.Errorf("%s: %d, and the log has %q", c.outcome, p.status, lines)
			continue
		}
		person := c.person
		if person == "" {
			person = `""`
		}
		for _, want := range []string{"outcome=" + string(c.outcome), "person=" + person, "site=portal", "client_network=127.0.0.0/24",
			"request_id=" + p.header.Get("X-Request-ID")} {
			if !strings.Contains(lines[0]+" ", want+" ") {
				t.Errorf("%s: %q lacks %s", c.outcome, lines[0], want)
			}
		}
	}
	if strings.Contains(s.log.String(), secret) {
		t.Errorf("the log has what was typed: %s", s.log.String())
	}
	counted := s.counted(t)
	for _, want := range []string{
		`waybill_people_refused_total{outcome="wrong_password",site="portal"} 3`, `waybill_people_refused_total{outcome="role",site="portal"} 1`,
		`waybill_people_refused_total{outcome="unknown_link",site="portal"} 3`,
		`waybill_people_refused_total{outcome="cross_site",site="portal"} 2`, `waybill_people_refused_total{outcome="too_many",site="portal"} 0`,
	} {
		if !strings.Contains(counted, want+"\n") {
			t.Errorf("the metrics lack %s:\n%s", want, counted)
		}
	}
	s.endRefusals() // those that were handed over are kept
	told := map[string]string{}
	entries := must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), s.house.business.ID,
		domain.AuditFilter{Action: domain.ActionPersonRefused}, domain.PageRequest{Limit: 100}))
	for _, e := range entries {
		told[string(e.Target)] += e.Details["outcome"] + " "
	}
	before := s.log.String()
	viewer.send(http.MethodPost, "/people", url.Values{"email": {"x@adom.example"}, "name": {"X"}, "role": {"owner"}},
		map[string]string{"X-Request-ID": "trace.1", "Sec-Fetch-Site": "same-origin"})
	if line := strings.TrimPrefix(s.log.String(), before); !strings.Contains(line, "request_id=req_") || strings.Contains(line, "trace.1") {
		t.Errorf("what the browser chose is logged as ours: %s", line)
	}
	// A wrong password in a session is counted apart from one without.
	if told[ownerID] != "cross_site wrong_password too_many_mails wrong_password " || told[viewerID] != "role " {
		t.Errorf("the audit log tells of %q", told)
	}
}

func TestOnlyOnesOwnBrowserUsesUpTheUnknownLinksOfAnAddress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.guard.counts = &counting{now: s.Clock.Now, taken: map[string][]time.Time{}}
	ask := func(headers map[string]string) int {
		t.Helper()
		return s.reader(t).send(http.MethodGet, "/enter/x", nil, headers).status
	}
	for _, foreign := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Referer": "https://evil.example/"},
	} {
		for range 31 {
			if status := ask(foreign); status != http.StatusNotFound {
				t.Fatalf("%v: %d", foreign, status)
			}
		}
	}
	own := []map[string]string{{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Referer": s.url + "/signin"}, nil,
		{"Sec-Fetch-Site": "none", "Referer": "https://evil.example/"}}
	for i := range 30 {
		if status := ask(own[i%len(own)]); status != http.StatusNotFound {
			t.Fatalf("%d: %d", i, status)
		}
	}
	if status := ask(nil); status != http.StatusTooManyRequests {
		t.Errorf("one more: %d", status)
	}
	s.signedIn(t, s.house, domain.RoleOwner) // by password
}

// A business must not learn from its audit log where else a person belongs.
func TestARefusedLinkIsToldToTheBusinessItIsOf(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	boss := s.house.people[domain.RoleOwner] // who is of s.house first
	member := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{BusinessID: s.other.business.ID,
		Email: string(boss.Email), Name: "Boss", Role: "viewer"}))
	used := must[people.Issued](t)(s.directory.OpenPortal(t.Context(), operator, people.Invitation{BusinessID: s.other.business.ID,
		Email: string(boss.Email), Name: "Boss", Role: "viewer"}))
	staff := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{Email: string(s.house.people[domain.RoleViewer].Email),
		Name: "Sam", Role: "support"}))
	sam := s.staff(t, domain.RoleSupport) // who is of s.house too
	if err := s.access.SetPassword(t.Context(), sam.Principal, "", password); err != nil {
		t.Fatal(err)
	}
	invited := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{BusinessID: s.house.business.ID,
		Email: string(sam.Person.Email), Name: "Sam", Role: "viewer"}))
	must[people.Entered](t)(s.access.AcceptByPassword(t.Context(), people.Browser{}, invited.Secret, password))
	view := s.viewing(t, sam, s.other)
	if p := view.post("/apps", url.Values{"name": {"Shop"}}); p.status != http.StatusForbidden {
		t.Errorf("a form in a view: %d", p.status)
	}
	s.reader(t).post("/enter/"+used.Secret, nil)
	s.wait(8 * 24 * time.Hour)
	for _, link := range []people.Issued{used, member, staff} {
		if p := s.reader(t).post("/enter/"+link.Secret, nil); p.status != http.StatusGone {
			t.Errorf("%d\n%s", p.status, p.body)
		}
	}
	s.endRefusals()                                                                                 // those that were handed over are kept
	for business, want := range map[domain.ID]int{s.house.business.ID: 0, s.other.business.ID: 1} { // an outcome is told once
		if told := must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), business,
			domain.AuditFilter{Action: domain.ActionPersonRefused}, domain.PageRequest{Limit: 100})); len(told) != want {
			t.Errorf("%s: %+v", business, told)
		}
	}
}

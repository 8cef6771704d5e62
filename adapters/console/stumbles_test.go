package console_test

import (
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
)

// has fails where the page lacks one of the texts.
func (p page) has(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.body, text) {
			t.Errorf("%s lacks %q", p.at, text)
		}
	}
}

func TestTheCustomerOfALineNarrowsTheListAndKeepsItsFilters(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	list := r.get("/deliveries?status=booked&order=oldest")
	business := string(s.delivery.Tenant.BusinessID)
	list.has(t, "business="+business+"&amp;order=oldest&amp;status=booked")
	narrowed := r.get("/deliveries?business=" + business + "&order=oldest&status=booked")
	narrowed.has(t, `/businesses/`+business+`"`, "Only ", `?order=oldest&amp;status=booked">Show all customers`)
}

var moveShown = regexp.MustCompile(`href="/console(/bulk\?[^"]*)">Move these`)

func TestAListLeadsToTheFormThatMovesWhatItShows(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if p := s.signedIn(t, domain.RoleViewer).get("/deliveries"); strings.Contains(p.body, "Move these") {
		t.Error("a viewer is led to a form that they may not send")
	}
	r := s.signedIn(t, domain.RoleDispatcher)
	to := moveShown.FindStringSubmatch(r.get("/deliveries").body)
	if to == nil {
		t.Fatal("a dispatcher is not led to it")
	}
	_, typed, _ := strings.Cut(r.get(html.UnescapeString(to[1])).body, "<textarea")
	if typed, _, _ = strings.Cut(typed, "</textarea>"); !strings.Contains(typed, string(s.delivery.Reference)) {
		t.Errorf("%s has in its field %q", to[1], typed)
	}
	reference := url.Values{"references": {string(s.delivery.Reference)}, "status": {"picked_up"}}
	preview := r.post("/bulk", reference)
	preview.has(t, "can be moved to picked up now", "references="+string(s.delivery.Reference)+"&amp;reason_code=&amp;status=picked_up")
	back := r.get("/bulk?references=" + string(s.delivery.Reference) + "&status=failed&reason_code=no_rider")
	back.has(t, string(s.delivery.Reference)+"</textarea>", `value="failed" selected`, `value="no_rider" selected`)
}

func TestARunSaysWhereItMovedThingsAndOffersThoseThatStayed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	run := r.get("/bulk/runs/" + s.ids[":run"])
	run.has(t, "To delivered.", "Try the failed ones again", `/deliveries/`+string(s.delivery.ID)+`"`)
	r.get("/bulk").has(t, "0 of 2 to delivered")
	if p := s.signedIn(t, domain.RoleViewer).get("/bulk/runs/" + s.ids[":run"]); strings.Contains(p.body, "Try those") {
		t.Error("a viewer is led to a form that they may not send")
	}
}

func TestANumberIsALinkToCallOnlyForThoseWhoReadIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	at := "/deliveries/" + string(s.delivery.ID)
	s.signedIn(t, domain.RoleDispatcher).get(at).has(t, `href="tel:`+strings.ReplaceAll(string(s.delivery.Recipient.PhoneNumber), "+", "&#43;"))
	if p := s.signedIn(t, domain.RoleViewer).get(at); strings.Contains(p.body, "tel:") {
		t.Error("a viewer gets a link to a number")
	}
	r := s.signedIn(t, domain.RoleDispatcher)
	found := r.get("/deliveries?q=" + url.QueryEscape("tel:"+string(s.delivery.Recipient.PhoneNumber)))
	found.has(t, string(s.delivery.ID))
}

func TestTheBoardIsCountedAnewAfterARun(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	assigned := func() int {
		_, tail, _ := strings.Cut(r.get("/board").body, `data-cell="a/assigned/7"`)
		_, tail, _ = strings.Cut(tail, ">")
		number, _, _ := strings.Cut(tail, "<")
		return must[int](t)(strconv.Atoi(number))
	}
	before := assigned()
	form := url.Values{"references": {string(s.delivery.Reference)}, "status": {"assigned"}}
	r.post("/bulk/move", form).has(t, "1 of 1 moved")
	if after := assigned(); after != before+1 {
		t.Errorf("%d were assigned, and %d are once one more is", before, after)
	}
}

func TestAPageOfACustomerSaysInItsTitleWhoseItIs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleAdmin)
	at := "/businesses/" + string(s.delivery.Tenant.BusinessID)
	_, name, _ := strings.Cut(r.get(at).body, "<title>")
	name, _, _ = strings.Cut(name, " · ")
	r.get(at+"/people").has(t, "<title>People · "+name+" · Waybill console</title>")
	r.get("/board").has(t, "<title>Board · Waybill console</title>")
	r.get(at+"/webhooks").has(t, `aria-current="true">Live</a>`)
	r.get(at+"/pickup-locations").has(t, `/pickup-locations/live/import"`)
}

func TestTheQueueOfAttentionSaysWhyADeliveryFailed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	moved := func(status, reason string) {
		at := "/deliveries/" + string(s.delivery.ID) + "/move"
		if p := r.post(at, url.Values{"status": {status}, "reason_code": {reason}}); p.status != 200 {
			t.Fatalf("%s: %d", status, p.status)
		}
	}
	moved("assigned", "")
	moved("failed", "cod_refused")
	r.get("/").has(t, `<td data-label="Why"><span>cash on delivery refused</span></td>`)
}

func TestAPreviewMayBeShownAgainByABrowserThatGoesBack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	form := url.Values{"references": {string(s.delivery.Reference)}, "status": {"assigned"}}
	if kept := r.post("/bulk", form).header.Get("Cache-Control"); kept != "private, no-cache" {
		t.Errorf("a preview is kept: %q", kept)
	}
	if kept := r.get("/bulk").header.Get("Cache-Control"); kept != "no-store" {
		t.Errorf("the form is kept: %q", kept)
	}
}

func TestTheStaffReadInACustomersAuditWhoOfThemDidIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleAdmin)
	at := "/businesses/" + string(s.delivery.Tenant.BusinessID)
	r.post("/deliveries/"+string(s.delivery.ID)+"/move", url.Values{"status": {"assigned"}})
	r.get(at+"/audit").has(t, `<td data-label="Who"><span>`+s.staff[domain.RoleAdmin].Name)
}

func TestListsAreNarrowedToACustomerByItsName(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleAdmin)
	of := string(s.business.ID)
	for _, path := range []string{"/deliveries", "/webhooks", "/requests", "/errors", "/audit"} {
		r.get(path).has(t, `<select id="business"`, `<option value="`+of+`">`+html.EscapeString(s.business.Name)+`</option>`)
		r.get(path+"?business="+of).has(t, `<option value="`+of+`" selected>`)
	}
	r.get("/requests?business=none").has(t, `<option value="none" selected>Unknown callers</option>`)
	if p := r.get("/audit?business=1"); p.status != 422 || !strings.Contains(p.body, `<option value="1" selected>`) {
		t.Errorf("a customer that there is not: %d", p.status)
	}
	more := func(until int) {
		t.Helper()
		for range until - strings.Count(r.get("/deliveries").body, `<option value="biz_`) {
			must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "Shop", nil))
		}
		s.wait(6 * time.Second) // the names are read every five
	}
	more(200) // which is how many are offered by name
	r.get("/deliveries").has(t, `<select id="business"`)
	for _, path := range []string{"/reports", "/map"} {
		r.get(path).has(t, `<select id="customer"`)
	}
	more(201)
	for _, path := range []string{"/reports", "/map"} {
		r.get(path+"?customer="+of).has(t, `<input id="customer" name="customer" type="text" value="`+of+`"`)
	}
	for _, path := range []string{"/deliveries", "/webhooks", "/requests", "/errors", "/audit"} {
		r.get(path+"?business="+of).has(t, `Customer ID`, `<input id="business" name="business" type="text" value="`+of+`"`)
	}
}

func TestTheCellsThatTellOfAChangeCountWhatAttentionDoes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	busyDay(t, s)
	r := s.signedIn(t, domain.RoleDispatcher)
	queue := regexp.MustCompile(`data-cells="([^"]+)" data-sum="(\d+)">(\d+)<`)
	cell := regexp.MustCompile(`data-cell="([^"]*)"[^>]*>(\d+)<`)
	for query, want := range map[string]int{"": 3, "?unassigned=1h&quiet=3d": 3, "?unassigned=2h": 2} { // no column begins at two hours
		queues := queue.FindAllStringSubmatch(r.get("/"+query).body, -1)
		counts := map[string]int{}
		for _, c := range cell.FindAllStringSubmatch(r.get("/board").body, -1) {
			counts[c[1]] = must[int](t)(strconv.Atoi(c[2]))
		}
		for _, q := range queues {
			sum := 0
			for _, key := range strings.Fields(q[1]) {
				sum += counts[key]
			}
			if strconv.Itoa(sum) != q[2] || q[2] != q[3] {
				t.Errorf("%q: the cells %s count %d, and the queue has %s, which it tells as %s", query, q[1], sum, q[3], q[2])
			}
		}
		if len(queues) != want {
			t.Errorf("%q has %d queues with cells, want %d", query, len(queues), want)
		}
	}
}

func TestAttentionIsCountedAgainByALinkThatKeepsItsTimes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	r.get("/?unassigned=5m&quiet=1h").has(t, `href="/console/?quiet=1h&amp;unassigned=5m">Refresh`)
}

func TestWhoHasNoWayBackIsToldToMakeOne(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const told = "You have no password yet"
	if p := s.signedIn(t, domain.RoleDispatcher).get("/"); strings.Contains(p.body, told) {
		t.Error("a person with a password is told that they have none")
	}
	issued := must[people.Issued](t)(s.directory.Invite(t.Context(), operator,
		people.Invitation{Email: "esi@waybill.example", Name: "Esi", Role: string(domain.RoleDispatcher)}))
	r := s.reader(t)
	r.post("/enter/"+issued.Secret, nil)
	r.get("/").has(t, told, `/console/account"`)
}

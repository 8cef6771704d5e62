package console_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

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
	list.has(t, "business="+business+"&amp;order=oldest&amp;status=booked", "Of all customers.")
	narrowed := r.get("/deliveries?business=" + business + "&order=oldest&status=booked")
	narrowed.has(t, `/businesses/`+business+`"`, "alone.", `?order=oldest&amp;status=booked">Show those of all customers`)
	if strings.Contains(narrowed.body, "Of all customers.") {
		t.Error("the list of one customer says that it is of all")
	}
}

var moveShown = regexp.MustCompile(`href="/console(/bulk\?[^"]*)">Move those shown`)

func TestAListLeadsToTheFormThatMovesWhatItShows(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if p := s.signedIn(t, domain.RoleViewer).get("/deliveries"); strings.Contains(p.body, "Move those shown") {
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
	preview.has(t, "may go to picked up now", "references="+string(s.delivery.Reference)+"&amp;reason_code=&amp;status=picked_up")
	back := r.get("/bulk?references=" + string(s.delivery.Reference) + "&status=failed&reason_code=no_rider")
	back.has(t, string(s.delivery.Reference)+"</textarea>", `value="failed" selected`, `value="no_rider" selected`)
}

func TestARunSaysWhereItMovedThingsAndOffersThoseThatStayed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	run := r.get("/bulk/runs/" + s.ids[":run"])
	run.has(t, "To delivered.", "Try those that stayed again", `/deliveries/`+string(s.delivery.ID)+`"`)
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

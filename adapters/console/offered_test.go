package console_test

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

func TestNoPageOffersARoleWhatItMayNotDo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	offered := map[domain.Role]map[string]bool{}
	for _, role := range everybody {
		r := s.signedIn(t, role)
		offered[role] = map[string]bool{}
		for _, page := range slices.Sorted(maps.Keys(matrix)) {
			if !strings.HasPrefix(page, http.MethodGet) || strings.Contains(page, "/events") || strings.Contains(page, "oidc") {
				continue
			}
			_, path, _ := matrix[page].question(t, s, page)
			p := r.ask(http.MethodGet, path, nil)
			_, content, _ := strings.Cut(p.body, "<main")
			for _, form := range stage.Forms(content) {
				to := cmp.Or(strings.TrimPrefix(form.Action, console.Prefix), path)
				route := stage.RouteOf(matrix, http.MethodPost, to)
				if may := matrix[route].may; route == "" || may != nil && !slices.Contains(may, role) {
					t.Errorf("%s offers a %s the form to %s (%q), which may not send it", page, role, to, route)
				}
				offered[role][route] = true
			}
		}
	}
	for role, least := range map[domain.Role]int{domain.RoleAdmin: 30, domain.RoleDispatcher: 6, domain.RoleSupport: 5, domain.RoleViewer: 4} {
		if n := len(offered[role]); n < least {
			t.Errorf("a %s is offered %d forms only", role, n)
		}
	}
}

func TestAPreviewTellsOfEachLineWhatTheMoveWouldDo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	over := sample.BookingWrite(s.delivery.Tenant)
	there := sample.BookingWrite(s.delivery.Tenant)
	sandbox := s.delivery.Tenant
	sandbox.Environment = domain.Sandbox
	simulated := sample.SimulatedWrite(sandbox)
	for _, w := range []ports.BookingWrite{over, there, simulated} {
		if err := s.Store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	for id, way := range map[domain.ID][]string{over.Delivery.ID: {"assigned", "picked_up", "in_transit", "delivered"},
		there.Delivery.ID: {"assigned"}} {
		for _, to := range way {
			moved(t, r, r.get("/deliveries/"+string(id)), to, "")
		}
	}
	names := []string{string(s.delivery.Reference), string(s.delivery.ID), string(over.Delivery.Reference),
		string(simulated.Delivery.Reference), "XMK2-QS3D-PP2", string(there.Delivery.Reference)}
	p := r.post("/bulk", url.Values{"references": {strings.Join(names, "\n")}, "status": {"assigned"}})
	var fates []string
	for _, m := range regexp.MustCompile(`<span class="tag [a-z]*">([^<]*)</span>`).FindAllStringSubmatch(p.body, -1) {
		fates = append(fates, m[1])
	}
	want := []string{"not now", "not now", "not found", "duplicate", "already there", "can be moved"} // those to look at first
	if !slices.Equal(fates, want) {
		t.Errorf("%d: the lines are %q, want %q", p.status, fates, want)
	}
	for _, text := range []string{"A simulation is moving it.", "No further step is possible.", "1 can be moved now. 5 cannot",
		"Move 1 delivery to assigned"} {
		if !strings.Contains(p.body, text) {
			t.Errorf("the preview lacks %q", text)
		}
	}
	for n, status := range map[int]int{domain.MaxMoves: http.StatusOK, domain.MaxMoves + 1: http.StatusUnprocessableEntity} {
		if p := r.post("/bulk", url.Values{"references": {references(n)}, "status": {"assigned"}}); p.status != status ||
			strings.Count(p.body, "-0000-0007") < n { // none is lost
			t.Errorf("%d references: %d, want %d with each of them", n, p.status, status)
		}
	}
}

func TestADeliveryShowsItsOwnRequestsAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	now := s.Clock.Now()
	id := func() domain.ID {
		return domain.ID(string(domain.PrefixRequest) + idAt(now).Hex())
	}
	request := func(of domain.ID, status int) domain.RequestRecord {
		return domain.RequestRecord{ID: id(), Environment: domain.Live, BusinessID: s.business.ID, ApplicationID: s.app.ID,
			KeyID: s.IDs.ID(domain.PrefixAPIKey), Route: "GET /v1/deliveries/{delivery_id}", Status: status, DeliveryID: of, Took: time.Millisecond,
			Weight: 1, Network: "198.51.100.0/24"}
	}
	other := sample.ID(domain.PrefixDelivery)
	both := []domain.RequestRecord{request(s.delivery.ID, 417), request(other, 418)}
	if _, err := s.Store.WriteRequests(t.Context(), id().Hex(), both, nil); err != nil {
		t.Fatal(err)
	}
	p := s.signedIn(t, domain.RoleSupport).get("/deliveries/" + string(s.delivery.ID))
	if !strings.Contains(p.body, ">417 <") || strings.Contains(p.body, ">418 <") {
		t.Errorf("%d: %s", p.status, regexp.MustCompile(`.{0,60}\b41[78]\b.{0,30}`).FindAllString(p.body, -1))
	}
}

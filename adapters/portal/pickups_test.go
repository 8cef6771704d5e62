package portal_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"waybill/application/directory"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// numbers takes what begins with +.
type numbers struct{ stage.FoldCase }

func (numbers) PhoneNumber(typed string) (domain.PhoneNumber, bool) {
	return domain.PhoneNumber(typed), strings.HasPrefix(typed, "+")
}

// placed is a pickup location of a house.
func (s *scene) placed(t *testing.T, h house, e domain.Environment, name string) domain.ID {
	t.Helper()
	return must[domain.PickupLocation](t)(directory.NewPickupLocations(s.storage, nil, s.Clock, s.IDs).Add(t.Context(), operator, h.tenant(e),
		directory.PickupLocationForm{Name: name, Address: "1 Depot Road", Contact: "+233302000001", Active: true,
			Coordinates: &domain.Coordinates{Latitude: 5.5571, Longitude: -0.1818}})).ID
}

// place is a pickup location as it is stored.
func (s *scene) place(t *testing.T, h house, e domain.Environment, name string) (found []domain.PickupLocation) {
	t.Helper()
	for _, l := range must[[]domain.PickupLocation](t)(s.Store.Read().PickupLocations.List(t.Context(), h.tenant(e),
		domain.PickupLocationFilter{}, domain.PageRequest{Limit: 1000})) {
		if l.Name == name {
			found = append(found, l)
		}
	}
	return found
}

// importing is the preview of a table, sent as a file by the person of r.
func (r *reader) importing(t *testing.T, e domain.Environment, table string) page {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part := must[interface{ Write([]byte) (int, error) }](t)(w.CreateFormFile("file", "places.csv"))
	must[int](t)(part.Write([]byte(table)))
	if err := w.WriteField("csv", ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	at := r.url + "/pickup-locations/" + string(e) + "/import"
	req := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodPost, at, &body))
	req.Header.Set("Content-Type", w.FormDataContentType())
	return r.do(req)
}

// confirmed sends the form of a preview.
func (r *reader) confirmed(t *testing.T, preview page) page {
	t.Helper()
	action, form := preview.form(t, "Import")
	return r.post(action, form)
}

// fates are the lines of a preview with what becomes of them.
func (p page) fates() string {
	var told []string
	for _, row := range strings.Split(p.body, "<tr data-id=\"")[1:] {
		line, rest, _ := strings.Cut(row, "\"")
		_, rest, _ = strings.Cut(rest, "<span class=\"tag ")
		_, rest, _ = strings.Cut(rest, "\">")
		fate, rest, _ := strings.Cut(rest, "<")
		if strings.Contains(rest, "changed since") {
			fate += "!"
		}
		told = append(told, line+" "+fate)
	}
	return strings.Join(told, ", ")
}

const places = "name,address,contact,latitude,longitude,active\r\n" +
	"Main depot,1 Depot Road,+233302000009,,,\r\n" + // another number
	"Airport branch,\"12 Oxford Street,\nOsu\",+233302000002,5.5,-0.1,\r\n" +
	"Tema branch,2 Harbour Road,0302,95,-0.1,perhaps\r\n" +
	"Labone,3 Ring Road,,,,\r\n" +
	"Kaneshie depot,1 Depot Road,,,,true\r\n" // as it is

func TestAnImportDoesWhatItsPreviewToldAndLeavesRefusedRowsOut(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.placed(t, s.house, domain.Live, "Kaneshie depot")
	r := s.signedIn(t, s.house, domain.RoleOwner)
	before := s.state(t, s.house)
	preview := r.importing(t, domain.Live, places)
	if got := preview.fates(); got != "5 refused, 2 will update, 3 will create, 6 will create, 7 unchanged" {
		t.Fatalf("the preview (%d) tells %s\n%s", preview.status, got, preview.body)
	}
	for _, text := range []string{"changes contact", "contact: no valid phone number", "latitude: -90 to 90 degrees", "active: true or false",
		"orders cannot use it yet: no contact, latitude, longitude", "Import 3 rows into live", "<span>Tema branch", "Refused rows are listed first"} {
		if !strings.Contains(html.UnescapeString(preview.body), text) {
			t.Errorf("the preview lacks %q", text)
		}
	}
	if after := s.state(t, s.house); after != before {
		t.Error("the preview has written something")
	}
	done := r.confirmed(t, preview)
	if done.at != "/pickup-locations/live" || !strings.Contains(done.body, "The table was imported: 2 created, 1 updated.") {
		t.Fatalf("imported: %d at %s", done.status, done.at)
	}
	osu, tema := s.place(t, s.house, domain.Live, "Airport branch"), s.place(t, s.house, domain.Live, "Tema branch")
	depot := s.place(t, s.house, domain.Live, "Main depot")
	if len(osu) != 1 || osu[0].Address != "12 Oxford Street,\nOsu" || len(tema) != 0 || depot[0].Contact != "+233302000009" ||
		len(s.place(t, s.house, domain.Sandbox, "Airport branch")) != 0 {
		t.Errorf("there are %q, %+v, %+v, %d", osu[0].Address, tema, depot, len(s.place(t, s.house, domain.Sandbox, "Airport branch")))
	}
	// The same form once more finds that everything is as the table has it.
	if p := r.confirmed(t, preview); p.status != http.StatusConflict ||
		p.fates() != "5 refused, 2 unchanged!, 3 unchanged!, 6 unchanged!, 7 unchanged" {
		t.Errorf("the same form again: %d, %s", p.status, p.fates())
	}
	entries := must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), s.house.business.ID,
		domain.AuditFilter{Action: domain.ActionPickupImport}, domain.PageRequest{Limit: 5}))
	if len(entries) != 1 || entries[0].Actor.ID != s.house.people[domain.RoleOwner].ID || entries[0].Details["created"] != "2" {
		t.Errorf("the audit log has %+v", entries)
	}
}

func TestAnImportAfterRowsHaveChangedWritesNothingAndSaysWhich(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	preview := r.importing(t, domain.Sandbox, places)
	if got := preview.fates(); got != "5 refused, 2 will update, 3 will create, 6 will create, 7 will create" {
		t.Fatalf("the preview tells %s", got)
	}
	s.wait(time.Second)
	use := directory.NewPickupLocations(s.storage, nil, s.Clock, s.IDs)
	must[domain.PickupLocation](t)(use.Amend(t.Context(), operator, s.house.tenant(domain.Sandbox), s.house.pickup[domain.Sandbox],
		domain.PickupLocationChange{Contact: new(domain.PhoneNumber("+233302000003"))}))
	s.placed(t, s.house, domain.Sandbox, "Kaneshie depot")
	before := s.state(t, s.house)
	again := r.confirmed(t, preview)
	if again.status != http.StatusConflict || again.fates() != "5 refused, 2 will update!, 3 will create, 6 will create, 7 unchanged!" ||
		!strings.Contains(again.body, "Nothing was imported: the pickup locations have changed since the preview") {
		t.Errorf("after a change: %d, %s", again.status, again.fates())
	}
	if after := s.state(t, s.house); after != before {
		t.Errorf("the locations were\n%s\nand are\n%s", before, after)
	}
	if p := r.confirmed(t, again); !strings.Contains(p.body, "2 created, 1 updated") {
		t.Errorf("the preview of now: %d at %s", p.status, p.at)
	}
	// A table that was exchanged under its preview is another one.
	action, form := r.importing(t, domain.Sandbox, "name,address\nA,1 Street\n").form(t, "Import")
	form.Set("csv", "name,address\nB,1 Street\n")
	if p := r.post(action, form); p.status != http.StatusConflict || len(s.place(t, s.house, domain.Sandbox, "B")) != 0 {
		t.Errorf("another table: %d", p.status)
	}
}

func TestATableThatCannotBeReadIsRefusedAtItsField(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	var many strings.Builder
	many.WriteString("name,address\n")
	for i := range 1001 {
		fmt.Fprintf(&many, "Branch %d,1 Street\n", i)
	}
	for content, want := range map[string]string{
		"":                             "Choose a file, or paste its rows.",
		"name,address\nOsu,\"1 Street": "Line 2: A quoted cell does not end properly",
		"name,place\nOsu,1 Street\n":   "Line 1: the column address is missing.",
		"Naam,Adres\nOsu,1 Street\n":   "Line 1: the columns name and address are missing.",
		"PK\x03\x04\x14\x00\xff":       "This is not a text table",
		"sep=;\nname;place\nOsu;1\n":   "Line 2: the column address is missing.",
		strings.Repeat("x", 300_000):   "has more than 256 kB",
		many.String():                  "There are more than 1000 rows",
	} {
		p := r.importing(t, domain.Sandbox, content)
		if told := strings.ToLower(html.UnescapeString(p.body)); p.status != http.StatusUnprocessableEntity ||
			!strings.Contains(told, strings.ToLower(want)) || !strings.Contains(told, `aria-describedby="file-hint file-error"`) {
			t.Errorf("%.20q: %d, without %q", content, p.status, want)
		}
	}
	if p := r.importing(t, domain.Sandbox, strings.Repeat("x", 2<<20)); p.status != http.StatusRequestEntityTooLarge ||
		!strings.Contains(p.body, "has more than 256 kB") {
		t.Errorf("2 MiB: %d\n%s", p.status, p.body)
	}
	if p := r.post("/pickup-locations/sandbox/import", url.Values{"csv": {"name,address\nOsu,1 Street\n"}}); p.fates() != "2 will create" {
		t.Errorf("rows that were pasted: %d, %s", p.status, p.fates())
	}
	preview := r.importing(t, domain.Sandbox, "name;street\nCaf\xe9;1 Street\n") // in windows-1252
	if p := r.confirmed(t, preview); len(s.place(t, s.house, domain.Sandbox, "Café")) != 1 {
		t.Errorf("a file in windows-1252: %s, %d at %s", preview.fates(), p.status, p.at)
	}
	template := r.get("/pickup-locations/sandbox/import/template.csv")
	if !strings.Contains(r.get("/pickup-locations/sandbox/import").body, `"/pickup-locations/sandbox/import/template.csv"`) ||
		template.status != http.StatusOK || template.body != "\ufeffname,address,contact,latitude,longitude,active\r\n" {
		t.Errorf("the template: %d, %q", template.status, template.body)
	}
}

func TestAPickupLocationIsCreatedEditedArchivedAndFound(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	action, form := r.get("/pickup-locations/sandbox/new").form(t, "Create")
	form.Set("name", "Airport branch")
	form.Set("latitude", "5.5")
	form.Set("contact", "0302")
	p := r.post(action, form)
	for _, text := range []string{`id="address-error"`, `id="contact-error"`, `id="longitude-error"`, "Give latitude and longitude together.", "Give the address.",
		`value="Airport branch"`} {
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, text) {
			t.Errorf("a wrong form: %d, without %s", p.status, text)
		}
	}
	form.Set("address", "12 Oxford Street")
	form.Set("longitude", "-0.1")
	form.Set("contact", "+233302000002")
	p = r.post(action, form)
	place := p.at
	if !strings.HasPrefix(place, "/pickup-locations/sandbox/pkp_") || !strings.Contains(p.body, "The pickup location was created.") {
		t.Fatalf("created: %d at %s", p.status, p.at)
	}
	action, form = p.form(t, "Save")
	form.Set("name", "Osu")
	if p = r.post(action, form); !strings.Contains(p.body, "<h1>Osu</h1>") {
		t.Errorf("renamed: %d", p.status)
	}
	action, form = p.form(t, "Archive")
	if p = r.post(action, form); !strings.Contains(p.body, "archived</span>") || s.place(t, s.house, domain.Sandbox, "Osu")[0].Active {
		t.Errorf("archived: %d", p.status)
	}
	for query, there := range map[string]bool{"?q=oxford": true, "?q=Ridge": false, "?active=true": false, "?active=false": true, "": true} {
		p := r.get("/pickup-locations/sandbox" + query)
		if has := strings.Contains(p.body, "href=\""+place+"\""); p.status != http.StatusOK || has != there {
			t.Errorf("%q: %d, has it: %v", query, p.status, has)
		}
	}
	if p := r.get(strings.Replace(place, "sandbox", "live", 1)); p.status != http.StatusNotFound {
		t.Errorf("in live: %d", p.status)
	}
	action, form = r.get(place).form(t, "Restore")
	r.post(action, form)
	entries := must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), s.house.business.ID,
		domain.AuditFilter{ActorID: s.house.people[domain.RoleDeveloper].ID}, domain.PageRequest{Limit: 4}))
	var done []string
	for _, e := range entries {
		done = append(done, string(e.Action))
	}
	if got := strings.Join(done, " "); !strings.HasPrefix(got,
		"pickup_location.update pickup_location.update pickup_location.update pickup_location.create") {
		t.Errorf("the audit log has %s", got)
	}
}

func TestALongListOfPickupLocationsHasPages(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		var many []domain.PickupLocation
		for i := range 70 {
			many = append(many, domain.PickupLocation{ID: s.IDs.ID(domain.PrefixPickupLocation), Name: fmt.Sprintf("Point %02d", i),
				Address: "1 Street", CreatedAt: s.Clock.Now().Add(time.Duration(i) * time.Second), UpdatedAt: s.Clock.Now()})
		}
		return tx.PickupLocations.InsertAll(ctx, s.house.tenant(domain.Sandbox), many)
	})
	r := s.signedIn(t, s.house, domain.RoleViewer)
	first := r.get("/pickup-locations/sandbox?q=point")
	if n := strings.Count(first.body, "<tr data-id="); n != 50 || !strings.Contains(first.body, "Point 69") {
		t.Fatalf("the first page has %d", n)
	}
	_, rest, _ := strings.Cut(first.body, `aria-label="Pages"><a class="button second" href="`)
	older, _, _ := strings.Cut(rest, `"`)
	second := r.get(html.UnescapeString(older))
	if n := strings.Count(second.body, "<tr data-id="); n != 20 || !strings.Contains(second.body, "Point 00") ||
		strings.Contains(second.body, "Point 20") {
		t.Errorf("the second page has %d", n)
	}
	foreign := "/pickup-locations/sandbox?cursor=" + string(s.other.pickup[domain.Sandbox])
	if p := r.get(foreign); p.status != http.StatusNotFound {
		t.Errorf("behind another's: %d", p.status)
	}
}

func TestAPointIsTakenAsAMapCopiesIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	form := url.Values{"name": {"Osu kitchen"}, "address": {"12 Oxford Street"}, "contact": {"+233302000001"}, "latitude": {"5.5571, -0.1818"}}
	if p := r.post("/pickup-locations/sandbox", form); p.status != http.StatusOK || !strings.Contains(p.body, `value="5.5571"`) ||
		!strings.Contains(p.body, `value="-0.1818"`) {
		t.Errorf("%d at %s: %s", p.status, p.at, p.body)
	}
}

func TestAnEmptyListOfTheSandboxLeadsToThatOfLive(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	list := r.get("/deliveries?application=" + string(must[domain.Application](t)(
		s.tenants.CreateApplication(t.Context(), operator, s.house.business.ID, "Empty")).ID))
	if !strings.Contains(list.body, "No sandbox delivery yet") || !strings.Contains(list.body, ">Show live deliveries</a>") {
		t.Errorf("an empty list is a dead end: %s", list.body)
	}
}

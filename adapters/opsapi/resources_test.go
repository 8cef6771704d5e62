package opsapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func (d *scene) audit(t *testing.T) []string {
	t.Helper()
	got := d.send(t, "GET", "/audit?limit=100", "").is(200)
	list, _ := got.at("data").([]any)
	var actions []string
	for i := range list {
		actions = append([]string{got.text("data", i, "action")}, actions...)
	}
	return actions
}

func TestACustomerIsMadeChangedAndListed(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	made := d.send(t, "POST", "/businesses", `{"name":" Adom Foods "}`).is(201)
	at := "/businesses/" + made.id()
	if made.text("data", "name") != "Adom Foods" || made.at("data", "rate_limit") != nil || made.header.Get("Location") != "/ops/v1"+at {
		t.Errorf("%s", made.body)
	}
	d.send(t, "PATCH", at, `{"name":"Adom Foods"}`).is(200) // changes nothing
	if got := d.send(t, "PATCH", at, `{"rate_limit":{"limit":30,"window_seconds":60}}`).is(200); got.text("data", "rate_limit",
		"limit") != "30" {
		t.Errorf("%s", got.body)
	}
	if got := d.send(t, "PATCH", at, `{"name":"Adom","rate_limit":{"default":true}}`).is(200); got.at("data", "rate_limit") != nil ||
		got.text("data", "name") != "Adom" {
		t.Errorf("%s", got.body)
	}
	if got := d.send(t, "GET", at, "").is(200); got.text("data", "name") != "Adom" {
		t.Errorf("%s", got.body)
	}
	for _, disabled := range []string{"true", "true", "false"} {
		if got := d.send(t, "PATCH", at, `{"disabled":`+disabled+`}`).is(200); got.text("data", "disabled") != disabled {
			t.Errorf("%s", got.body)
		}
	}
	app := d.send(t, "POST", at+"/applications", `{"name":"Shop"}`).is(201)
	if got := d.send(t, "PATCH", "/applications/"+app.id(), `{"name":" Web shop "}`).is(200); got.text("data", "name") != "Web shop" {
		t.Errorf("%s", got.body)
	}
	d.send(t, "PATCH", "/applications/"+app.id(), `{}`).is(422)
	for _, disabled := range []string{"true", "true", "false"} {
		if got := d.send(t, "PATCH", "/applications/"+app.id(), `{"disabled":`+disabled+`}`).is(200); got.text("data", "disabled") != disabled {
			t.Errorf("%s", got.body)
		}
	}
	if got := d.send(t, "GET", at+"/applications", "").is(200); got.text("data", 0, "id") != app.id() {
		t.Errorf("%s", got.body)
	}
	d.send(t, "GET", "/applications/"+app.id(), "").is(200)
	if got, want := fmt.Sprint(d.audit(t)), "[operator.create business.create business.update business.update "+
		"business.disable business.enable "+
		"application.create application.rename application.disable application.enable]"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

func TestAKeyIsShownOnceRotatedAndRevoked(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	business := d.send(t, "POST", "/businesses", `{"name":"Adom"}`).is(201).id()
	app := d.send(t, "POST", "/businesses/"+business+"/applications", `{"name":"Shop"}`).is(201).id()
	keys := "/applications/" + app + "/keys"
	made := d.send(t, "POST", keys, `{"environment":"live","scopes":["quotes:read","deliveries:read"],"expires_in":"90d"}`).is(201)
	secret := made.text("data", "key")
	next := d.send(t, "POST", "/keys/"+made.id()+"/rotate", "").is(201)
	if next.text("data", "key") == secret || next.id() == made.id() ||
		fmt.Sprint(next.at("data", "scopes")) != "[quotes:read deliveries:read]" {
		t.Errorf("%s", next.body)
	}
	for range 2 {
		if got := d.send(t, "POST", "/keys/"+made.id()+"/revoke", `{}`).is(200); got.at("data", "revoked_at") == nil {
			t.Errorf("%s", got.body)
		}
	}
	d.send(t, "POST", "/keys/"+made.id()+"/rotate", "").refused(409, "API_KEY_REVOKED")
	for _, path := range []string{keys, "/keys/" + made.id(), "/audit"} {
		got := d.send(t, "GET", path, "").is(200)
		if strings.Contains(got.body, secret) || strings.Contains(got.body, next.text("data", "key")) {
			t.Errorf("%s shows a key: %s", path, got.body)
		}
	}
	for body, want := range map[string]string{
		`{}`: "environment required, scopes required",
		`{"environment":"test","scopes":["all","quotes:read"],"expires_in":"soon"}`: "environment not_allowed, expires_in invalid_format, " +
			"scopes not_allowed",
		`{"environment":"live","scopes":[]}`:                               "scopes too_short",
		`{"environment":"live","scopes":["everything"],"expires_in":"0s"}`: "expires_in invalid_format, scopes[0] not_allowed",
	} {
		if got := d.send(t, "POST", keys, body).refused(422, "VALIDATION_ERROR"); got.fields() != want {
			t.Errorf("%s: %q, want %q", body, got.fields(), want)
		}
	}
	if got, want := fmt.Sprint(d.audit(t)),
		"[operator.create business.create application.create key.create key.rotate key.revoke]"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

func TestAPickupLocationSaysWhatItLacksUntilItIsCompleted(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	business := d.send(t, "POST", "/businesses", `{"name":"Adom"}`).is(201).id()
	at := "/businesses/" + business + "/environments/live/pickup-locations"
	made := d.send(t, "POST", at, `{"name":"Osu","address":"12 Oxford Street"}`).is(201)
	if fmt.Sprint(made.at("data", "missing")) != "[contact coordinates]" || made.text("data", "active") != "true" {
		t.Errorf("%s", made.body)
	}
	if got := d.send(t, "PATCH", at+"/"+made.id(), `{"latitude":5.5}`).refused(422, "VALIDATION_ERROR"); got.fields() != "longitude required" {
		t.Errorf("%s", got.body)
	}
	got := d.send(t, "PATCH", at+"/"+made.id(), `{"latitude":5.5,"longitude":-0.1,"contact":"+233302000001"}`).is(200)
	if fmt.Sprint(got.at("data", "missing")) != "[]" || got.text("data", "complete") != "true" {
		t.Errorf("%s", got.body)
	}
	d.send(t, "GET", at+"/"+made.id(), "").is(200)
	d.send(t, "GET", strings.Replace(at, "live", "sandbox", 1)+"/"+made.id(), "").refused(404, "NOT_FOUND")
	if got := d.send(t, "GET", strings.Replace(at, "live", "sandbox", 1), "").is(200); len(got.at("data").([]any)) != 3 {
		t.Errorf("%s", got.body)
	}
	if got := d.send(t, "POST", at, `{"address":"x","contact":"1","latitude":91,"active":"yes"}`).refused(422,
		"VALIDATION_ERROR"); got.fields() != "active invalid_type, address too_short, contact invalid_format, latitude out_of_range, longitude "+
		"required, name required" {
		t.Errorf("%s", got.fields())
	}
	if got, want := fmt.Sprint(d.audit(t)), "[operator.create business.create pickup_location.create pickup_location.update]"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

func TestATableIsImportedOnceHoweverOftenItIsSent(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	business := d.send(t, "POST", "/businesses", `{"name":"Adom"}`).is(201).id()
	at := "/businesses/" + business + "/environments/live/pickup-locations/import"
	table := "\xef\xbb\xbfname,address,contact,latitude,longitude,active\r\n\"Osu \"\"A\"\"\",\"12 Oxford Street, " +
		"Osu\",+233302000001,5.5,-0.1,\r\nTema,1 Harbour Road,,,,no\r\n"
	csv := []string{"Content-Type", "text/csv; charset=utf-8"}
	counts := func(path, body, want string) *reply {
		t.Helper()
		got := d.send(t, "POST", path, body, csv...).is(200)
		if have := got.text("data", "created") + " " + got.text("data", "updated") + " " + got.text("data", "unchanged"); have != want {
			t.Errorf("%s, want %s: %s", have, want, got.body)
		}
		return got
	}
	counts(at+"?dry_run=true", table, "2 0 0")
	first := counts(at, table, "2 0 0")
	if first.text("data", "incomplete", 0, "line") != "3" ||
		fmt.Sprint(first.at("data", "incomplete", 0, "missing")) != "[contact coordinates]" {
		t.Errorf("%s", first.body)
	}
	counts(at, table, "0 0 2")
	counts(at, strings.Replace(table, "Road,,,,no", "Road,+233302000002,,,", 1), "0 1 1")
	wrong := "name,address,latitude,longitude,contact\n,x,91,,12\nOsu,1 Street,,,,Accra\nOsu,2 Street,1,2,+233302000001\nOsu,2 Street,,,\n"
	refused := d.send(t, "POST", at, wrong, csv...).refused(422, "IMPORT_INVALID")
	list, _ := refused.at("error", "details", "errors").([]any)
	var lines []string
	for i := range list {
		lines = append(lines, refused.text("error", "details", "errors", i, "line")+" "+refused.text("error", "details", "errors", i, "field"))
	}
	if got, want := strings.Join(lines, ", "), "2 name, 2 address, 2 contact, 2 latitude, 2 longitude, 3 , 5 "; got != want {
		t.Errorf("told %q, want %q: %s", got, want, refused.body)
	}
	if got := d.send(t, "GET", strings.TrimSuffix(at, "/import"), "").is(200); len(got.at("data").([]any)) != 2 {
		t.Errorf("%s", got.body)
	}
	d.send(t, "POST", at, table).refused(415, "UNSUPPORTED_MEDIA_TYPE")
	d.send(t, "POST", at, strings.Repeat("x", 5<<20+1), csv...).refused(413, "PAYLOAD_TOO_LARGE")
	var rows strings.Builder
	rows.WriteString("name,address\n")
	for i := range 10_001 {
		fmt.Fprintf(&rows, "Branch %d,%d Ring Road\n", i, i)
	}
	if got := d.send(t, "POST", at, rows.String(), csv...).refused(422, "IMPORT_INVALID"); got.text("error", "details", "errors", 0,
		"line") != "10002" {
		t.Errorf("%s", got.body)
	}
	if got, want := fmt.Sprint(d.audit(t)), "[operator.create business.create pickup_location.import pickup_location.import]"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

// book stores a delivery of the tenant, now.
func (d *scene) book(t *testing.T, tenant domain.Tenant, externalID string) *domain.Delivery {
	t.Helper()
	recipient := sample.Recipient()
	address := sample.Address(recipient.ID)
	d.Write(t, func(ctx context.Context, tx ports.Stores) error {
		if _, _, err := tx.Recipients.Add(ctx, tenant, recipient); err != nil {
			return err
		}
		_, _, err := tx.Recipients.AddAddress(ctx, tenant, address)
		return err
	})
	w := sample.BookingTo(tenant, recipient, address, func(b *domain.Booking) {
		b.CreatedAt, b.ExternalID = d.Clock.Now(), externalID
		b.ID = sample.IDAt(domain.PrefixDelivery, b.CreatedAt) // lists by age go by it too
	})
	if err := d.Store.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return w.Delivery
}

func TestAnOperatorFindsADeliveryAndMovesItToItsEnd(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	tenant := d.NewTenant(t)
	other := d.book(t, d.NewTenant(t), "order-2")
	booked := d.book(t, tenant, "order-1")
	for _, query := range []string{"id=" + string(booked.ID), "external_id=order-1", "reference=" + string(booked.Reference),
		"reference=" + strings.ToLower(strings.ReplaceAll(string(booked.Reference), "-", "")), "business_id=" + string(tenant.BusinessID),
		"application_id=" + string(tenant.ApplicationID)} {
		got := d.send(t, "GET", "/deliveries?"+query, "").is(200)
		if list, _ := got.at("data").([]any); len(list) != 1 || got.text("data", 0, "id") != string(booked.ID) ||
			got.text("data", 0, "business_id") != string(tenant.BusinessID) {
			t.Errorf("%s: %s", query, got.body)
		}
	}
	advance := "/deliveries/" + string(booked.ID) + "/advance"
	for _, status := range []string{"assigned", "picked_up", "in_transit", "delivered"} {
		if got := d.send(t, "POST", advance, `{"status":"`+status+`"}`).is(200); got.text("data", "status") != status {
			t.Errorf("%s", got.body)
		}
	}
	again := d.send(t, "POST", advance, `{"status":"delivered"}`).refused(409, "TRANSITION_INVALID")
	if again.text("error", "details", "current_status") != "delivered" || again.text("error", "details", "requested_status") != "delivered" ||
		fmt.Sprint(again.at("error", "details", "allowed_statuses")) != "[]" {
		t.Errorf("%s", again.body)
	}
	whole := d.send(t, "GET", "/deliveries/"+string(booked.ID), "").is(200)
	if list, _ := whole.at("data", "timeline").([]any); len(list) != 5 || whole.text("data", "application", "id") != string(
		tenant.ApplicationID) || whole.text("data", "business", "name") != "Shop" {
		t.Errorf("%s", whole.body)
	}
	entry := d.send(t, "GET", "/audit?target="+string(booked.ID)+"&action=delivery.advance&limit=1", "").is(200)
	if entry.text("data", 0, "details", "from") != "in_transit" || entry.text("data", 0, "details", "to") != "delivered" ||
		entry.text("meta", "has_more") != "true" {
		t.Errorf("%s", entry.body)
	}
	if list := d.audit(t); len(list) != 5 { // the token and four moves; the fifth was refused
		t.Errorf("kept %v", list)
	}
	d.Clock.GoOn(11 * 60e9)
	if got := d.send(t, "GET", "/deliveries?status=booked&status_older_than=10m", "").is(200); got.text("data", 0, "id") != string(other.ID) {
		t.Errorf("%s", got.body)
	}
	if got := d.send(t, "GET", "/deliveries?status=booked&status_older_than=12m", "").is(200); len(got.at("data").([]any)) != 0 ||
		got.text("meta", "created_after") == "" {
		t.Errorf("%s", got.body)
	}
	for body, want := range map[string]string{
		`{}`: "status required", `{"status":"booked"}`: "status not_allowed",
		`{"status":"lost","reason_code":"rain"}`: "reason_code not_allowed, status not_allowed",
	} {
		if got := d.send(t, "POST", advance, body).refused(422, "VALIDATION_ERROR"); got.fields() != want {
			t.Errorf("%s: %q, want %q", body, got.fields(), want)
		}
	}
}

func TestACursorBelongsToItsListAndFilters(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	tenant := d.NewTenant(t)
	want := ""
	for i := range 5 {
		want += string(d.book(t, tenant, fmt.Sprintf("order-%d", i)).ID) + " "
	}
	var seen, cursor string
	for page := range 3 {
		got := d.send(t, "GET", "/deliveries?limit=2&environment=sandbox"+cursor, "").is(200)
		for i := range got.at("data").([]any) {
			seen += got.text("data", i, "id") + " "
		}
		if more := got.text("meta", "has_more") == "true"; more != (page < 2) {
			t.Errorf("page %d: %s", page, got.body)
		}
		if cursor = "&cursor=" + got.text("meta", "next_cursor"); page == 0 {
			for _, elsewhere := range []string{
				"/deliveries?limit=2" + cursor, "/deliveries?environment=live" + cursor, "/deliveries?environment=sandbox&order=desc" + cursor,
				"/businesses?limit=2" + cursor, "/audit?limit=2" + cursor, "/deliveries?environment=sandbox" + cursor + "A",
				"/deliveries?environment=sandbox&cursor=AAAA",
			} {
				if got := d.send(t, "GET", elsewhere, "").refused(422, "VALIDATION_ERROR"); got.fields() != "cursor invalid_format" {
					t.Errorf("%s: %s", elsewhere, got.body)
				}
			}
		}
	}
	if seen != want {
		t.Errorf("saw %s, want %s", seen, want)
	}
}

func TestHostileRequestsAreRefusedInTheDescribedWay(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	business := d.send(t, "POST", "/businesses", `{"name":"Adom"}`).is(201).id()
	nobody := string(sample.ID(domain.PrefixBusiness))
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"DELETE", "/businesses", "", 405, "METHOD_NOT_ALLOWED"},
		{"PUT", "/businesses/" + business, `{}`, 405, "METHOD_NOT_ALLOWED"},
		{"GET", "/nothing", "", 404, "NOT_FOUND"},
		{"GET", "/businesses/", "", 404, "NOT_FOUND"},
		{"GET", "/businesses/" + nobody, "", 404, "NOT_FOUND"},
		{"GET", "/businesses/biz_1", "", 404, "NOT_FOUND"},
		{"GET", "/businesses/a%2Fb", "", 404, "NOT_FOUND"},
		{"PATCH", "/businesses/" + nobody, `{"name":"x"}`, 404, "NOT_FOUND"},
		{"POST", "/businesses/" + nobody + "/applications", `{"name":"x"}`, 404, "NOT_FOUND"},
		{"GET", "/businesses/" + nobody + "/applications", "", 404, "NOT_FOUND"},
		{"GET", "/businesses/" + nobody + "/environments/live/pickup-locations", "", 404, "NOT_FOUND"},
		{"POST", "/businesses/" + nobody + "/environments/live/pickup-locations", `{"name":"x","address":"1 Street"}`, 404, "NOT_FOUND"},
		{"GET", "/businesses/" + business + "/environments/Live/pickup-locations", "", 404, "NOT_FOUND"},
		{"POST", "/keys/" + string(sample.ID(domain.PrefixAPIKey)) + "/revoke", "", 404, "NOT_FOUND"},
		{"POST", "/deliveries/" + string(sample.ID(domain.PrefixDelivery)) + "/advance", `{"status":"assigned"}`, 404, "NOT_FOUND"},
		{"GET", "/deliveries?reference=x&limit=0&order=up&created_after=now&status_older_than=soon&id=1&environment=test", "", 422,
			"VALIDATION_ERROR"},
		{"GET", "/deliveries?refrence=x", "", 400, "INVALID_REQUEST"},
		{"GET", "/businesses?limit=1&limit=2", "", 422, "VALIDATION_ERROR"},
		{"GET", "/businesses?limit=%zz", "", 400, "INVALID_REQUEST"},
		{"GET", "/audit?action=key.steal", "", 422, "VALIDATION_ERROR"},
		{"POST", "/businesses", `{"name":"x","nmae":"y"}`, 400, "INVALID_REQUEST"},
		{"POST", "/businesses", `{"name":"x","name":"y"}`, 400, "INVALID_REQUEST"},
		{"POST", "/businesses", `{"name":`, 400, "INVALID_REQUEST"},
		{"POST", "/businesses", `{"name":"` + strings.Repeat("x", 64<<10) + `"}`, 413, "PAYLOAD_TOO_LARGE"},
		{"POST", "/businesses", `{"name":"","rate_limit":{"limit":0}}`, 422, "VALIDATION_ERROR"},
		{"POST", "/businesses", `{"name":"x","rate_limit":{"default":true,"limit":1}}`, 422, "VALIDATION_ERROR"},
		{"PATCH", "/businesses/" + business, `{}`, 422, "VALIDATION_ERROR"},
		{"PATCH", "/applications/" + string(sample.ID(domain.PrefixApplication)), `{}`, 422, "VALIDATION_ERROR"},
	} {
		d.send(t, c.method, c.path, c.body).refused(c.status, c.code)
	}
	d.send(t, "POST", "/businesses", `{"name":"x"}`, "Content-Type", "text/plain").refused(415, "UNSUPPORTED_MEDIA_TYPE")
	got := d.send(t, "GET", "/audit?"+d.token+"=1", "").refused(400, "INVALID_REQUEST")
	if strings.Contains(got.body, d.token) {
		t.Errorf("a token was repeated: %s", got.body)
	}
	if list := d.audit(t); len(list) != 2 { // the token and the one business
		t.Errorf("kept %v", list)
	}
}

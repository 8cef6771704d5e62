package opsapi_test

import (
	"strings"
	"testing"

	"waybill/application/people"
	"waybill/domain"
)

func TestACompanyMakesALinkThatLetsItsCustomerIn(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	business := d.send(t, "POST", "/businesses", `{"name":"Adom"}`).is(201).id()
	other := d.send(t, "POST", "/businesses", `{"name":"Other"}`).is(201).id()
	at := "/businesses/" + business + "/portal-links"
	made := d.send(t, "POST", at, `{"email":"Ama@Example.com","name":"Ama Mensah","role":"owner"}`).is(201)
	if made.text("data", "email") != "ama@example.com" || made.text("data", "role") != "owner" ||
		made.text("data", "purpose") != "invitation" ||
		!strings.HasPrefix(made.text("data", "link"), "https://portal.example.com/enter/") {
		t.Errorf("%s", made.body)
	}
	if again := d.send(t, "POST", at, `{"email":"ama@example.com","name":"Ama","role":"owner"}`).is(201); again.text("data",
		"link") == made.text("data", "link") ||
		again.text("data", "person_id") != made.text("data", "person_id") {
		t.Errorf("%s", again.body)
	}
	for _, body := range []string{
		`{}`, `{"email":"ama","name":"Ama","role":"owner"}`, `{"email":"ama@example.com","name":"","role":"owner"}`,
		`{"email":"ama@example.com","name":"Ama","role":"admin"}`, `{"email":"ama@example.com","name":"Ama","role":"owner","password":"x"}`,
	} {
		if got := d.send(t, "POST", at, body); got.status != 422 && got.status != 400 {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	staff := people.NewDirectory(d.Store, d.Clock, d.IDs, false)
	if _, err := staff.Invite(t.Context(), domain.AuditActor{Name: "command:test"}, people.Invitation{Email: "kofi@waybill.example", Name: "Kofi",
		Role: "viewer"}); err != nil {
		t.Fatal(err)
	}
	d.send(t, "POST", at, `{"email":"Kofi@waybill.example","name":"Kofi","role":"viewer"}`).refused(409, "PERSON_IS_STAFF")
	d.send(t, "POST", "/businesses/biz_1/portal-links", `{"email":"ama@example.com","name":"Ama","role":"owner"}`).refused(404, "NOT_FOUND")

	if got := d.send(t, "GET", "/audit?business_id="+business+"&action=person.invite", "").is(200); got.text("data", 0, "actor",
		"kind") != "operator" ||
		got.text("data", 0, "target") != made.text("data", "person_id") || strings.Contains(got.body, "enter/") {
		t.Errorf("%s", got.body)
	}
	if got := d.send(t, "GET", "/audit?limit=100&business_id="+other, "").is(200); strings.Contains(got.body, business) ||
		!strings.Contains(got.body, other) {
		t.Errorf("the audit log of another business: %s", got.body)
	}
	if got := d.send(t, "GET", "/audit?person_id="+made.text("data", "person_id"), "").is(200); strings.Contains(got.body, "person.invite") {
		t.Errorf("what was done to a person is not done by them: %s", got.body)
	}
}

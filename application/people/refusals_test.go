package people_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
	"waybill/test/stage"
)

func TestRefusalsOfOnePersonAreJoinedInTheAuditLog(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	var log stage.Log
	logger := slog.New(slog.NewTextHandler(&log, nil))
	keep := func(refusals ...domain.Refusal) {
		t.Helper()
		kept, end := people.NewRefusals(s.stage.Store, s.stage.Clock, s.stage.IDs, logger)
		for _, r := range refusals {
			kept.Keep(r)
		}
		end()
	}
	counts := func() (counts []string) {
		for _, e := range s.entries(t, s.mine) {
			if e.Action == domain.ActionPersonRefused {
				counts = append(counts, e.Details["outcome"]+" "+e.Details["count"])
				if e.Target != ama.Person.ID || e.Actor.ID != ama.Person.ID || e.Details["site"] != "portal" || e.Details["since"] == "" {
					t.Errorf("%+v", e)
				}
			}
		}
		return counts
	}
	refusal := domain.Refusal{Site: domain.Portal, Outcome: domain.RefusedPassword, PersonID: ama.Person.ID, RequestID: "req_1"}
	unknown := refusal
	unknown.PersonID = s.stage.IDs.ID(domain.PrefixPerson)
	nobody := refusal
	nobody.PersonID = ""
	many := make([]domain.Refusal, 0, 210)
	for range 110 {
		many = append(many, refusal)
	}
	role := refusal
	role.Outcome, role.BusinessID = domain.RefusedRole, s.mine
	keep(append(many, unknown, nobody, role)...)
	if got, want := fmt.Sprint(counts()), "[role 1 wrong_password 100 wrong_password 10 wrong_password 1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	before := len(counts())
	s.enter(t, s.other, "ama@example.com", domain.RoleOwner)
	elsewhere := role
	elsewhere.BusinessID = s.other
	keep(elsewhere, role) // the one must not hide the other from the log of its business
	if got := counts(); len(got) != before+1 || got[0] != "role 1" {
		t.Errorf("refused in another business first: %s", got)
	}

	kept, end := people.NewRefusals(s.stage.Store, s.stage.Clock, s.stage.IDs, logger)
	defer end()
	until := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); len(counts()) != n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%q, want %d", counts(), n)
			}
		}
	}
	kept.Keep(refusal)
	until(6)
	s.stage.Clock.GoOn(24 * time.Hour)
	kept.Keep(refusal)
	until(7)
	if log.String() != "" {
		t.Error(log.String())
	}
	if got := counts()[0]; got != "wrong_password 1" {
		t.Errorf("a day later: %s", got)
	}
}

// The log of a business may not tell what the person of an open invitation is called elsewhere.
func TestARefusalNamesThePersonAsTheBusinessKnowsThem(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	boss := s.member(t, s.other, "boss@example.com", "Dr. Secret", domain.RoleOwner)
	s.byPortalLink(t, s.mine, "boss@example.com", domain.RoleOwner)
	refuse := func(business domain.ID) (name string) {
		t.Helper()
		kept, end := people.NewRefusals(s.stage.Store, s.stage.Clock, s.stage.IDs, slog.New(slog.DiscardHandler))
		kept.Keep(domain.Refusal{Site: domain.Portal, Outcome: domain.RefusedRole, PersonID: boss.Person.ID, BusinessID: business})
		end()
		return s.entries(t, business)[0].Actor.Name
	}
	if got := refuse(s.mine); got != "Typed There" {
		t.Errorf("to the business that invited them: %q", got)
	}
	if got := refuse(s.other); got != "Dr. Secret" {
		t.Errorf("to their own business: %q", got)
	}
	if _, err := s.Remove(t.Context(), command, s.mine, boss.Person.ID); err != nil {
		t.Fatal(err)
	}
	if got := refuse(s.mine); got != "boss@example.com" {
		t.Errorf("after they were removed: %q", got)
	}
}

package mails_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/application/tenancy"
	"waybill/domain"
	"waybill/test/stage"
)

// member invites a person, who signs in.
func (s *scene) member(t *testing.T, email, role string) {
	t.Helper()
	i, err := s.directory.Invite(t.Context(), command, people.Invitation{BusinessID: s.business, Email: email, Name: role, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.access.Enter(t.Context(), people.Browser{}, i.Secret); err != nil {
		t.Fatal(err)
	}
}

// told empties the outbox, and returns which expiring keys each person was told
// of.
func (s *scene) told(t *testing.T) (all []string) {
	t.Helper()
	before := len(s.sent)
	for more := true; more; {
		var err error
		if more, err = s.sender.Send(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range s.sent[before:] {
		if l.Kind == domain.MailKeyExpires {
			all = append(all, fmt.Sprint(l.To, " ", l.KeyID))
		}
	}
	slices.Sort(all)
	return all
}

func TestEachOwnerAndDeveloperIsToldOnceOfEachKeyThatExpiresSoon(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.member(t, "ama@example.com", "owner")
	s.member(t, "kofi@example.com", "developer")
	s.member(t, "efua@example.com", "viewer")
	tenants := tenancy.NewTenants(s.Store, stage.Digester{}, s.Clock, s.IDs, stage.Unheard{})
	app, err := tenants.CreateApplication(t.Context(), command, s.business, "Shop")
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	key := func(lives time.Duration) domain.ID {
		t.Helper()
		var lifetime *time.Duration // nil: it does not expire
		if lives != 0 {
			lifetime = &lives
		}
		k, err := tenants.IssueKey(t.Context(), command, app.ID, domain.Live, domain.AllScopes(), lifetime)
		if err != nil {
			t.Fatal(err)
		}
		return k.ID
	}
	soon, later, revoked, late := key(30*day), key(30*day+time.Minute), key(30*day), key(30*day)
	key(0)
	if _, err := tenants.RevokeKey(t.Context(), command, revoked); err != nil {
		t.Fatal(err)
	}
	tell := func(want ...string) {
		t.Helper()
		for range 2 { // by two processes, say
			if err := s.sender.TellExpiring(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(want)
		if got := s.told(t); !slices.Equal(got, want) {
			t.Errorf("told are %v, want %v", got, want)
		}
	}
	tell()
	s.Clock.GoOn(23*day - time.Second)
	tell()
	s.Clock.GoOn(time.Second)
	key(6 * day) // the mail about its making says enough
	if err := s.sender.TellExpiring(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tenants.RevokeKey(t.Context(), command, late); err != nil { // before its mail is sent
		t.Fatal(err)
	}
	tell(fmt.Sprint("ama@example.com ", soon), fmt.Sprint("kofi@example.com ", soon))
	s.Clock.GoOn(time.Minute)
	tell(fmt.Sprint("ama@example.com ", later), fmt.Sprint("kofi@example.com ", later))
	s.Clock.GoOn(8 * day)
	tell()
}

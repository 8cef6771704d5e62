package people_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

var (
	command = domain.AuditActor{Name: "command:ama"}
	browser = people.Browser{Address: "203.0.113.7", Device: "Firefox\x00 on Linux", RequestID: "req_1"}
)

func TestAnEndedSessionIsEndedInEveryProcessAtOnce(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(s *scene, e people.Entered) error{
		"removed": func(s *scene, e people.Entered) error {
			_, err := s.Remove(t.Context(), command, s.mine, e.Person.ID)
			return err
		},
		"disabled": func(s *scene, e people.Entered) error {
			_, err := s.SetDisabled(t.Context(), command, e.Person.ID, true)
			return err
		},
		"ended": func(s *scene, e people.Entered) error {
			_, err := s.EndSessions(t.Context(), command, e.Person.ID)
			return err
		},
		"signed out": func(s *scene, e people.Entered) error { return s.SignOut(t.Context(), e.Principal, "req_3") },
		"ended by its ID": func(s *scene, e people.Entered) error {
			return s.second.EndSession(t.Context(), e.Principal, "req_3", e.Session.ID)
		},
		"expired": nil,
		"idle":    func(s *scene, e people.Entered) error { s.stage.Clock.GoOn(domain.SessionIdle); return nil },
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			e := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
			another := s.enter(t, s.mine, "kofi@example.com", domain.RoleOwner)
			s.in(t, "before", e)
			if what == "expired" {
				s.stage.Clock.GoOn(-s.stage.Clock.Now().Sub(stage.Noon))
				expiry := e.Session.ExpiresAt
				for s.stage.Clock.Now().Before(expiry.Add(-domain.SessionIdle)) {
					s.in(t, "in use", e)
					s.stage.Clock.GoOn(domain.SessionIdle / 2)
				}
				s.in(t, "before it expires", e)
				s.stage.Clock.GoOn(expiry.Sub(s.stage.Clock.Now()))
			} else if err := end(s, e); err != nil {
				t.Fatal(err)
			}
			s.out(t, what, e)
			// Ended for good, and not only hidden until the person is let in again.
			if left, err := s.stage.Store.Read().Sessions.OfPerson(t.Context(), e.Person.ID, s.stage.Clock.Now()); err != nil || len(left) != 0 {
				t.Errorf("%d sessions are left, %v", len(left), err)
			}
			if what != "expired" && what != "idle" {
				s.in(t, "the other business", another)
			}
		})
	}
}

// A session shows one business at a time. One that shows another business at the moment must
// not come back to the one that its person was signed out of.
func TestOneWhoIsSignedOutOfABusinessSeesItAgainOnlyAfterASignIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.enter(t, s.other, "kofi@example.com", domain.RoleViewer)
	kofi := s.enter(t, s.mine, "kofi@example.com", domain.RoleOwner)
	s.setPassword(t, kofi.Principal)
	elsewhere := s.enterByPassword(t, "kofi@example.com")
	for business, e := range map[domain.ID]people.Entered{s.mine: kofi, s.other: elsewhere} {
		if err := s.Show(t.Context(), e.Principal, business); err != nil {
			t.Fatal(err)
		}
	}
	if ended, err := s.EndSessions(t.Context(), owner.Actor(""), kofi.Person.ID); err != nil || ended != 1 {
		t.Fatalf("%d ended, %v", ended, err)
	}
	s.out(t, "the session that showed the business", kofi)
	p := s.in(t, "the one that showed another business", elsewhere)
	wantCode(t, "show the other one", s.Show(t.Context(), p, s.other), "")
	wantCode(t, "show it again", s.second.Show(t.Context(), p, s.mine), domain.CodeSessionEnded)
	s.out(t, "the one that was to show it again", elsewhere)
	s.stage.Clock.GoOn(time.Second)
	if err := s.Show(t.Context(), s.enterByPassword(t, "kofi@example.com").Principal, s.mine); err != nil {
		t.Errorf("after a new sign-in: %v", err)
	}
	s.in(t, "the owner", owner)
}

func (s *scene) enterByPassword(t *testing.T, email string) people.Entered {
	t.Helper()
	entered, err := s.SignIn(t.Context(), browser, domain.Portal, email, password)
	if err != nil {
		t.Fatal(err)
	}
	return entered
}

func TestAFailureOfTheDatabaseRefusesEverySession(t *testing.T) {
	t.Parallel()
	ctrl := gomock.NewController(t)
	storage, sessions, persons := mocks.NewMockStorage(ctrl), mocks.NewMockSessionReader(ctrl), mocks.NewMockPersonReader(ctrl)
	storage.EXPECT().Read().Return(ports.Readers{Sessions: sessions, Persons: persons}).AnyTimes()
	sessions.EXPECT().FindByDigest(gomock.Any(), gomock.Any()).Return(domain.Principal{}, ports.ErrStorageGone)
	persons.EXPECT().FindByEmail(gomock.Any(), gomock.Any()).Return(domain.Person{}, ports.ErrStorageGone)
	st := stage.New(t)
	a := people.NewAccess(storage, &hasher{made: "1"}, &counter{taken: map[string]int{}}, st.Clock, st.IDs)
	if _, err := a.Identify(t.Context(), domain.Portal, "x"); !errors.Is(err, ports.ErrStorageGone) {
		t.Errorf("%v: a database that is gone must not look like a session that has ended", err)
	}
	if _, err := a.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", password); !errors.Is(err, ports.ErrStorageGone) {
		t.Errorf("%v: a database that is gone must not look like a wrong password", err)
	}
}

// The owner of the business that a person joined first keeps them out of no other one.
func TestWhoIsSignedOutOfOneBusinessSignsInToAnother(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	invited := s.invite(t, command, s.other, "ama@example.com", domain.RoleOwner)
	wantCode(t, "accept", s.AcceptHere(t.Context(), browser, ama.Principal, invited.Secret), "")
	in := func(want domain.ID) {
		t.Helper()
		entered, err := s.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", password)
		if err != nil || entered.Session.BusinessID != want {
			t.Errorf("in %s, %v, want %s", entered.Session.BusinessID, err, want)
		}
		if link, err := s.Directory.Link(t.Context(), command, ama.Person.ID, domain.Portal); err != nil || link.BusinessID != want {
			t.Errorf("a link of a command leads to %s, %v, want %s", link.BusinessID, err, want)
		}
	}
	in(s.mine)
	signOut := func(business domain.ID, owner string) {
		_, err := s.EndSessions(t.Context(), s.enter(t, business, owner, domain.RoleOwner).Actor(""), ama.Person.ID)
		wantCode(t, "sign out", err, "")
	}
	signOut(s.mine, "kofi@example.com")
	in(s.other)
	signOut(s.other, "yaa@example.com")
	in(s.mine) // of both: the first one
	s.stage.Clock.GoOn(2 * time.Hour)
	in(s.mine)
	s.stage.Write(t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Tenancy.UpdateBusiness(ctx, domain.Business{ID: s.mine, Name: "Disabled", Disabled: true})
	})
	in(s.other)
}

// A request is admitted first and changes something later; the person may be put out in between.
func TestWhoIsPutOutMeanwhileChangesNothing(t *testing.T) {
	t.Parallel()
	for what, putOut := range map[string]func(t *testing.T, s *scene, p domain.Principal) error{
		"signed out": func(t *testing.T, s *scene, p domain.Principal) error {
			return s.EndSession(t.Context(), p, "", p.Session.ID)
		},
		"disabled": func(t *testing.T, s *scene, p domain.Principal) error {
			_, err := s.SetDisabled(t.Context(), command, p.Person.ID, true)
			return err
		},
		"removed": func(t *testing.T, s *scene, p domain.Principal) error {
			_, err := s.Remove(t.Context(), command, s.mine, p.Person.ID)
			return err
		},
		"demoted": func(t *testing.T, s *scene, p domain.Principal) error {
			_, err := s.SetRole(t.Context(), command, s.mine, p.Person.ID, "viewer")
			return err
		},
		"idle for too long": func(_ *testing.T, s *scene, _ domain.Principal) error {
			s.stage.Clock.GoOn(domain.SessionLifetime)
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
			kofi := s.enter(t, s.mine, "kofi@example.com", domain.RoleOwner)
			yaa := s.enter(t, s.mine, "yaa@example.com", domain.RoleViewer)
			wantCode(t, what, putOut(t, s, kofi.Principal), "")
			_, err := s.SetRole(t.Context(), kofi.Actor(""), s.mine, yaa.Person.ID, "owner")
			wantCode(t, "a change after that", err, domain.CodeSessionEnded)
		})
	}
}

package people_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
)

func TestAnInvitationLetsIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	issued := s.invite(t, command, s.mine, " Ama@Example.com ", domain.RoleOwner)
	if issued.ExpiresAt.Sub(issued.CreatedAt) != 7*24*time.Hour || issued.Member.Person.Email != "ama@example.com" || issued.MailOnly {
		t.Errorf("%+v", issued)
	}
	if link, err := s.Look(t.Context(), browser, issued.Secret); err != nil || link.ID != issued.ID {
		t.Errorf("to look at a link: %v", err)
	}
	entered, err := s.Enter(t.Context(), browser, issued.Secret)
	if err != nil || entered.Role != domain.RoleOwner || entered.Site() != domain.Portal || entered.Session.Device != "Firefox on Linux" ||
		entered.CredentialsEnded {
		t.Fatalf("%+v, %v", entered, err)
	}
	if p := s.in(t, "just entered", entered); p.Person.State != domain.PersonActive || p.Session.BusinessID != s.mine {
		t.Errorf("%+v", p)
	}
	_, err = s.Identify(t.Context(), domain.Console, entered.Secret)
	wantCode(t, "a session of the portal at the console", err, domain.CodeSessionEnded)
	_, err = s.Enter(t.Context(), browser, issued.Secret)
	wantCode(t, "a second time", err, domain.CodeLinkUsed)
	for _, e := range s.entries(t, s.mine) {
		if e.Action == domain.ActionPersonAccept && (e.Actor.Kind() != domain.ActorPerson || e.Actor.ID != entered.Person.ID ||
			e.Actor.RequestID != "req_1") {
			t.Errorf("%+v", e)
		}
	}
	if n := len(s.entries(t, s.mine)); n != 2 || len(s.entries(t, s.other)) != 0 {
		t.Errorf("%d entries of the business, %d of the other one", n, len(s.entries(t, s.other)))
	}
}

func TestOfManyUsesOfALinkAtOnceOneSignsIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	issued := s.invite(t, command, s.mine, "ama@example.com", domain.RoleOwner)
	var in atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := []*people.Access{s.Access, s.second}[i%2].Enter(context.Background(), browser, issued.Secret)
			if err == nil {
				in.Add(1)
			} else {
				wantCode(t, "another one", err, domain.CodeLinkUsed)
			}
		})
	}
	wg.Wait()
	sessions, err := s.stage.Store.Read().Sessions.OfPerson(t.Context(), issued.PersonID, s.stage.Clock.Now())
	if in.Load() != 1 || len(sessions) != 1 || err != nil {
		t.Errorf("%d came in, %d sessions, %v", in.Load(), len(sessions), err)
	}
}

func TestALinkThatIsExpiredReplacedUnknownOrLeadsNowhereSaysSo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for what, c := range map[string]struct {
		spoil func(issued people.Issued) string
		code  string
	}{
		"expired": {func(i people.Issued) string { s.stage.Clock.GoOn(7*24*time.Hour + time.Second); return i.Secret }, domain.CodeLinkExpired},
		"unknown": {func(i people.Issued) string { return i.Secret + "x" }, domain.CodeLinkUnknown},
		"empty":   {func(people.Issued) string { return "" }, domain.CodeLinkUnknown},
		"replaced": {func(i people.Issued) string {
			s.invite(t, command, s.mine, string(i.Member.Person.Email), domain.RoleViewer)
			return i.Secret
		}, domain.CodeLinkReplaced},
		"removed": {func(i people.Issued) string {
			_, err := s.Remove(t.Context(), command, s.mine, i.PersonID)
			wantCode(t, "remove", err, "")
			return i.Secret
		}, domain.CodeLinkReplaced},
		"disabled": {func(i people.Issued) string {
			_, err := s.SetDisabled(t.Context(), command, i.PersonID, true)
			wantCode(t, "disable", err, "")
			return i.Secret
		}, domain.CodeLinkReplaced},
	} {
		secret := c.spoil(s.invite(t, command, s.mine, what+"@example.com", domain.RoleViewer))
		_, err := s.Enter(t.Context(), browser, secret)
		wantCode(t, what, err, c.code)
		_, err = s.Look(t.Context(), browser, secret)
		wantCode(t, what+", looked at", err, c.code)
	}
	if _, err := s.Directory.Link(t.Context(), command, s.invite(t, command, s.mine, "new@example.com", domain.RoleViewer).PersonID,
		domain.Portal); !domain.HasCode(err, domain.CodeNotAccepted) {
		t.Errorf("a link for signing in before the invitation was used: %v", err)
	}
}

func TestUnknownLinksAreCountedApartAndOnlyForOnesOwnBrowser(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	office := people.Browser{Address: "office"}
	images := people.Browser{Address: "office", Foreign: true}
	look := map[string]func(people.Browser, string) error{
		"look": func(b people.Browser, link string) error { _, err := s.Look(t.Context(), b, link); return err },
		"view": func(b people.Browser, link string) error { _, err := s.LookView(t.Context(), b, link); return err },
	}
	for range 50 {
		for what, look := range look {
			wantCode(t, what+", by a page of another site", look(images, "x"), domain.CodeLinkUnknown)
		}
	}
	for range 15 {
		_, err := s.Enter(t.Context(), office, "x")
		wantCode(t, "guessed", err, domain.CodeLinkUnknown)
		wantCode(t, "guessed", look["look"](office, "x"), domain.CodeLinkUnknown)
	}
	_, err := s.Enter(t.Context(), office, "x")
	wantCode(t, "one more", err, domain.CodeTooManySignIns)
	_, err = s.OpenView(t.Context(), office, "x")
	wantCode(t, "one more, of a view", err, domain.CodeTooManySignIns)
	_, err = s.SignIn(t.Context(), office, domain.Portal, "ama@example.com", password)
	wantCode(t, "by password", err, "")
	if _, err := s.Enter(t.Context(), office, s.link(t, ama.Person.ID)); err != nil {
		t.Errorf("by a link that there is: %v", err)
	}
}

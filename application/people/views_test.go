package people_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
)

const reason = "Order 1001 is said to be missing"

// view begins a view of the scene's own business by a person of the staff.
func (s *scene) view(t *testing.T, staff people.Entered) people.OpenedView {
	t.Helper()
	asked, err := s.ViewAs(t.Context(), staff.Principal, s.mine, "  "+reason+" ")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.LookView(t.Context(), browser, asked.Secret); err != nil { // a scanner of links spends nothing
		t.Fatal(err)
	}
	opened, err := s.OpenView(t.Context(), browser, asked.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func TestEndsOfAllViewsAreWrittenHoweverManyStillGoOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	going := s.enter(t, "", "sam@waybill.example", domain.RoleAdmin)
	left := s.enter(t, "", "kofi@waybill.example", domain.RoleSupport)
	for range 100 { // as many as are read at a time
		s.view(t, going)
	}
	last := s.view(t, left)
	if _, err := s.Remove(t.Context(), command, "", left.Person.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseViews(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries := s.viewEntries(t)
	if ended := entries[len(entries)-1]; ended.Action != domain.ActionViewEnd || ended.Target != last.ID {
		t.Errorf("of %d entries the last is %+v", len(entries), ended)
	}
}

// viewEntries are what the business reads of views, oldest first.
func (s *scene) viewEntries(t *testing.T) (views []domain.AuditEntry) {
	t.Helper()
	for _, e := range s.entries(t, s.mine) {
		if e.Action == domain.ActionViewBegin || e.Action == domain.ActionViewEnd {
			views = append(views, e)
		}
	}
	slices.Reverse(views)
	return views
}

func TestAViewOfACustomerReadsAsAViewerAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	staff := s.enter(t, "", "sam@waybill.example", domain.RoleSupport)
	v := s.view(t, staff)
	for i, process := range []*people.Access{s.Access, s.second} {
		p, err := process.IdentifyView(t.Context(), v.Secret)
		if err != nil || p.Role != domain.RoleViewer || p.Person.ID != staff.Person.ID || p.Session.BusinessID != s.mine ||
			p.Site() != domain.Portal || p.View == nil || p.View.Reason != reason {
			t.Errorf("process %d: %+v, %v", i+1, p, err)
		}
		for _, act := range domain.Acts() {
			err := p.Allows(act, s.stage.Clock.Now())
			if code := domain.CodeViewReadOnly; act == domain.ActRead && err != nil || act != domain.ActRead && !domain.HasCode(err, code) {
				t.Errorf("%s: %v", act, err)
			}
		}
	}
	// It is no session: neither of the two kinds of cookie opens what the other one does.
	if _, err := s.Identify(t.Context(), domain.Portal, v.Secret); !domain.HasCode(err, domain.CodeSessionEnded) {
		t.Errorf("as a session: %v", err)
	}
	if _, err := s.IdentifyView(t.Context(), staff.Secret); !domain.HasCode(err, domain.CodeSessionEnded) {
		t.Errorf("the session of the console as a view: %v", err)
	}
}

func TestAViewShowsInTheAuditLogAndNowhereElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	staff := s.enter(t, "", "sam@waybill.example", domain.RoleAdmin)
	v := s.view(t, staff)
	members, err := s.Members(t.Context(), s.mine)
	if err != nil || len(members) != 1 || members[0].Person.ID != owner.Person.ID {
		t.Errorf("members %+v, %v", members, err)
	}
	for _, p := range []domain.Principal{owner.Principal, staff.Principal} {
		if sessions, err := s.Sessions(t.Context(), p); err != nil || len(sessions) != 1 {
			t.Errorf("%s has %d sessions, %v", p.Person.Email, len(sessions), err)
		}
	}
	due := s.stage.Clock.Now().Add(time.Hour)
	mails, err := s.stage.Store.Mails().Lease(t.Context(), ports.MailLease{Now: due, Until: due, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, mail := range mails {
		if mail.Kind == domain.MailNewDevice {
			t.Errorf("a mail about a new browser: %+v", mail)
		}
	}
	p, err := s.IdentifyView(t.Context(), v.Secret)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.EndView(t.Context(), p, "req_9"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.IdentifyView(t.Context(), v.Secret); !domain.HasCode(err, domain.CodeSessionEnded) {
		t.Errorf("after its end: %v", err)
	}
	entries := s.viewEntries(t)
	if len(entries) != 2 {
		t.Fatalf("%d entries: %+v", len(entries), entries)
	}
	for i, want := range []struct {
		action       domain.Action
		detail, text string
	}{
		{domain.ActionViewBegin, "reason", reason}, {domain.ActionViewEnd, "because", "ended"},
	} {
		e := entries[i]
		if e.Action != want.action || e.Details[want.detail] != want.text || e.Actor.Kind() != domain.ActorOperator ||
			e.Actor.ID != staff.Person.ID || e.Target != v.ID || e.BusinessID != s.mine {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
}

func TestAViewIsOutOfEveryProcessAtOnceWhenItsPersonIsNoLongerAllowed(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(s *scene, e people.Entered) error{
		"removed": func(s *scene, e people.Entered) error {
			_, err := s.Remove(t.Context(), command, "", e.Person.ID)
			return err
		},
		"account disabled": func(s *scene, e people.Entered) error {
			_, err := s.SetDisabled(t.Context(), command, e.Person.ID, true)
			return err
		},
		"another role": func(s *scene, e people.Entered) error {
			_, err := s.SetRole(t.Context(), command, "", e.Person.ID, string(domain.RoleViewer))
			return err
		},
		"all sessions ended": func(s *scene, e people.Entered) error {
			_, err := s.EndSessions(t.Context(), command, e.Person.ID)
			return err
		},
		"customer disabled": func(s *scene, _ people.Entered) error {
			s.disable(t, s.mine)
			return nil
		},
		"signed out of the console": func(s *scene, e people.Entered) error { return s.SignOut(t.Context(), e.Principal, "req_3") },
		"an hour later": func(s *scene, e people.Entered) error {
			// The session of the console goes on.
			for range 3 {
				s.stage.Clock.GoOn(domain.ViewLifetime / 3)
				s.in(t, "the console", e)
			}
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			staff := s.enter(t, "", "sam@waybill.example", domain.RoleSupport)
			v := s.view(t, staff)
			if err := s.CloseViews(t.Context()); err != nil || len(s.viewEntries(t)) != 1 {
				t.Errorf("one that works was closed: %v, %+v", err, s.viewEntries(t))
			}
			if err := end(s, staff); err != nil {
				t.Fatal(err)
			}
			for i, process := range []*people.Access{s.Access, s.second} {
				if _, err := process.IdentifyView(t.Context(), v.Secret); !domain.HasCode(err, domain.CodeSessionEnded) {
					t.Errorf("in process %d it goes on: %v", i+1, err)
				}
			}
			for _, process := range []*people.Access{s.Access, s.second} {
				if err := process.CloseViews(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			entries := s.viewEntries(t)
			if len(entries) != 2 || entries[1].Action != domain.ActionViewEnd || entries[1].Actor.ID != staff.Person.ID {
				t.Fatalf("%+v", entries)
			}
			want := "signed out of the console, or access was taken"
			switch what {
			case "an hour later":
				want = "expired"
			case "customer disabled":
				want = "the customer was disabled"
			}
			if by := entries[1].Details["because"]; by != want {
				t.Errorf("it ended because: %s, want %s", by, want)
			}
		})
	}
}

func TestALinkToAViewWorksOnceAndForTwoMinutes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	staff := s.enter(t, "", "sam@waybill.example", domain.RoleSupport)
	ask := func() people.OpenedView {
		t.Helper()
		v, err := s.ViewAs(t.Context(), staff.Principal, s.mine, reason)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	open := func(secret string) error { _, err := s.OpenView(t.Context(), browser, secret); return err }
	used, late := ask(), ask()
	wantCode(t, "first", open(used.Secret), "")
	wantCode(t, "again", open(used.Secret), domain.CodeLinkUsed)
	wantCode(t, "unknown", open("x"), domain.CodeLinkUnknown)
	s.stage.Clock.GoOn(domain.ViewLinkLifetime)
	wantCode(t, "late", open(late.Secret), domain.CodeLinkExpired)
	last := ask()
	if err := s.SignOut(t.Context(), staff.Principal, "req_3"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "the session of the console has ended", open(last.Secret), domain.CodeLinkUnknown)
	if entries := s.viewEntries(t); len(entries) != 1 {
		t.Errorf("%+v", entries)
	}
}

func TestADisabledCustomerIsNotViewed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	staff := s.enter(t, "", "sam@waybill.example", domain.RoleSupport)
	asked, err := s.ViewAs(t.Context(), staff.Principal, s.mine, reason)
	if err != nil {
		t.Fatal(err)
	}
	s.disable(t, s.mine)
	_, err = s.OpenView(t.Context(), browser, asked.Secret)
	wantCode(t, "a link of before", err, domain.CodeBusinessDisabled)
	_, err = s.ViewAs(t.Context(), staff.Principal, s.mine, reason)
	wantCode(t, "a new link", err, domain.CodeBusinessDisabled)
	if entries := s.viewEntries(t); len(entries) != 0 {
		t.Errorf("%+v", entries)
	}
}

// disable switches a business off.
func (s *scene) disable(t *testing.T, id domain.ID) {
	t.Helper()
	business, err := s.stage.Store.Read().Tenancy.Business(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	business.Disabled = true
	s.stage.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.UpdateBusiness(ctx, business) })
}

func TestAViewNeedsAReasonAndACustomer(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	staff := s.enter(t, "", "sam@waybill.example", domain.RoleSupport)
	for _, text := range []string{"", "   too short   ", "with a \u202e inside of it"} {
		_, err := s.ViewAs(t.Context(), staff.Principal, s.mine, text)
		wantCode(t, text, err, domain.CodeValidation)
	}
	_, err := s.ViewAs(t.Context(), staff.Principal, s.stage.IDs.ID(domain.PrefixBusiness), reason)
	wantCode(t, "no customer", err, domain.CodeNotFound)
}

func TestPeopleOfADisabledCustomerAreOutAtOnceAndStayOut(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	link := s.link(t, ama.Person.ID)
	business, err := s.stage.Store.Read().Tenancy.Business(t.Context(), s.mine)
	if err != nil {
		t.Fatal(err)
	}
	set := func(disabled bool) {
		t.Helper()
		business.Disabled = disabled
		s.stage.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.UpdateBusiness(ctx, business) })
	}
	set(true)
	s.out(t, "disabled", ama)
	signIn := func() (people.Entered, error) {
		return s.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", password)
	}
	_, err = signIn()
	wantCode(t, "by password", err, domain.CodeBusinessDisabled)
	_, err = s.Enter(t.Context(), browser, link)
	wantCode(t, "by link", err, domain.CodeBusinessDisabled)
	_, err = s.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", "wrong "+password)
	wantCode(t, "a wrong password tells nothing", err, domain.CodeSignInRefused)

	// A further business that is not disabled lets in.
	s.stage.Clock.GoOn(time.Minute)
	_, err = s.AcceptByPassword(t.Context(), browser, s.invite(t, command, s.other, "ama@example.com", domain.RoleViewer).Secret, password)
	wantCode(t, "accepted", err, "")
	entered, err := signIn()
	if err != nil || entered.Session.BusinessID != s.other {
		t.Errorf("into %s, %v", entered.Session.BusinessID, err)
	}
	wantCode(t, "shown", s.Show(t.Context(), entered.Principal, s.mine), domain.CodeBusinessDisabled)
	set(false)
	wantCode(t, "enabled", s.Show(t.Context(), entered.Principal, s.mine), "")
}

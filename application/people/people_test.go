package people_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/audit"
	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

const password = "correct horse battery staple"

var (
	command = domain.AuditActor{Name: "command:ama"}
	browser = people.Browser{Address: "203.0.113.7", Device: "Firefox\x00 on Linux", RequestID: "req_1"}
)

// hasher is enough of one, and counts.
type hasher struct {
	made    string // what hashes begin with; another beginning is outdated
	verdict error
	work    atomic.Int64
}

func (h *hasher) Hash(_ context.Context, password string) (string, error) {
	h.work.Add(1)
	return h.made + password, h.verdict
}

func (h *hasher) Verify(_ context.Context, hash, password string) (matches, outdated bool, err error) {
	h.work.Add(1)
	return hash != "" && hash[1:] == password, hash != "" && hash[:1] != h.made, h.verdict
}

// counter is a limiter whose windows never end.
type counter struct {
	mu    sync.Mutex
	taken map[string]int
}

func (c *counter) change(by int, buckets []ports.Bucket) ports.Allowance {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range buckets {
		if by > 0 && c.taken[b.Scope+b.Name] >= b.Limit.Limit {
			return ports.Allowance{Scope: b.Scope, RetryAfter: 17 * time.Second}
		}
	}
	for _, b := range buckets {
		c.taken[b.Scope+b.Name] += by
	}
	return ports.Allowance{Admitted: true}
}

func (c *counter) Take(_ context.Context, b ...ports.Bucket) (ports.Allowance, error) {
	return c.change(1, b), nil
}
func (c *counter) Peek(context.Context, ...ports.Bucket) (ports.Allowance, error) {
	return ports.Allowance{Admitted: true}, nil
}
func (c *counter) GiveBack(_ context.Context, b ...ports.Bucket) error { c.change(-1, b); return nil }

// scene is a business beside another one, and the use cases of two processes.
type scene struct {
	*people.Directory
	*people.Access
	second      *people.Access
	stage       *stage.Stage
	hasher      *hasher
	mine, other domain.ID
}

func newScene(t *testing.T) *scene {
	t.Helper()
	st := stage.New(t)
	s := &scene{stage: st, hasher: &hasher{made: "1"}, mine: st.NewTenant(t).BusinessID, other: st.NewTenant(t).BusinessID}
	s.Directory = people.NewDirectory(st.Store, st.Clock, st.IDs)
	s.Access = s.process()
	s.second = s.process()
	return s
}

func (s *scene) process() *people.Access {
	return people.NewAccess(s.stage.Store, s.hasher, &counter{taken: map[string]int{}}, s.stage.Clock, s.stage.IDs)
}

func (s *scene) invite(t *testing.T, by domain.AuditActor, business domain.ID, email string, role domain.Role) people.Issued {
	t.Helper()
	issued, err := s.Invite(t.Context(), by, people.Invitation{BusinessID: business, Email: email, Name: "Ama Mensah", Role: string(role)})
	if err != nil {
		t.Fatal(err)
	}
	return issued
}

// enter invites a person and lets them in.
func (s *scene) enter(t *testing.T, business domain.ID, email string, role domain.Role) people.Entered {
	t.Helper()
	entered, err := s.Enter(t.Context(), browser, s.invite(t, command, business, email, role).Secret)
	if err != nil {
		t.Fatal(err)
	}
	return entered
}

func (s *scene) setPassword(t *testing.T, p domain.Principal) {
	t.Helper()
	if err := s.SetPassword(t.Context(), p, "req_2", password); err != nil {
		t.Fatal(err)
	}
}

// out fails unless the session is over in both processes.
func (s *scene) out(t *testing.T, what string, e people.Entered) {
	t.Helper()
	for i, process := range []*people.Access{s.Access, s.second} {
		if _, err := process.Identify(t.Context(), e.Site(), e.Secret); !domain.HasCode(err, domain.CodeSessionEnded) {
			t.Errorf("%s: in process %d the session goes on: %v", what, i+1, err)
		}
	}
}

func (s *scene) in(t *testing.T, what string, e people.Entered) domain.Principal {
	t.Helper()
	var p domain.Principal
	for i, process := range []*people.Access{s.Access, s.second} {
		var err error
		if p, err = process.Identify(t.Context(), e.Site(), e.Secret); err != nil {
			t.Errorf("%s: process %d: %v", what, i+1, err)
		}
	}
	return p
}

func (s *scene) entries(t *testing.T, business domain.ID) []domain.AuditEntry {
	t.Helper()
	found, err := audit.New(s.stage.Store, s.stage.Clock, s.stage.IDs).EntriesOfBusiness(t.Context(), business, domain.AuditFilter{},
		domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if code == "" && err != nil || code != "" && !domain.HasCode(err, code) {
		t.Errorf("%s: %v, want %q", what, err, code)
	}
}

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

func TestOfManyWhoUseALinkAtOnceOneComesIn(t *testing.T) {
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

func TestWhoeverIsOutIsOutOfEveryProcessAtOnce(t *testing.T) {
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

func TestASignInByPasswordTellsNothingOfWhyItIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	s.enter(t, s.mine, "none@example.com", domain.RoleViewer)
	disabled := s.enter(t, s.mine, "disabled@example.com", domain.RoleViewer)
	s.setPassword(t, disabled.Principal)
	removed := s.enter(t, s.mine, "removed@example.com", domain.RoleViewer)
	s.setPassword(t, removed.Principal)
	_, err := s.SetDisabled(t.Context(), command, disabled.Person.ID, true)
	wantCode(t, "disable", err, "")
	_, err = s.Remove(t.Context(), command, s.mine, removed.Person.ID)
	wantCode(t, "remove", err, "")
	s.invite(t, command, s.mine, "invited@example.com", domain.RoleViewer)

	entered, err := s.SignIn(t.Context(), browser, domain.Portal, " AMA@example.com", password)
	if err != nil || entered.Session.Method != domain.SignInByPassword || entered.Session.BusinessID != s.mine {
		t.Fatalf("%+v, %v", entered, err)
	}
	s.in(t, "by password", entered)

	var first error
	for what, c := range map[string]struct {
		site            domain.Site
		email, password string
	}{
		"a wrong password": {domain.Portal, "ama@example.com", password + "x"}, "no password": {domain.Portal, "ama@example.com", ""},
		"the other site": {domain.Console, "ama@example.com", password}, "unknown": {domain.Portal, "nobody@example.com", password},
		"no address at all": {domain.Portal, "nobody", password}, "without a password": {domain.Portal, "none@example.com", password},
		"without a password, empty": {domain.Portal, "none@example.com", ""}, "disabled": {domain.Portal, "disabled@example.com", password},
		"removed": {domain.Portal, "removed@example.com", password}, "invited": {domain.Portal, "invited@example.com", password},
	} {
		before := s.hasher.work.Load()
		_, err := s.SignIn(t.Context(), browser, c.site, c.email, c.password)
		wantCode(t, what, err, domain.CodeSignInRefused)
		if n := s.hasher.work.Load() - before; n != 1 {
			t.Errorf("%s: %d hashes, want 1: the time tells", what, n)
		}
		if first == nil {
			first = err
		} else if err != nil && err.Error() != first.Error() {
			t.Errorf("%s: %v, and another one was told %v", what, err, first)
		}
	}
}

func TestGuessingIsLimitedPerPersonAndPerAddress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	for range 40 { // what succeeds is not charged
		if _, err := s.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", password); err != nil {
			t.Fatal(err)
		}
	}
	guess := func(email, address string, n int, code string) {
		t.Helper()
		for range n {
			_, err := s.SignIn(t.Context(), people.Browser{Address: address}, domain.Portal, email, "a guess of mine")
			wantCode(t, email+" from "+address, err, code)
		}
	}
	for _, email := range []string{"Ama@example.com", "nobody@example.com"} { // known or not: alike
		for i := range 10 {
			guess(email, strings.Repeat("1", i+1), 1, domain.CodeSignInRefused)
		}
		guess(email, "2", 3, domain.CodeTooManySignIns)
	}
	_, err := s.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", password)
	var limited *domain.Error
	if !errors.As(err, &limited) || limited.Code != domain.CodeTooManySignIns || limited.RetryAfter != 17*time.Second {
		t.Errorf("with the right password: %v", err)
	}
	if _, err := s.Enter(t.Context(), browser, s.link(t, ama.Person.ID)); err != nil {
		t.Errorf("by a link, while passwords are limited: %v", err)
	}
	if err := s.Confirm(t.Context(), browser, ama.Principal, password); err != nil {
		t.Errorf("somebody who is inside, while others guess at the door: %v", err)
	}
	for range 10 {
		wantCode(t, "a guess inside", s.Confirm(t.Context(), browser, ama.Principal, "a guess of mine"), domain.CodeSignInRefused)
	}
	wantCode(t, "too many guesses inside", s.Confirm(t.Context(), browser, ama.Principal, password), domain.CodeTooManySignIns)
	for i := range 30 {
		_, err := s.Enter(t.Context(), people.Browser{Address: "3"}, strings.Repeat("x", i))
		wantCode(t, "a guessed link", err, domain.CodeLinkUnknown)
	}
	_, err = s.Enter(t.Context(), people.Browser{Address: "3"}, "x")
	wantCode(t, "too many links", err, domain.CodeTooManySignIns)
}

func (s *scene) link(t *testing.T, person domain.ID) string {
	t.Helper()
	issued, err := s.Directory.Link(t.Context(), command, person, domain.Portal)
	if err != nil || issued.ExpiresAt.Sub(issued.CreatedAt) != 10*time.Minute {
		t.Fatalf("%+v, %v", issued, err)
	}
	return issued.Secret
}

func TestAPasswordTakesAFreshSignInAndEndsAllElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	old := s.enter(t, s.mine, "ama@example.com", domain.RoleViewer)
	entered, err := s.Enter(t.Context(), browser, s.link(t, old.Person.ID))
	if err != nil {
		t.Fatal(err)
	}
	open := s.link(t, old.Person.ID)
	wantCode(t, "a common one", s.SetPassword(t.Context(), entered.Principal, "", "Password2026!"), domain.CodeValidation)
	s.setPassword(t, entered.Principal)
	s.out(t, "the other session", old)
	s.in(t, "the session itself", entered)
	_, err = s.Enter(t.Context(), browser, open)
	wantCode(t, "a link from before", err, domain.CodeLinkReplaced)
	wantCode(t, "with a session that was ended", s.SetPassword(t.Context(), old.Principal, "", password), domain.CodeSessionEnded)

	s.stage.Clock.GoOn(domain.FreshFor)
	late := s.in(t, "later", entered)
	wantCode(t, "ten minutes later", s.SetPassword(t.Context(), late, "", password+" 2"), domain.CodeSignInTooOld)
	wantCode(t, "confirmed wrongly", s.Confirm(t.Context(), browser, late, "a guess of mine"), domain.CodeSignInRefused)
	wantCode(t, "still", s.SetPassword(t.Context(), s.in(t, "", entered), "", password+" 2"), domain.CodeSignInTooOld)
	wantCode(t, "confirmed", s.Confirm(t.Context(), browser, late, password), "")
	wantCode(t, "fresh again", s.SetPassword(t.Context(), s.in(t, "", entered), "", password+" 2"), "")
}

func TestAnOutdatedHashIsReplacedAtSignInAndABusyHasherIsUnavailable(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	s.hasher.made = "2"
	if _, err := s.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", password); err != nil {
		t.Fatal(err)
	}
	if p, err := s.stage.Store.Read().Persons.Get(t.Context(), ama.Person.ID); err != nil || p.PasswordHash != "2"+password {
		t.Errorf("%q, %v", p.PasswordHash, err)
	}
	s.hasher.verdict = ports.ErrPasswordsBusy
	_, err := s.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", password)
	wantCode(t, "busy", err, domain.CodeServiceUnavailable)
	wantCode(t, "busy", s.SetPassword(t.Context(), s.in(t, "", ama), "", password), domain.CodeServiceUnavailable)
}

func TestPeopleDoNotLeaveTheirBusinessWithoutAnOwner(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.invite(t, command, s.mine, "invited@example.com", domain.RoleOwner)
	by := ama.Actor("req_4")
	_, err := s.Remove(t.Context(), by, s.mine, ama.Person.ID)
	wantCode(t, "the last owner removed", err, domain.CodeLastOwner)
	_, err = s.SetRole(t.Context(), by, s.mine, ama.Person.ID, "viewer")
	wantCode(t, "the last owner demoted", err, domain.CodeLastOwner)

	kofi := s.enter(t, s.mine, "kofi@example.com", domain.RoleDeveloper)
	if m, err := s.SetRole(t.Context(), by, s.mine, kofi.Person.ID, "owner"); err != nil || m.Membership.Role != domain.RoleOwner {
		t.Fatalf("%+v, %v", m, err)
	}
	if p := s.in(t, "kofi", kofi); p.Role != domain.RoleOwner {
		t.Errorf("the next page goes by the role %s", p.Role)
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, pair := range [][2]people.Entered{{ama, kofi}, {kofi, ama}} {
		wg.Go(func() { _, errs[i] = s.Remove(context.Background(), pair[0].Actor(""), s.mine, pair[1].Person.ID) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !domain.HasCode(errors.Join(errs...), domain.CodeLastOwner) {
		t.Errorf("two owners removed each other: %v", errs)
	}
	for _, m := range []people.Entered{ama, kofi} {
		_, err = s.Remove(t.Context(), command, s.mine, m.Person.ID)
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a command: %v", err)
		}
	}
	admin := s.enter(t, "", "admin@example.com", domain.RoleAdmin)
	_, err = s.Remove(t.Context(), admin.Actor(""), "", admin.Person.ID)
	wantCode(t, "the last admin", err, domain.CodeLastOwner)
}

func TestAnOwnerReachesNobodyOfAnotherBusiness(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner).Actor("")
	foreign := s.enter(t, s.other, "kofi@example.com", domain.RoleOwner)
	for what, try := range map[string]func() error{
		"invite there": func() error {
			_, err := s.Invite(t.Context(), owner, people.Invitation{BusinessID: s.other, Email: "x@example.com", Name: "X", Role: "owner"})
			return err
		},
		"invite to the staff": func() error {
			_, err := s.Invite(t.Context(), owner, people.Invitation{Email: "x@example.com", Name: "X", Role: "admin"})
			return err
		},
		"link": func() error {
			_, err := s.Directory.Link(t.Context(), owner, foreign.Person.ID, domain.Portal)
			return err
		},
		"role": func() error {
			_, err := s.SetRole(t.Context(), owner, s.other, foreign.Person.ID, "viewer")
			return err
		},
		"remove":       func() error { _, err := s.Remove(t.Context(), owner, s.other, foreign.Person.ID); return err },
		"remove here":  func() error { _, err := s.Remove(t.Context(), owner, s.mine, foreign.Person.ID); return err },
		"disable":      func() error { _, err := s.SetDisabled(t.Context(), owner, foreign.Person.ID, true); return err },
		"end sessions": func() error { _, err := s.EndSessions(t.Context(), owner, foreign.Person.ID); return err },
	} {
		if err := try(); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if p := s.in(t, "the foreign owner", foreign); p.Role != domain.RoleOwner {
		t.Errorf("%+v", p)
	}
	if members, err := s.Members(t.Context(), s.other); err != nil || len(members) != 1 {
		t.Errorf("%+v, %v", members, err)
	}
	if _, err := s.Members(t.Context(), "biz_1"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("members of no business: %v", err)
	}
}

// An owner invites the address of a person outside the business, opens the link and sets
// a password. The invited person's own business must not be within reach of that.
func TestAnAccountMadeByAnotherBusinessOpensNothingElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	attacker := s.enter(t, s.mine, "attacker@example.com", domain.RoleOwner)
	issued := s.invite(t, attacker.Actor(""), s.mine, "victim@example.com", domain.RoleViewer)
	stolen, err := s.Enter(t.Context(), browser, issued.Secret)
	if err != nil {
		t.Fatal(err)
	}
	s.setPassword(t, stolen.Principal)

	invited := s.invite(t, command, s.other, "victim@example.com", domain.RoleOwner)
	if err := s.Show(t.Context(), stolen.Principal, s.other); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("before the invitation was used: %v", err)
	}
	again := s.invite(t, attacker.Actor(""), s.mine, "victim@example.com", domain.RoleViewer)
	if !again.MailOnly || again.Secret != "" {
		t.Errorf("an owner is shown a link of a person of another business: %+v", again)
	}
	victim, err := s.Enter(t.Context(), browser, invited.Secret)
	if err != nil || !victim.CredentialsEnded || victim.Session.BusinessID != s.other {
		t.Fatalf("%+v, %v", victim, err)
	}
	s.out(t, "the attacker's session", stolen)
	_, err = s.SignIn(t.Context(), browser, domain.Portal, "victim@example.com", password)
	wantCode(t, "the attacker's password", err, domain.CodeSignInRefused)
	if err := s.Show(t.Context(), victim.Principal, s.mine); err != nil {
		t.Errorf("the person chooses between the own businesses: %v", err)
	}
	if p := s.in(t, "shown", victim); p.Session.BusinessID != s.mine || p.Role != domain.RoleViewer {
		t.Errorf("%+v", p)
	}
}

func TestACompanysOwnSiteLetsItsCustomersIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admit := func(role string) people.Issued {
		issued, err := s.Admit(t.Context(), command, people.Invitation{BusinessID: s.mine, Email: "ama@example.com", Name: "Ama", Role: role})
		if err != nil {
			t.Fatal(err)
		}
		return issued
	}
	first := admit("developer")
	if _, err := s.Enter(t.Context(), browser, first.Secret); err != nil || first.Purpose != domain.LinkInvitation {
		t.Fatalf("%+v, %v", first, err)
	}
	second := admit("owner")
	entered, err := s.Enter(t.Context(), browser, second.Secret)
	if err != nil || second.Purpose != domain.LinkSignIn || entered.Role != domain.RoleDeveloper || entered.CredentialsEnded {
		t.Errorf("%+v, %+v, %v", second, entered, err)
	}
	_, err = s.Invite(t.Context(), command, people.Invitation{BusinessID: s.mine, Email: "ama@example.com", Name: "Ama", Role: "owner"})
	wantCode(t, "another role", err, domain.CodeAlreadyMember)
}

func TestAFailureOfTheDatabaseLetsNobodyIn(t *testing.T) {
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

package mails_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/application/access"
	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

var command = domain.AuditActor{Name: "command:test"}

// post is a mail server and the renderer before it.
type post struct {
	mu     sync.Mutex
	fails  error
	panics bool
	sent   []ports.Letter
	tried  []ports.Letter
	drawn  map[domain.ID]ports.Letter

	tarpit chan struct{}     // holds mails up to tarpit.example until it is closed; nil: none
	begun  chan domain.Email // gets the recipient of each mail; nil: nobody looks
}

func (p *post) Render(l ports.Letter) (ports.MailMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawn[l.ID] = l
	return ports.MailMessage{ID: l.ID}, nil
}

func (p *post) Send(_ context.Context, m ports.MailMessage) error {
	p.mu.Lock()
	to := p.drawn[m.ID].To
	p.mu.Unlock()
	if p.begun != nil {
		p.begun <- to
	}
	if p.tarpit != nil && strings.HasSuffix(string(to), "@tarpit.example") {
		<-p.tarpit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.panics {
		panic("a fault")
	}
	p.tried = append(p.tried, p.drawn[m.ID])
	if p.fails == nil {
		p.sent = append(p.sent, p.drawn[m.ID])
	}
	return p.fails
}
func (*post) Check(context.Context) error { return nil }

type open struct{ ports.RateLimiter }

func (open) Take(context.Context, ...ports.Bucket) (ports.Allowance, error) {
	return ports.Allowance{Admitted: true}, nil
}
func (open) GiveBack(context.Context, ...ports.Bucket) error { return nil }

type scene struct {
	*stage.Stage
	*post
	sender    *people.MailSender
	directory *people.Directory
	access    *people.Access
	business  domain.ID
	outcomes  []string
	log       bytes.Buffer
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{Stage: stage.New(t), post: &post{drawn: map[domain.ID]ports.Letter{}}}
	s.business = s.NewTenant(t).BusinessID
	s.directory = people.NewDirectory(s.Store, s.Clock, s.IDs, false)
	s.access = people.NewAccess(s.Store, nil, open{}, s.Clock, s.IDs)
	s.sender = people.NewMailSender(s.Store, s.Store.Mails(), s.post, s.post, s.Clock, s.IDs,
		people.MailSites{Portal: "https://portal.example", Console: "https://ops.example/console"},
		s.observed, slog.New(slog.NewTextHandler(&s.log, nil)))
	return s
}

func (s *scene) observed(_ domain.MailKind, outcome string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes = append(s.outcomes, outcome)
}

func (s *scene) invite(t *testing.T, email string) people.Issued {
	t.Helper()
	i, err := s.directory.Invite(t.Context(), command, people.Invitation{BusinessID: s.business, Email: email, Name: "Ama", Role: "owner"})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// shop is an application of the business, and the use cases of its keys.
func (s *scene) shop(t *testing.T) (*access.Tenants, domain.ID) {
	t.Helper()
	tenants := access.NewTenants(s.Store, stage.Digester{}, s.Clock, s.IDs, stage.Unheard{})
	app, err := tenants.CreateApplication(t.Context(), command, s.business, "Shop")
	if err != nil {
		t.Fatal(err)
	}
	return tenants, app.ID
}

func (s *scene) run(t *testing.T) {
	t.Helper()
	if err := s.sender.Send(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// all sends what is due, and what comes of that, and returns it.
func (s *scene) all(t *testing.T) []ports.Letter {
	t.Helper()
	before := len(s.sent)
	for attempts := -1; attempts < len(s.outcomes); {
		attempts = len(s.outcomes)
		s.run(t)
	}
	return s.sent[before:]
}

func secretOf(l ports.Letter) string {
	return strings.TrimPrefix(l.Link, "https://portal.example/enter/")
}

func TestAPanicOverAMailFailsThatAttemptAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.invite(t, "ama@example.com")
	s.panics = true
	s.run(t)
	if len(s.sent) != 0 || !strings.Contains(s.log.String(), "a fault") {
		t.Fatalf("%d sent; %s", len(s.sent), s.log.String())
	}
	s.panics = false
	s.Clock.GoOn(time.Minute)
	s.run(t)
	if len(s.sent) != 1 {
		t.Errorf("%d sent a minute later; %s", len(s.sent), s.log.String())
	}
}

func TestASlowMailServerOfOneBusinessHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	other, err := s.directory.Invite(t.Context(), command, people.Invitation{BusinessID: s.NewTenant(t).BusinessID,
		Email: "kofi@example.com", Name: "Kofi", Role: "owner"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.access.Enter(t.Context(), people.Browser{}, other.Secret); err != nil {
		t.Fatal(err)
	}
	s.all(t)
	for i := range 6 {
		s.invite(t, fmt.Sprintf("%d@tarpit.example", i))
	}
	s.Clock.GoOn(time.Second)
	for range 5 {
		if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Portal, "kofi@example.com"); err != nil {
			t.Fatal(err)
		}
	}
	s.tarpit, s.begun = make(chan struct{}), make(chan domain.Email, 11)
	sent := make(chan error)
	go func() { sent <- s.sender.Send(t.Context()) }()
	var begun []string
	for range 6 {
		select {
		case to := <-s.begun:
			begun = append(begun, string(to))
		case <-time.After(30 * time.Second):
			t.Fatalf("begun: %v, and nothing more while one mail takes long", begun)
		}
	}
	if slices.Sort(begun); begun[0] == "kofi@example.com" || begun[1] != "kofi@example.com" {
		t.Errorf("begun: %v, want one mail of the slow business and the links of the other one", begun)
	}
	close(s.tarpit)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	s.sender.Wait()
	if s.all(t); len(s.begun) != 5 {
		t.Errorf("%d mails were sent afterwards, want 5", len(s.begun))
	}
}

func TestAnInvitationWaitsForItsMailServerAndItsLinkIsInTheMailAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	onScreen := s.invite(t, "ama@example.com")
	s.fails = errors.New("421 ama@example.com: later")
	s.run(t)
	s.run(t) // not due yet
	if len(s.tried) != 1 || strings.Contains(s.log.String(), "ama@example.com") {
		t.Fatalf("%d attempts; %s", len(s.tried), s.log.String())
	}
	s.Clock.GoOn(time.Minute)
	s.fails = nil
	s.run(t)
	s.Clock.GoOn(time.Hour)
	s.run(t)
	if len(s.sent) != 1 || s.sent[0].Kind != domain.MailInvitation || s.sent[0].To != "ama@example.com" {
		t.Fatalf("%+v", s.sent)
	}
	secret := secretOf(s.sent[0])
	for _, file := range []string{s.Path, s.Path + "-wal"} {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(secret)) {
			t.Errorf("the secret of the link is in %s", file)
		}
	}
	if strings.Contains(s.log.String(), secret) {
		t.Error("the secret of the link is in the log")
	}
	if _, err := s.access.Enter(t.Context(), people.Browser{}, secret); err != nil {
		t.Fatal(err)
	}
	for what, other := range map[string]string{"on the screen": onScreen.Secret, "of the attempt that failed": secretOf(s.tried[0])} {
		if _, err := s.access.Enter(t.Context(), people.Browser{}, other); !domain.HasCode(err, domain.CodeLinkReplaced) {
			t.Errorf("the link %s works after another one was used: %v", what, err)
		}
	}
}

// A member of the staff has no password here, and accepts a customer's invitation by a link
// that is asked for at its page.
func TestASignInLinkThatIsAskedForAtAnInvitationAcceptsIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	i, err := s.directory.Invite(t.Context(), command, people.Invitation{Email: "kofi@waybill.example", Name: "Kofi", Role: "dispatcher"})
	if err != nil {
		t.Fatal(err)
	}
	console, err := s.access.Enter(t.Context(), people.Browser{}, i.Secret)
	if err != nil {
		t.Fatal(err)
	}
	s.run(t)
	s.invite(t, "kofi@waybill.example")
	s.run(t)
	invitation := s.sent[len(s.sent)-1]
	if _, err := s.access.Enter(t.Context(), people.Browser{}, secretOf(invitation)); invitation.Kind != domain.MailInvitation ||
		invitation.Name != "Ama" || !domain.HasCode(err, domain.CodeOwnSignInToAccept) {
		t.Fatalf("%+v, %v", invitation, err)
	}
	// The page for signing in has nobody to send a link to but one who was invited: it sends that again.
	if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Portal, "kofi@waybill.example"); err != nil {
		t.Fatal(err)
	}
	s.all(t)
	if l := s.sent[len(s.sent)-1]; l.Kind != domain.MailInvitation || l.LinkFor != domain.LinkInvitation.Lifetime() {
		t.Errorf("%+v", l)
	}
	if err := s.access.SendAcceptLink(t.Context(), people.Browser{}, secretOf(invitation)); err != nil {
		t.Fatal(err)
	}
	s.run(t)
	l := s.sent[len(s.sent)-1]
	if l.Kind != domain.MailSignInLink || !l.Accepts || l.To != "kofi@waybill.example" || l.LinkFor != domain.LinkSignIn.Lifetime() {
		t.Fatalf("%+v", l)
	}
	entered, err := s.access.Enter(t.Context(), people.Browser{}, secretOf(l))
	if err != nil || entered.Session.BusinessID != s.business || entered.Person.Name != "Kofi" || entered.CredentialsEnded {
		t.Errorf("%+v, %v", entered, err)
	}
	if _, err := s.access.Identify(t.Context(), domain.Console, console.Secret); err != nil {
		t.Errorf("the session of the console: %v", err)
	}
	if err := s.access.SendAcceptLink(t.Context(), people.Browser{}, secretOf(invitation)); err == nil {
		t.Error("once it is accepted, another one can be asked for")
	}
}

// asked asks for a sign-in link to the portal and returns its mail.
func (s *scene) asked(t *testing.T, email domain.Email) ports.Letter {
	t.Helper()
	if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Portal, string(email)); err != nil {
		t.Fatal(err)
	}
	sent := s.all(t)
	at := slices.IndexFunc(sent, func(l ports.Letter) bool { return l.Kind == domain.MailSignInLink && l.To == email && !l.Accepts })
	if at < 0 {
		t.Fatalf("%+v", sent)
	}
	return sent[at]
}

func (s *scene) enter(t *testing.T, secret string) people.Entered {
	t.Helper()
	entered, err := s.access.Enter(t.Context(), people.Browser{}, secret)
	if err != nil {
		t.Fatal(err)
	}
	return entered
}

// Somebody else was shown the link that opened the account, and may have set its password.
func TestTheFirstLinkOfAPersonSaysThatItEndsWhatWasSetBefore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.enter(t, s.invite(t, "owner@example.com").Secret)
	shown, err := s.directory.Invite(t.Context(), owner.Actor(""), people.Invitation{BusinessID: s.business, Email: "ama@example.com",
		Name: "Ama", Role: "viewer"})
	if err != nil {
		t.Fatal(err)
	}
	s.enter(t, shown.Secret)
	for _, first := range []bool{true, false} {
		l := s.asked(t, "ama@example.com")
		if entered := s.enter(t, secretOf(l)); l.Ends != first || entered.CredentialsEnded != first {
			t.Errorf("the mail says %t, and the link does so: %t; want %t", l.Ends, entered.CredentialsEnded, first)
		}
	}
}

// No customer decides whether a person reaches the others.
func TestALinkThatAPersonAskedForIsTheirsAndLeadsWhereTheyMaySignIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first, other := s.business, s.NewTenant(t).BusinessID
	owner := s.enter(t, s.invite(t, "owner@example.com").Secret).Actor("")
	ama := s.enter(t, s.invite(t, "ama@example.com").Secret)
	s.business = other
	accepted := s.invite(t, "ama@example.com")
	if err := s.access.AcceptHere(t.Context(), people.Browser{}, ama.Principal, accepted.Secret); err != nil {
		t.Fatal(err)
	}
	ask := func(want domain.ID) string {
		t.Helper()
		secret := secretOf(s.asked(t, "ama@example.com"))
		if link, err := s.access.Look(t.Context(), people.Browser{}, secret); err != nil || link.BusinessID != want {
			t.Fatalf("a link to %s, %v, want %s", link.BusinessID, err, want)
		}
		return secret
	}
	enter := func(what, secret string, want domain.ID) {
		t.Helper()
		entered, err := s.access.Enter(t.Context(), people.Browser{}, secret)
		if err != nil || entered.Session.BusinessID != want {
			t.Errorf("%s: in %s, %v, want %s", what, entered.Session.BusinessID, err, want)
		}
	}
	earlier := ask(first)
	own := ask(first)
	if _, err := s.directory.LinkTo(t.Context(), owner, first, ama.Person.ID); err != nil {
		t.Fatal(err)
	}
	enter("an owner made another link", own, first)
	if _, err := s.access.Look(t.Context(), people.Browser{}, earlier); !domain.HasCode(err, domain.CodeLinkReplaced) {
		t.Errorf("an earlier link that the person asked for: %v", err)
	}
	own = ask(first)
	if _, err := s.directory.EndSessions(t.Context(), owner, ama.Person.ID); err != nil {
		t.Fatal(err)
	}
	enter("the owner signed the person out", own, other)
	enter("and again", ask(other), other)
	s.Clock.GoOn(2 * time.Hour)
	own = ask(first)
	s.disable(t, first, true)
	enter("the first business is disabled", own, other)
	enter("and again", ask(other), other)
	s.disable(t, first, false)
	own = ask(first)
	if _, err := s.directory.Remove(t.Context(), command, first, ama.Person.ID); err != nil {
		t.Fatal(err)
	}
	enter("the person was removed", own, other)
	own = ask(other)
	if _, err := s.directory.Remove(t.Context(), command, other, ama.Person.ID); err != nil {
		t.Fatal(err)
	}
	s.invite(t, "ama@example.com")
	if _, err := s.access.Enter(t.Context(), people.Browser{}, own); !domain.HasCode(err, domain.CodeLinkUnknown) {
		t.Errorf("removed and invited again, a link from before accepts the invitation: %v", err)
	}
}

func (s *scene) disable(t *testing.T, business domain.ID, disabled bool) {
	t.Helper()
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Tenancy.UpdateBusiness(ctx, domain.Business{ID: business, Name: "Adom", Disabled: disabled})
	})
}

func TestMailsToTheStaffLeadToTheConsoleAndOthersToThePortal(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.invite(t, "ama@example.com")
	i, err := s.directory.Invite(t.Context(), command, people.Invitation{Email: "kofi@waybill.example", Name: "Kofi", Role: "dispatcher"})
	if err != nil {
		t.Fatal(err)
	}
	s.run(t)
	if _, err := s.access.Enter(t.Context(), people.Browser{Device: "one"}, i.Secret); err != nil {
		t.Fatal(err)
	}
	again, err := s.directory.Link(t.Context(), command, i.PersonID, domain.Console)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.access.Enter(t.Context(), people.Browser{Device: "another"}, again.Secret); err != nil {
		t.Fatal(err)
	}
	if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Console, "kofi@waybill.example"); err != nil {
		t.Fatal(err)
	}
	s.run(t)
	kinds := map[domain.MailKind]int{}
	for _, l := range s.sent {
		want := "https://ops.example/console/"
		if l.To == "ama@example.com" {
			want = "https://portal.example/"
		} else {
			kinds[l.Kind]++
		}
		if at := l.Link + l.Page; !strings.HasPrefix(at, want) {
			t.Errorf("%s to %s leads to %q", l.Kind, l.To, at)
		}
	}
	for _, kind := range []domain.MailKind{domain.MailInvitation, domain.MailNewDevice, domain.MailSignInLink} {
		if kinds[kind] != 1 {
			t.Errorf("%d mails of the kind %s to the staff", kinds[kind], kind)
		}
	}
}

func TestAMailThatIsRefusedForGoodIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.invite(t, "ama@example.com")
	s.fails = ports.ErrMailRefused
	s.run(t)
	s.Clock.GoOn(24 * time.Hour)
	s.run(t)
	if len(s.tried) != 1 || strings.Join(s.outcomes, " ") != people.MailGivenUp {
		t.Errorf("%d attempts, %v", len(s.tried), s.outcomes)
	}
}

func TestAMailIsGivenUpWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.invite(t, "ama@example.com")
	s.fails = errors.New("gone")
	for range 200 {
		s.run(t)
		s.Clock.GoOn(time.Hour)
	}
	if last := s.outcomes[len(s.outcomes)-1]; last != people.MailGivenUp {
		t.Errorf("the last outcome is %s after %d attempts", last, len(s.tried))
	}
}

func TestALinkThatIsAskedForGoesToPersonsAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.invite(t, "ama@example.com")
	if _, err := s.access.Enter(t.Context(), people.Browser{Mark: "laptop"}, ama.Secret); err != nil {
		t.Fatal(err)
	}
	for _, email := range []string{"nobody@example.com", "AMA@example.com"} {
		if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Portal, email); err != nil {
			t.Fatal(err)
		}
	}
	s.run(t)
	if len(s.sent) != 1 || s.sent[0].To != "ama@example.com" || s.sent[0].Kind != domain.MailSignInLink {
		t.Fatalf("%+v", s.sent)
	}
	another, err := s.directory.Link(t.Context(), command, ama.Member.Person.ID, domain.Portal)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Portal, "ama@example.com"); err != nil {
		t.Fatal(err)
	}
	s.run(t)
	entered, err := s.access.Enter(t.Context(), people.Browser{Mark: "phone", Device: "Mozilla/5.0 (Linux) Firefox/140.0"},
		secretOf(s.sent[1]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.access.Enter(t.Context(), people.Browser{}, another.Secret); !domain.HasCode(err, domain.CodeLinkReplaced) {
		t.Errorf("another link works after one was used: %v", err)
	}
	s.run(t)
	if last := s.sent[len(s.sent)-1]; last.Kind != domain.MailNewDevice || last.Device != "Firefox on Linux" {
		t.Errorf("a new device brings %+v", last)
	}
	if _, err := s.directory.Remove(t.Context(), command, s.business, entered.Person.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Portal, "ama@example.com"); err != nil {
		t.Fatal(err)
	}
	before := len(s.sent)
	s.run(t)
	if len(s.sent) != before {
		t.Error("a person who was removed got a link")
	}
}

// settles counts the mails that took a place of the sender.
type settles struct {
	ports.MailOutbox
	n int
}

func (s *settles) Settle(ctx context.Context, m domain.Mail) error {
	s.n++
	return s.MailOutbox.Settle(ctx, m)
}

func TestLinksToNobodyTakeNoPlaceOfTheSender(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	outbox := &settles{MailOutbox: s.Store.Mails()}
	s.sender = people.NewMailSender(s.Store, outbox, s.post, s.post, s.Clock, s.IDs, people.MailSites{}, s.observed, slog.New(slog.DiscardHandler))
	for range 20 {
		if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Portal, "nobody@example.com"); err != nil {
			t.Fatal(err)
		}
	}
	s.run(t)
	if outbox.n != 0 || len(s.outcomes) != 20 || s.outcomes[19] != people.MailDropped {
		t.Errorf("%d took a place; %v", outbox.n, s.outcomes)
	}
}

func TestAnInvitationThatIsAskedForAgainNamesWhoInvited(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := domain.AuditActor{ID: s.IDs.ID(domain.PrefixPerson), Name: "Kofi", BusinessID: s.business}
	for email, by := range map[string]domain.AuditActor{"ama@example.com": owner, "efua@example.com": command} {
		if _, err := s.directory.Invite(t.Context(), by, people.Invitation{
			BusinessID: s.business, Email: email, Name: "Ama", Role: "viewer",
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Portal, email); err != nil {
			t.Fatal(err)
		}
	}
	s.all(t)
	if len(s.sent) != 4 {
		t.Fatalf("%d mails", len(s.sent))
	}
	for _, l := range s.sent {
		want := map[domain.Email]string{"ama@example.com": "Kofi"}[l.To]
		if l.Kind != domain.MailInvitation || l.By != want {
			t.Errorf("%s to %s says that %q invites, want %q", l.Kind, l.To, l.By, want)
		}
	}
}

func TestChangesOfKeysThatAreManyAreListedInOneMailBehindTheHour(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Clock.GoOn(-s.Clock.Now().Sub(s.Clock.Now().Truncate(time.Hour))) // the begin of an hour
	s.member(t, "ama@example.com", "owner")
	tenants, app := s.shop(t)
	s.all(t)
	kofi := domain.AuditActor{ID: s.IDs.ID(domain.PrefixPerson), Name: "Kofi", BusinessID: s.business}
	var last access.IssuedKey
	issue := func(e domain.Environment) {
		t.Helper()
		var err error
		if last, err = tenants.IssueKey(t.Context(), kofi, app, e, domain.AllScopes(), nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 60 {
		issue(domain.Sandbox)
	}
	issue(domain.Live)
	live := last.LastFour
	if _, err := tenants.RevokeKey(t.Context(), kofi, last.ID); err != nil {
		t.Fatal(err)
	}
	kinds := map[domain.MailKind]int{}
	for _, l := range s.all(t) {
		kinds[l.Kind]++
	}
	if want := domain.MailsAnHourToOne; kinds[domain.MailKeyCreated] != want+1 || kinds[domain.MailKeyRevoked] != 1 || len(kinds) != 2 {
		t.Errorf("%v are told at once", kinds)
	}
	s.Clock.GoOn(time.Hour + time.Minute)
	joined := s.all(t)
	if len(joined) != 1 || joined[0].Kind != domain.MailKeyChanges || joined[0].To != "ama@example.com" || !joined[0].More {
		t.Fatalf("%+v", joined)
	}
	listed := joined[0].Changes
	if first, second := listed[0], listed[1]; first.Env != domain.Live || first.Key != live || first.By != "Kofi" || first.App != "Shop" ||
		second.Kind != domain.MailKeyRevoked || listed[2].Env != domain.Sandbox {
		t.Errorf("%+v", listed[:3])
	}
	s.Clock.GoOn(24 * time.Hour)
	if more := s.all(t); len(more) != 0 {
		t.Errorf("%+v", more)
	}
}

// Whoever has a session of an owner could hide a live key behind keys of the sandbox otherwise.
func TestNoSandboxKeysPushALiveKeyOutOfTheMailOfTheHour(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Clock.GoOn(-s.Clock.Now().Sub(s.Clock.Now().Truncate(time.Hour))) // the begin of an hour
	s.member(t, "ama@example.com", "owner")
	tenants, app := s.shop(t)
	issue := func(e domain.Environment) domain.ID {
		t.Helper()
		key, err := tenants.IssueKey(t.Context(), command, app, e, domain.AllScopes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return key.ID
	}
	for range domain.MailsAnHourToOne {
		issue(domain.Live)
	}
	hidden := issue(domain.Live)
	for range 51 {
		issue(domain.Sandbox)
	}
	s.all(t)
	s.Clock.GoOn(time.Hour + time.Minute)
	joined := s.all(t)
	if len(joined) != 1 || !joined[0].More || len(joined[0].Changes) != 50 {
		t.Fatalf("%+v", joined)
	}
	live := 0
	for _, c := range joined[0].Changes {
		if c.Env == domain.Live {
			live++
		}
	}
	if live != domain.MailsAnHourToOne+1 {
		t.Errorf("%d live keys are listed, and %s may be left out", live, hidden)
	}
}

func TestAPersonIsToldOfAnotherPasswordAlsoAfterLeavingTheBusiness(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	entered, err := s.access.Enter(t.Context(), people.Browser{}, s.invite(t, "ama@example.com").Secret)
	if err != nil {
		t.Fatal(err)
	}
	s.all(t)
	told := func(k domain.MailKind) []ports.Letter {
		t.Helper()
		s.Write(t, func(ctx context.Context, tx ports.Stores) error {
			return tx.Mails.Tell(ctx, domain.AccountNotice(k, entered.Session, s.IDs.ID(domain.PrefixAuditEntry), s.Clock.Now()))
		})
		return s.all(t)
	}
	for range domain.MailsAnHourToOne {
		if l := told(domain.MailPasswordChanged); len(l) != 1 || l[0].To != "ama@example.com" || l[0].Page != "https://portal.example/account" {
			t.Fatalf("%+v", l)
		}
	}
	if l := told(domain.MailPasswordChanged); len(l) != 0 {
		t.Errorf("%+v beyond the bound", l)
	}
	if _, err := s.directory.Remove(t.Context(), command, s.business, entered.Person.ID); err != nil {
		t.Fatal(err)
	}
	if l := told(domain.MailPasskeyAdded); len(l) != 1 {
		t.Errorf("%+v after leaving", l)
	}
	s.Clock.GoOn(time.Hour + time.Minute)
	if l := s.all(t); len(l) != 1 || l[0].Kind != domain.MailAccountChanges || l[0].Since == nil {
		t.Errorf("%+v behind the hour", l)
	}
}

func TestAnInvitationIsNotAskedForAgainMoreOftenThanItMayBeSent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.invite(t, "ama@example.com")
	s.all(t)
	ask := func(n int) (sent int) {
		t.Helper()
		for range n {
			if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Portal, "ama@example.com"); err != nil {
				t.Fatal(err)
			}
			sent += len(s.all(t))
		}
		return sent
	}
	if sent := ask(20); sent != domain.AskedADayToOne {
		t.Errorf("%d mails within the hour", sent)
	}
	s.Clock.GoOn(23 * time.Hour)
	if sent := ask(1); sent != 0 {
		t.Errorf("%d mails in the last hour of the day", sent)
	}
	s.Clock.GoOn(time.Hour)
	if sent := ask(1); sent != 1 {
		t.Errorf("%d mails a day later", sent)
	}
}

// An owner who invites strangers cannot have anybody flood them in the name of the business, and
// nobody else can use up what the owner may send.
func TestInvitationsThatAnybodyAsksForAgainHaveABoundOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := domain.AuditActor{ID: s.IDs.ID(domain.PrefixPerson), Name: "Mallory", BusinessID: s.business}
	invitation := func(i int) people.Invitation {
		return people.Invitation{BusinessID: s.business, Email: fmt.Sprintf("stranger%d@example.com", i), Name: "Stranger", Role: "viewer"}
	}
	const strangers = 30
	for i := range strangers {
		if i == domain.InvitationsAnHour {
			s.Clock.GoOn(time.Hour)
		}
		if _, err := s.directory.Invite(t.Context(), owner, invitation(i)); err != nil {
			t.Fatal(err)
		}
	}
	s.all(t)
	for range 6 {
		s.Clock.GoOn(time.Hour)
		for i := range strangers {
			if err := s.access.SendLink(t.Context(), people.Browser{}, domain.Portal, invitation(i).Email); err != nil {
				t.Fatal(err)
			}
		}
		s.all(t)
	}
	if n := len(s.sent) - strangers; n != domain.MailsADayOfBusiness {
		t.Errorf("%d mails that were asked for, want %d", n, domain.MailsADayOfBusiness)
	}
	if _, err := s.directory.Invite(t.Context(), owner, invitation(strangers)); err != nil {
		t.Errorf("the owner may send no more: %v", err)
	}
}

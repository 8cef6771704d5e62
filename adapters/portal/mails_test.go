package portal_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// mails empties the outbox, and tells which kinds it held of those of sign-ins.
func (s *scene) mails(t *testing.T) (kinds []string) {
	t.Helper()
	due := ports.MailLease{Now: s.Clock.Now(), Until: s.Clock.Now().Add(domain.MailKept), Limit: 1000}
	for _, m := range must[[]domain.Mail](t)(s.Store.Mails().Lease(t.Context(), due)) {
		if m.Kind == domain.MailNewDevice || m.Kind == domain.MailSignInLink {
			kinds = append(kinds, fmt.Sprint(m.Kind, " ", m.Email, m.PersonID))
		}
	}
	slices.Sort(kinds)
	return kinds
}

func TestABrowserIsKnownByACookieOfItsOwnAndANewOneIsToldByMailOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.house.people[domain.RoleOwner]
	s.mails(t)
	first := s.reader(t)
	signIn := func(r *reader, email domain.Email) (marks []string) {
		t.Helper()
		follow := r.client.CheckRedirect
		r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		p := r.post("/signin", url.Values{"email": {string(email)}, "password": {password}})
		r.client.CheckRedirect = follow
		for _, c := range p.header.Values("Set-Cookie") {
			if strings.HasPrefix(c, "waybill_portal_device=") {
				marks = append(marks, c)
			}
		}
		return marks
	}
	marks := signIn(first, owner.Email)
	if len(marks) != 1 || !strings.Contains(marks[0], "; HttpOnly") || !strings.Contains(marks[0], "; SameSite=Lax") ||
		!strings.Contains(marks[0], fmt.Sprintf("; Max-Age=%d", int(domain.DeviceKept.Seconds()))) {
		t.Errorf("the cookies of the browser are %q", marks)
	}
	told := []string{fmt.Sprint(domain.MailNewDevice, " ", owner.ID)}
	if got := s.mails(t); !slices.Equal(got, told) {
		t.Errorf("a second browser brings the mails %q", got)
	}
	first.post("/signout", nil)
	if p := first.get("/people"); p.at != "/signin" {
		t.Errorf("the cookie of the browser lets in without a session: at %s", p.at)
	}
	if again := signIn(first, owner.Email); len(again) != 0 {
		t.Errorf("a browser that is known gets %q", again)
	}
	if got := s.mails(t); got != nil {
		t.Errorf("a browser that is known brings the mails %q", got)
	}
}

// counting is a limiter of one process.
type counting struct {
	stage.Unlimited
	now   func() time.Time
	mu    sync.Mutex
	taken map[string][]time.Time
}

func (c *counting) Take(_ context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, b := range buckets {
		name := b.Scope + " " + b.Name
		c.taken[name] = slices.DeleteFunc(c.taken[name], func(at time.Time) bool { return now.Sub(at) >= b.Limit.Window })
		if len(c.taken[name]) >= b.Limit.Limit {
			return ports.Allowance{Scope: b.Scope, Limit: b.Limit, RetryAfter: c.taken[name][0].Add(b.Limit.Window).Sub(now)}, nil
		}
	}
	for _, b := range buckets {
		c.taken[b.Scope+" "+b.Name] = append(c.taken[b.Scope+" "+b.Name], now)
	}
	return ports.Allowance{Admitted: true}, nil
}

func TestLinksByMailAreLimitedWhoeverIsKnown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.guard.counts = &counting{now: s.Clock.Now, taken: map[string][]time.Time{}}
	r := s.reader(t)
	owner := string(s.house.people[domain.RoleOwner].Email)
	ask := func(email string) page {
		t.Helper()
		return r.post("/signin/link", url.Values{"email": {email}})
	}
	for _, email := range []string{owner, "nobody@adom.example"} {
		for n := range 5 {
			if p := ask(email); p.status != http.StatusOK || !strings.Contains(p.body, "a link is on its way") {
				t.Fatalf("link %d for %s: %d at %s", n+1, email, p.status, p.at)
			}
		}
		if p := ask(email); p.status != http.StatusTooManyRequests || p.header.Get("Retry-After") == "" ||
			!strings.Contains(p.body, "Too many sign-in links were requested") {
			t.Errorf("link 6 for %s: %d\n%s", email, p.status, p.body)
		}
	}
}

func TestTooManyInvitationsAreRefusedWithTheTimeToTryAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	invite := func() page {
		return owner.post("/people", url.Values{"email": {"efua@elsewhere.example"}, "name": {"Efua"}, "role": {"viewer"}})
	}
	for range domain.MailsAnHourToOne {
		if p := invite(); p.status != http.StatusOK {
			t.Fatalf("%d\n%s", p.status, p.body)
		}
	}
	p := invite()
	if p.status != http.StatusTooManyRequests || p.header.Get("Retry-After") != "3600" || !strings.Contains(p.body, "Nothing was changed") ||
		!strings.Contains(p.body, "Try again in 60 minutes.") || !strings.Contains(p.body, `value="efua@elsewhere.example"`) {
		t.Errorf("%d, Retry-After %q\n%s", p.status, p.header.Get("Retry-After"), p.body)
	}
	if p := owner.get("/apps/" + string(s.house.app.ID) + "/sandbox/keys/new"); !strings.Contains(p.body, "After 5 in an hour, further ones come in one email") {
		t.Errorf("the page of keys does not tell how mails are joined\n%s", p.body)
	}
}

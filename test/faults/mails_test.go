package faults

import (
	"context"
	"database/sql"
	"fmt"
	"html"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
)

// mailedWithin is how soon a mail that is due has arrived: workers look every 2 s.
const mailedWithin = 30 * time.Second

// mailing is a server with a portal, workers, and the mail server of both.
type mailing struct {
	*shop
	url     string
	db      *sql.DB
	box     *postbox
	workers []*victim
}

func newMailing(t *testing.T, dialect Dialect, workers int) *mailing {
	t.Helper()
	if testing.Short() {
		t.Skip("starts servers; left out in short mode")
	}
	m := &mailing{box: newPostbox(t), url: freshDatabase(t, dialect)}
	m.shop = serve(t, m.url, 1, "WAYBILL_SMTP_URL=smtp://"+m.box.address,
		"WAYBILL_MAIL_FROM=Waybill <no-reply@waybill.example>", "WAYBILL_LOG_LEVEL=info")
	t.Cleanup(m.close)
	m.db = openDatabase(t, m.url)
	m.env = append(m.env, "WAYBILL_PORTAL_BASE_URL="+m.portal(0))
	for range workers {
		w := newVictimOf(t, m.binary, m.env, "worker")
		w.start(t)
		m.workers = append(m.workers, w)
	}
	return m
}

// invite is the command; it answers with the person's ID and the secret of the link.
func (m *mailing) invite(t *testing.T, email, name, role string) (id, secret string) {
	t.Helper()
	var invited struct{ ID, Link string }
	if err := command(t.Context(), m.binary, m.env, &invited, "person", "invite", "--business", m.sender.customer.BusinessID,
		"--email", email, "--name", name, "--role", role, "--json"); err != nil {
		t.Fatal(err)
	}
	_, secret, _ = strings.Cut(invited.Link, "/enter/")
	return invited.ID, secret
}

// mail waits for the n-th mail of a kind to an address.
func (m *mailing) mail(t *testing.T, to, kind string, n int) posted {
	t.Helper()
	until(t, fmt.Sprintf("%s has %d mails about %s", to, n, kind), mailedWithin, func() bool { return len(m.box.all(to, kind)) >= n })
	return m.box.all(to, kind)[n-1]
}

// count asks the database about mails.
func (m *mailing) count(t *testing.T, where string) (n int) {
	t.Helper()
	if err := m.db.QueryRowContext(t.Context(), "SELECT count(*) FROM mails WHERE "+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

var mailedLink = regexp.MustCompile(`https?://[^\s"<>]+/enter/([A-Za-z0-9_-]+)`)

// link is the secret of the one link that both parts of a mail have.
func (p posted) link(t *testing.T, portal string) string {
	t.Helper()
	inText, inHTML := mailedLink.FindAllStringSubmatch(p.text, -1), mailedLink.FindAllStringSubmatch(html.UnescapeString(p.html), -1)
	if len(inText) != 1 || len(inHTML) == 0 || inText[0][0] != portal+"/enter/"+inText[0][1] {
		t.Fatalf("the links of the mail are %q and %q:\n%s\n%s", inText, inHTML, p.text, p.html)
	}
	for _, other := range inHTML {
		if other[0] != inText[0][0] {
			t.Errorf("the parts of the mail lead to %s and %s", inText[0][0], other[0])
		}
	}
	return inText[0][1]
}

// Mails of people's whole first day, while the mail server is gone at first and two
// workers send.
func TestMailsWaitForTheirServerThenEachReachesItsPersonOnceAndItsLinkLetsInOnce(t *testing.T) {
	t.Parallel()
	for _, dialect := range engines {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			m := newMailing(t, dialect, 2)
			const ama, kofi, efua, nobody = "ama@stormy.example", "kofi@stormy.example", "efua@stormy.example", "nobody@stormy.example"

			// The mail server is gone: the link of the command works at once, mails wait.
			_, shown := m.invite(t, kofi, "Kofi", "viewer")
			newVisitor(t, m.portal(0)).post("/enter/"+shown).is(t, http.StatusOK, "Hello, Kofi")
			m.invite(t, efua, "Efua", "viewer")
			until(t, "the mail to Efua has failed", mailedWithin, func() bool {
				return m.count(t, "state = 'waiting' AND attempts > 0 AND last_error <> ''") > 0
			})
			if status := m.operators(t, "/readyz"); status != http.StatusOK {
				t.Errorf("without a mail server /readyz is %d", status)
			}
			m.box.open(t)

			id, shown := m.invite(t, ama, "Ama Mensah", "owner")
			invitation := m.mail(t, ama, "invitation", 1)
			if invitation.subject != "Your invitation to Stormy Foods on Waybill" ||
				!strings.Contains(invitation.text, "Hello Ama Mensah,") || !strings.Contains(invitation.html, "Hello Ama Mensah,") {
				t.Errorf("the invitation is %+v", invitation)
			}
			link := invitation.link(t, m.portal(0))
			newVisitor(t, m.portal(0)).get("/enter/"+link).is(t, http.StatusOK, "Sign in") // a scanner of mails
			in := newVisitor(t, m.portal(0))
			in.post("/enter/"+link).is(t, http.StatusOK, "Hello, Ama Mensah")
			newVisitor(t, m.portal(0)).post("/enter/"+link).is(t, http.StatusGone, "This link was used already")
			newVisitor(t, m.portal(0)).post("/enter/"+shown).is(t, http.StatusGone, "This link works no more")

			key := m.makesKey(t, in, "live")
			at := in.get(m.keys("live")).keyAt(t, "…"+key[len(key)-4:])
			rotated := in.post(at+"/rotate", "once", in.get(at+"/rotate").once(t)).secret()
			in.post(at+"/revoke").is(t, http.StatusOK, "The key was revoked")

			// By the form, for a known address and for an unknown one.
			anonymous := newVisitor(t, m.portal(0))
			unknown := anonymous.post("/signin/link", "email", nobody).is(t, http.StatusOK, "a link is on its way")
			known := anonymous.post("/signin/link", "email", ama).is(t, http.StatusOK, "a link is on its way")
			if known.body != unknown.body || known.path != unknown.path {
				t.Errorf("the form tells who has an account:\n%s\n%s", known.body, unknown.body)
			}
			const burst = 60 // keeps one worker busy for longer than the other one looks away
			m.tells(t, domain.ID(id), burst)
			for kind, says := range map[string][]string{
				"key_created": {key[len(key)-4:], "Ama Mensah"},
				"key_rotated": {key[len(key)-4:], rotated[len(rotated)-4:]},
				"key_revoked": {key[len(key)-4:]},
			} {
				told := m.mail(t, ama, kind, 1)
				for _, part := range []string{told.text, told.html} {
					for _, want := range append(says, "Web shop") {
						if !strings.Contains(part, want) {
							t.Errorf("a mail about %s lacks %q:\n%s", kind, want, part)
						}
					}
					if strings.Contains(part, key) || strings.Contains(part, rotated) {
						t.Errorf("a mail about %s shows a key", kind)
					}
				}
			}
			other := newVisitor(t, m.portal(0))
			other.post("/enter/"+m.mail(t, ama, "sign_in_link", 1).link(t, m.portal(0))).is(t, http.StatusOK, "Hello, Ama Mensah")
			m.mail(t, ama, "new_device", 1+burst)
			m.mail(t, efua, "invitation", 1)
			until(t, "no mail waits any more", mailedWithin, func() bool { return m.count(t, "state = 'waiting'") == 0 })
			want := slices.Concat(slices.Repeat([]string{ama + " new_device"}, 1+burst), []string{
				ama + " invitation", ama + " key_created", ama + " key_rotated", ama + " key_revoked", ama + " sign_in_link", efua + " invitation",
			})
			slices.Sort(want)
			if got := m.box.list(); !slices.Equal(got, want) {
				t.Errorf("%d mails arrived, want %d:\n%s", len(got), len(want), strings.Join(slices.Compact(got), "\n"))
			}
			if n := m.count(t, "email IS NOT NULL"); n != 0 {
				t.Errorf("%d e-mail addresses are kept of mails that wait no more", n)
			}
			m.nowhere(t, link, key, rotated, shown)
		})
	}
}

// tells puts mails to a person into the outbox, all at once.
func (m *mailing) tells(t *testing.T, person domain.ID, n int) {
	t.Helper()
	store, err := gormstore.Open(t.Context(), m.url, gormstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	err = store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		for range n {
			if err := tx.Mails.Tell(ctx, domain.Notice{
				Kind: domain.MailNewDevice, Cause: domain.ID(drawn("ses_")), PersonID: person, BusinessID: domain.ID(m.sender.customer.BusinessID),
				At: time.Now(), Facts: map[string]string{domain.FactDevice: "Firefox on Linux"},
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// nowhere looks for secrets and addresses in the logs.
func (m *mailing) nowhere(t *testing.T, secrets ...string) {
	t.Helper()
	for _, v := range slices.Concat(m.servers, m.workers) {
		text, err := os.ReadFile(v.logs)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range append(secrets, "@stormy.example") {
			if strings.Contains(string(text), secret) {
				t.Errorf("%q is in the log of waybill %s", secret, v.command[0])
			}
		}
	}
}

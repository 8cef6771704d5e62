package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"waybill/adapters/console"
	"waybill/test/browser"
)

// keyboardJourney is walked by the keys that people press, and by no mouse.
type keyboardJourney struct {
	name  string
	walk  func(*walk)
	sends []string // the routes of its forms
}

func TestEachFormIsSentByTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	// The page behind the form of /account/oidc leads to the provider at once.
	sent := map[string]bool{"/account/oidc": true}
	for _, j := range keyboardJourneys {
		for _, path := range j.sends {
			sent[path] = true
		}
	}
	for _, r := range console.Routes() {
		if r.Method != http.MethodPost {
			continue
		}
		if !sent[r.Path] {
			t.Errorf("no journey by the keyboard sends the form of %s: add it to one of keyboardJourneys", r.Path)
		}
		delete(sent, r.Path)
	}
	for path := range sent {
		t.Errorf("there is no route %s", path)
	}
}

// walkByKeyboard takes no journey for walked whose forms did not arrive, or were refused.
func walkByKeyboard(t *testing.T, b *browser.Browser) {
	for _, j := range keyboardJourneys {
		t.Run(j.name, func(t *testing.T) {
			w := &walk{T: t, scene: newScene(t), browser: b, reader: browser.Reader{Zone: "Asia/Kolkata"}, keys: true}
			j.walk(w)
			for _, path := range j.sends {
				if !w.posted(path) {
					t.Errorf("the form of %s was not sent, or was refused", path)
				}
			}
		})
	}
}

// posted reports whether a form was sent to a route, and not refused.
func (s *scene) posted(route string) (sent bool) {
	pattern := strings.Split(route, "/")
	s.accepted.Range(func(path, _ any) bool {
		parts := strings.Split(path.(string), "/")
		sent = len(parts) == len(pattern)
		for i := 0; sent && i < len(parts); i++ {
			sent = parts[i] == pattern[i] || strings.HasPrefix(pattern[i], ":")
		}
		return !sent
	})
	return sent
}

// noting remembers the forms that a process accepts.
func (s *scene) noting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			h.ServeHTTP(w, r)
			return
		}
		answer := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(answer, r)
		if answer.status < http.StatusBadRequest {
			s.accepted.Store(strings.TrimPrefix(r.URL.Path, console.Prefix), true)
		}
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// keyTo presses Tab until what a selector finds has the focus.
func (p *tab) keyTo(selector string) {
	p.Helper()
	p.keyToOne(selector, "e.matches("+browser.Quoted(selector)+")")
}

// keyToOne presses Tab until the element e with the focus is what is meant.
func (p *tab) keyToOne(name, meant string) {
	p.Helper()
	const most = 120
	for range most {
		p.Press(p.T, kb.Tab)
		if browser.Eval[bool](p.T, p.Page, "(e => "+meant+")(document.activeElement)") {
			p.wantFocusSeen(name)
			return
		}
	}
	p.Fatalf("Tab does not lead to %s", name)
}

// keys types into a field; in a list of options that chooses the one that begins so.
func (p *tab) keys(selector, text string) {
	p.Helper()
	p.keyTo(selector)
	p.Press(p.T, text)
}

// enter follows a link or presses a button, and waits for the page behind it.
func (p *tab) enter(selector, heading string) {
	p.Helper()
	p.keyTo(selector)
	p.entered(heading)
}

func (p *tab) entered(heading string) {
	p.Helper()
	browser.Eval[bool](p.T, p.Page, "(window.onbeforeunload = null) === null && (window.left = true)") // secrets are left uncopied
	p.Press(p.T, kb.Enter)
	p.Eventually(p.T, "another page", "window.left === undefined")
	browser.Settled(p.T, p.Page, heading)
}

// send fills in the form of a route, of fields and what is typed into them in the order of
// the page, and presses its button.
func (p *tab) send(route, heading string, typed ...string) {
	p.Helper()
	p.formOf(route, typed...)
	p.entered(heading)
}

// formOf leads to the button of a form.
func (p *tab) formOf(route string, typed ...string) {
	p.Helper()
	form := "e.form?.method === 'post' && new URL(e.form.getAttribute('action') ?? '', location).pathname === " +
		browser.Quoted(console.Prefix+fill(p.T, p.scene, route)) + " && "
	for i := 0; i < len(typed); i += 2 {
		p.keyToOne(typed[i]+" of "+route, form+"e.matches("+browser.Quoted(typed[i])+")")
		p.Press(p.T, typed[i+1])
	}
	p.keyToOne("the button of "+route, form+"e.localName === 'button'")
}

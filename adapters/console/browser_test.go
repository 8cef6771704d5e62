package console_test

import (
	"reflect"
	"strings"
	"testing"

	"waybill/application/people"
	"waybill/domain"
	"waybill/test/browser"
)

// TestAWalkInABrowser looks at a page of each area once, and moves deliveries as a dispatcher does.
func TestAWalkInABrowser(t *testing.T) {
	t.Parallel()
	w := &walk{T: t, scene: newScene(t), browser: browser.Start(t), reader: browser.Reader{Zone: "Asia/Kolkata"}}
	busyDay(t, w.scene)
	browser.Check(t, w.as("").Page, "signin")
	p := w.as(domain.RoleAdmin)
	for _, page := range [][2]string{
		{"/", "Kofi admin"}, {"/board", "Board"}, {"/deliveries", "Deliveries"}, {"/deliveries/:delivery", "-"},
		{"/bulk/runs/:run", "0 of 2 moved"}, {"/map/street", "Street map"}, {"/reports", "Reports"}, {"/requests", "Requests"},
		{"/requests/:request", "POST"}, {"/errors", "Errors"}, {"/webhooks", "Webhooks"},
		{"/queues", "Queues"}, {"/businesses", "Customers"}, {"/businesses/:business", "Adom Foods"},
		{"/businesses/:business/apps/:app/:env/keys", "API keys"}, {"/staff", "Staff"}, {"/audit", "Audit log"}, {"/account", "Account"},
	} {
		p.to(fill(t, w.scene, page[0]), page[1])
		browser.Check(t, p.Page, page[0])
	}
	w.scene = newScene(t)
	moveMany(w)
	w.scene = newScene(t)
	failByKeyboard(w)
}

// TestLongInABrowser shows the pages to one browser, in windows that share nothing. Files of
// pages add to states and journeys by init.
func TestLongInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for name, test := range map[string]func(*testing.T, *browser.Browser){
		"states":                   everyState,
		"journeys with scripts":    func(t *testing.T, b *browser.Browser) { walkAll(t, b, browser.Reader{Zone: "Asia/Kolkata"}) },
		"journeys without scripts": func(t *testing.T, b *browser.Browser) { walkAll(t, b, browser.Reader{NoScripts: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// state is a look of a page: it is held against axe by day and by night, and against the width of
// a phone; its screenshots are kept under its name. The first of a page is reached and used by the
// keyboard.
type state struct {
	name    string
	role    domain.Role // of who looks; empty: before the sign-in
	path    string      // behind the prefix; parameters are those of the scene
	heading string      // that begins the page
	before  func(t *testing.T, s *scene)
	then    func(p *tab) // what makes the page look so, such as a form that is sent
	alone   bool         // then changes what other states show
}

var states []state

// everyState has a scene for all states with the same beginning, and in it a tab for each role.
func everyState(t *testing.T, b *browser.Browser) {
	type shared struct {
		*walk
		tabs map[domain.Role]*tab
	}
	scenes, used := map[uintptr]shared{}, map[string]bool{}
	all := t
	for _, st := range states {
		t.Run(st.name, func(t *testing.T) {
			begin := func(t *testing.T) *walk {
				w := &walk{T: t, scene: newScene(t), browser: b}
				if st.before != nil {
					st.before(t, w.scene)
				}
				return w
			}
			var p *tab
			w := &walk{T: t, browser: b}
			if st.alone {
				w = begin(t)
				p = w.as(st.role)
			} else {
				s, there := scenes[reflect.ValueOf(st.before).Pointer()]
				if !there {
					s = shared{begin(all), map[domain.Role]*tab{}}
					scenes[reflect.ValueOf(st.before).Pointer()] = s
				}
				if s.tabs[st.role] == nil {
					s.tabs[st.role] = s.as(st.role)
				}
				w.scene = s.scene
				p = &tab{walk: w, Page: s.tabs[st.role].Page}
			}
			p.to(fill(t, w.scene, st.path), st.heading)
			if st.then != nil {
				st.then(p)
			}
			browser.Examine(t, p.Page, "console", st.name)
			page, _, _ := strings.Cut(st.path, "?")
			if used[page] {
				return
			}
			part := browser.Content
			if len(used) == 0 {
				part = browser.WholePage
			}
			used[page] = true
			browser.Keyboard(t, p.Page, part, st.name)
		})
	}
}

// fill puts the records of a scene into a path.
func fill(t *testing.T, s *scene, path string) string {
	t.Helper()
	path, query, asked := strings.Cut(path, "?")
	_, filled, _ := row{}.question(t, s, "GET "+path)
	if asked {
		filled += "?" + query
	}
	return filled
}

// walk is one journey through the console: a scene, and a browser to open tabs in.
type walk struct {
	*testing.T
	*scene
	browser *browser.Browser
	reader  browser.Reader
}

// journey is what a person comes for.
type journey struct {
	name  string
	plain bool // it is walked without scripts too, which change something in it
	walk  func(*walk)
}

var journeys []journey

func walkAll(t *testing.T, b *browser.Browser, r browser.Reader) {
	for _, j := range journeys {
		if r.NoScripts && !j.plain {
			continue
		}
		t.Run(j.name, func(t *testing.T) { j.walk(&walk{T: t, scene: newScene(t), browser: b, reader: r}) })
	}
}

// tab is a browser of one person: what it shows is watched to the end.
type tab struct {
	*walk
	*browser.Page
}

// open shows a page before the sign-in.
func (w *walk) open(path string) *tab {
	w.Helper()
	p, from := w.browser.Open(w.T, w.url+path, browser.Desk, w.reader), w.url
	w.Cleanup(func() { browser.WantQuiet(w.T, p, from) })
	return &tab{walk: w, Page: p}
}

// as signs in by a link; no role: the page for signing in.
func (w *walk) as(role domain.Role) *tab {
	w.Helper()
	if role == "" {
		return w.open("/signin")
	}
	p := w.open("/enter/" + w.link(w.T, role))
	p.click("main button", "")
	p.want(w.staff[role].Name)
	return p
}

// link lets a person of the staff in once.
func (s *scene) link(t *testing.T, role domain.Role) string {
	t.Helper()
	return must[people.Issued](t)(s.directory.Link(t.Context(), operator, s.staff[role].ID, domain.Console)).Secret
}

// to goes to a page of the console, which has a heading.
func (p *tab) to(path, heading string) {
	p.Helper()
	browser.Go(p.T, p.Page, p.url+path, heading)
}

// click clicks and waits for the page behind it.
func (p *tab) click(selector, heading string) {
	p.Helper()
	browser.Follow(p.T, p.Page, selector, heading)
}

func (p *tab) fill(selector, text string) {
	p.Helper()
	browser.Fill(p.T, p.Page, selector, text)
}

// choose chooses an option of a field.
func (p *tab) choose(selector, value string) { p.fill(selector, value) }

// want waits until the page shows a text.
func (p *tab) want(text string) {
	p.Helper()
	p.Eventually(p.T, "the page shows "+text, "document.readyState === 'complete' && document.body.textContent.includes("+
		browser.Quoted(text)+")")
}

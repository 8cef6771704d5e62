package trackingpage_test

import (
	"strings"
	"testing"

	"waybill/domain"
	"waybill/test/browser"
)

// TestAWalkInABrowser follows a delivery with scripts, and without.
func TestAWalkInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	followed(t, b)
	withoutScripts(t, b)
}

// TestLongInABrowser shows the other pages to one browser, one after the other.
func TestLongInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for name, test := range map[string]func(*testing.T, *browser.Browser){
		"states/company":                  aCompany,
		"every status":                    everyStatus,
		"a long story":                    aLongStory,
		"a page that has nothing to show": nothingToShow,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

func examine(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	browser.Examine(t, p, "track", name)
}

// wantQuiet fails if a page loads something from elsewhere or logs an error.
func (s *scene) wantQuiet(t *testing.T, p *browser.Page) {
	t.Helper()
	requests := p.Requests()
	if len(requests) < 2 { // the page and its style at least
		t.Errorf("requests %q", requests)
	}
	for _, request := range requests {
		if !strings.HasPrefix(request, s.url+"/") {
			t.Errorf("asked for %s", request)
		}
	}
	if complaints := p.Complaints(); len(complaints) > 0 {
		t.Errorf("%q", complaints)
	}
}

// phone opens the page of a delivery on a phone.
func (s *scene) phone(t *testing.T, b *browser.Browser, d *domain.Delivery, r browser.Reader) *browser.Page {
	t.Helper()
	return b.Open(t, s.url+"/"+string(d.Reference), browser.Phone, r)
}

func everyStatus(t *testing.T, b *browser.Browser) {
	s := newScene(t)
	for _, status := range []domain.Status{domain.InTransit, domain.Delivered, domain.Failed} { // a look of each kind
		t.Run(string(status), func(t *testing.T) {
			environment := domain.Live
			if status == domain.InTransit {
				environment = domain.Sandbox // with its banner
			}
			d := s.book(t, environment)
			s.move(t, d, domain.ReasonRecipientUnreachable, ways[status]...)
			p := s.phone(t, b, d, browser.Reader{})
			examine(t, p, string(status))
			s.wantQuiet(t, p)
		})
	}
}

// aCompany looks at the page of a company with a brand, in French.
func aCompany(t *testing.T, b *browser.Browser) {
	s := newSceneOf(t, kofi)
	d := s.book(t, domain.Live)
	s.showCash(t, d, true)
	s.move(t, d, "", ways[domain.InTransit]...)
	p := b.Open(t, s.url+"/"+string(d.Reference)+"?lang=fr", browser.Phone, browser.Reader{})
	p.Eventually(t, "times are French", "document.querySelector('time').textContent.includes('mars')")
	examine(t, p, "company")
	s.wantQuiet(t, p)
}

func aLongStory(t *testing.T, b *browser.Browser) {
	s := newScene(t)
	d := s.book(t, domain.Live, func(b *domain.Booking) {
		b.Dropoff.Municipality = strings.Repeat("Llanfairpwllgwyngyll", 4)
	})
	for _, reason := range domain.ReasonCodes() {
		for range 3 {
			s.move(t, d, reason, domain.Assigned, domain.Failed)
		}
	}
	p := s.phone(t, b, d, browser.Reader{})
	if n := browser.Eval[int](t, p, "document.querySelectorAll('li').length"); n != domain.MaxTrackedEvents {
		t.Errorf("%d steps", n)
	}
	examine(t, p, "long")
	s.wantQuiet(t, p)
}

func nothingToShow(t *testing.T, b *browser.Browser) {
	s := newScene(t)
	examine(t, b.Open(t, s.url+"/", browser.Phone, browser.Reader{}), "ask")
	p := b.Open(t, s.url+"/a/b/none", browser.Phone, browser.Reader{})
	examine(t, p, "missing")
	// The browser console logs every response that is no 200.
	if complaints := p.Complaints(); len(complaints) != 1 || !strings.Contains(complaints[0], "404") {
		t.Errorf("%q", complaints)
	}
}

func followed(t *testing.T, b *browser.Browser) {
	s := newScene(t)
	d := s.book(t, domain.Live)
	p := s.phone(t, b, d, browser.Reader{Zone: "Asia/Kolkata"})
	if got := browser.Eval[string](t, p, "document.querySelector('time').textContent"); !strings.Contains(got, "14:57") { // 09:27 UTC
		t.Errorf("the time is %q, and not the reader's own", got)
	}
	p.Eventually(t, "the page says that it updates itself", "!document.querySelector('[data-live]').hidden")
	// What is marked now is gone if the page is loaded again, or the part that is
	// read out is replaced and not filled.
	browser.Eval[bool](t, p, "document.querySelector('[role=status]').mark = window.mark = true")
	headline := func(text string) string {
		return "document.querySelector('[role=status] h1').textContent === " + browser.Quoted(text)
	}
	s.move(t, d, "", domain.Assigned)
	p.Eventually(t, "the page tells of a change", headline("A rider will collect your parcel"))
	s.move(t, d, "", domain.PickedUp, domain.InTransit)
	p.Eventually(t, "steps that came together are all told", headline("Your parcel is on its way")+
		" && document.querySelectorAll('li time').length === 4 && document.querySelector('li[aria-current=step] .label').textContent === 'On "+
		"its way'")
	s.move(t, d, "", domain.Delivered)
	p.Eventually(t, "the page is about what has arrived", headline("Your parcel has arrived")+
		" && document.title.startsWith('Your parcel has arrived') && document.querySelector('.parcel').classList.contains('arrived')")
	p.Eventually(t, "the page no longer waits", "document.querySelector('[data-live]').hidden")
	s.eventually(t, "the stream is closed", func() bool { return s.streams(t) == 0 })
	if !browser.Eval[bool](t, p, "window.mark && document.querySelector('[role=status]').mark") {
		t.Error("the page was loaded again")
	}
	browser.Check(t, p, "followed")
	if complaints := p.Complaints(); len(complaints) > 0 {
		t.Errorf("%q", complaints)
	}
}

func withoutScripts(t *testing.T, b *browser.Browser) {
	s := newScene(t)
	d := s.book(t, domain.Live)
	p := s.phone(t, b, d, browser.Reader{NoScripts: true})
	if !browser.Eval[bool](t, p, "document.querySelector('[data-live]').hidden && document.querySelector('time').textContent === '14 March "+
		"2026, 09:27 UTC'") {
		t.Error("a script ran, or a part of the page is missing")
	}
	p.Screenshot(t, "without-scripts-320")
	lost := b.Open(t, s.url+"/a/none", browser.Phone, browser.Reader{NoScripts: true})
	browser.Eval[bool](t, lost, "(document.querySelector('#reference').value = "+
		browser.Quoted(strings.ToLower(strings.ReplaceAll(string(d.Reference), "-", " ")))+") !== ''")
	lost.Click(t, ".ask button")
	lost.Eventually(t, "the form leads to the page", "location.pathname === "+browser.Quoted("/track/"+string(d.Reference)))
	s.move(t, d, "", domain.Assigned)
	p.Click(t, ".refresh")
	p.Eventually(t, "the link refreshes", "document.querySelector('h1').textContent === 'A rider will collect your parcel'")
	if s.streams(t) != 0 || len(p.Complaints()) > 0 {
		t.Errorf("%v streams, %q", s.streams(t), p.Complaints())
	}
}

package browser

import (
	"fmt"
	"strings"
	"testing"
)

// A desk and a small phone, by day.
var (
	Desk  = Look{Width: 1280}
	Phone = Look{Width: 320}
)

// ofColours are the rules of axe-core that look at colours. By night nothing else of a page is
// another than by day.
var ofColours = []string{"color-contrast", "link-in-text-block"}

// What a page may weigh, as it comes over the wire: all of it, and the sheets and
// scripts that pages share.
const (
	mostOfAPage = 60_000
	mostShared  = 20_000
)

// unweighed are resources that count neither way: the library that draws street maps, of
// 450 kB, which a person loads once who opens the street map where an operator set one up. No
// smaller one draws vector tiles, and all of that page can be had without it. Nor do the tiles
// count, which are as heavy as the operator's map is.
const unweighed = "/assets/maplibre-gl|/map/tiles/"

// light fails where a page weighs too much.
func light(t *testing.T, p *Page, name string) {
	t.Helper()
	bytes := func(entries string) int {
		return Eval[int](t, p, "[..."+entries+"].filter(e => !RegExp("+Quoted(unweighed)+").test(e.name))"+
			".reduce((sum, e) => sum + e.encodedBodySize, 0)")
	}
	shared := bytes("performance.getEntriesByType('resource')")
	page := bytes("performance.getEntriesByType('navigation')") + shared
	if shared == 0 || shared > mostShared || page > mostOfAPage {
		t.Errorf("%s: the page has %d bytes, and %d of them are shared", name, page, shared)
	}
}

// Check looks at a page as it is shown: what it weighs, whether it fits its window, whether
// everybody can use it.
func Check(t *testing.T, p *Page, name string) {
	t.Helper()
	light(t, p, name)
	fits(t, p, name)
	usable(t, p, name)
}

// Examine looks at a page on a desk as Check does, then at its colours by night, and then at
// its width on a phone. The screenshots bear the names of the site and the page.
func Examine(t *testing.T, p *Page, site, name string) {
	t.Helper()
	picture := func(l Look) {
		p.Screenshot(t, fmt.Sprintf("%s-%s-%d-%s", site, name, l.Width, map[bool]string{false: "light", true: "dark"}[l.Dark]))
	}
	Check(t, p, name)
	picture(Desk)
	night := Look{Width: Desk.Width, Dark: true}
	p.Look(t, night)
	usable(t, p, name+" by night", ofColours...)
	picture(night)
	p.Look(t, Phone)
	fits(t, p, name)
	picture(Phone)
	p.Look(t, Desk)
}

func fits(t *testing.T, p *Page, name string) {
	t.Helper()
	if wide := p.Overflow(t); wide > 0 {
		t.Errorf("%s: %d pixels too wide for %d", name, wide, Eval[int](t, p, "innerWidth"))
	}
}

func usable(t *testing.T, p *Page, name string, rules ...string) {
	t.Helper()
	for _, violation := range p.Violations(t, rules...) {
		t.Errorf("%s: %s", name, violation)
	}
}

// WantQuiet fails where a page loads something that is not below a URL or complains; the
// console of a browser tells of every answer that is no success.
func WantQuiet(t *testing.T, p *Page, url string) {
	t.Helper()
	for _, request := range p.Requests() {
		icon := strings.HasPrefix(request, "data:") // the browser's own, in a field for a time and on a page for an error
		if !icon && !strings.HasPrefix(request, url+"/") {
			t.Errorf("asked for %s", request)
		}
	}
	for _, complaint := range p.Complaints() {
		if !strings.Contains(complaint, "the server responded with a status of") {
			t.Error(complaint)
		}
	}
}

// Go goes to a page, which has a heading.
func Go(t *testing.T, p *Page, url, heading string) {
	t.Helper()
	leave(t, p, func() { Eval[bool](t, p, "(location.href = "+Quoted(url)+") !== ''") })
	Settled(t, p, heading)
}

// Follow clicks on what leads to another page, which has a heading.
func Follow(t *testing.T, p *Page, selector, heading string) {
	t.Helper()
	leave(t, p, func() { p.Click(t, selector) })
	Settled(t, p, heading)
}

// leave waits until the page is another one: the one that is left may have the same heading.
func leave(t *testing.T, p *Page, by func()) {
	t.Helper()
	Eval[bool](t, p, "window.left = true")
	by()
	p.Eventually(t, "another page", "window.left === undefined")
}

// Settled waits for a page by its heading.
func Settled(t *testing.T, p *Page, heading string) {
	t.Helper()
	p.Eventually(t, "the page "+heading, "document.readyState === 'complete' && document.querySelector('h1')?.textContent.includes("+
		Quoted(heading)+")")
}

// Fill types into a field.
func Fill(t *testing.T, p *Page, selector, text string) {
	t.Helper()
	Eval[bool](t, p, "(document.querySelector("+Quoted(selector)+").value = "+Quoted(text)+") !== null")
}

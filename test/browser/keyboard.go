package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// The parts of a page that Keyboard goes through.
const (
	WholePage = "body"
	Content   = "main"
)

// helpers are what Keyboard asks of a page: which controls of a part a person without a
// mouse has to reach, in their order, and how the one that has the focus looks and does.
const helpers = `(() => {
	const kinds = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]'
	const seen = e => e.checkVisibility({visibilityProperty: true}) && !e.matches(':disabled') && !(e instanceof SVGElement && !e.href)
	const leads = e => e.href && new URL(e.href.baseVal ?? e.href, location).href
	const name = e => e.outerHTML.replace(/\s+/g, ' ').slice(0, 160)
	const k = window.keyboard = {
		controls(part) {
			const all = [...document.querySelector(part).querySelectorAll(kinds)].filter(seen)
				.filter((e, _, all) => e.tabIndex >= 0 || !all.some(o => o.tabIndex >= 0 && leads(o) === leads(e)))
			const one = e => e.type !== 'radio' || e.checked ||
				!all.some(o => o.name === e.name && o.form === e.form && o.checked) && all.find(o => o.name === e.name && o.form === e.form) === e
			return all.filter(one)
		},
		begin(part) {
			if (document.activeElement !== document.body) document.activeElement.blur()
			addEventListener('click', e => {
				if (e.target.closest('input:not([type=submit], [type=file]), select, textarea, label, summary') || k.skips) return
				k.clicked = e.target.closest('a, button, input'); e.preventDefault(); e.stopImmediatePropagation()
			}, true)
			k.part = part
			k.skips = part !== 'body'
			if (k.skips) document.querySelector('a.skip').focus()
			return true
		},
		skipped() { k.skips = false; return location.hash === '#content' },
		now() {
			const e = document.activeElement, all = k.controls(k.part), at = all.indexOf(e)
			if (at < 0) return {at, of: all.length, name: name(e), kind: '', faults: []}
			const s = getComputedStyle(e), r = e.getBoundingClientRect(), faults = []
			if (!e.matches(':focus-visible') || s.outlineStyle === 'none' || parseFloat(s.outlineWidth) < 2)
				faults.push('shows no focus: ' + s.outline)
			if (r.bottom <= 0 || r.right <= 0 || r.top >= innerHeight || r.left >= innerWidth) faults.push('is out of sight')
			const y = r.top + scrollY, last = k.last
			if (last && at === last.at + 1 && r.bottom + scrollY <= last.top + 1 && r.left < last.right)
				faults.push('is above the control before it')
			k.last = {at, top: y, right: r.right}
			let kind = e.localName + ':' + (e.type || '')
			if (e.localName === 'select' && e.options.length < 2 || e.readOnly) kind = ''
			return {at, of: all.length, name: name(e), kind, faults}
		},
		note() {
			const e = document.activeElement
			k.clicked = null
			k.before = k.value(e)
			return true
		},
		value(e) {
			const d = e.closest('details')
			return JSON.stringify([e.value, e.checked, e.selectedIndex, e.validity?.badInput, e.localName === 'summary' && d.open])
		},
		clickedIt() { return k.clicked === document.activeElement },
		changed() { return k.value(document.activeElement) !== k.before },
	}
	return true
})()`

// Keyboard goes through all controls of a part of a page by the keys that people press, and
// fails where one is not reached in its order, does not show that it has the focus, or, the
// first of each kind, does not do what it is for. A link that Tab passes over has another one
// to the same page. No page is left by it.
func Keyboard(t *testing.T, p *Page, part, name string) {
	t.Helper()
	Eval[bool](t, p, helpers)
	Eval[bool](t, p, "keyboard.begin("+Quoted(part)+")")
	if part != WholePage {
		p.Press(t, kb.Enter)
		if !Eval[bool](t, p, "keyboard.skipped()") {
			t.Errorf("%s: the first link does not skip to the content", name)
		}
	}
	tried := map[string]bool{}
	for at := 0; ; at++ {
		now := p.next(t, at)
		if now.At < 0 && at == now.Of {
			return // behind the last one
		}
		if now.At != at {
			t.Errorf("%s: Tab leads to the control %d of %d, want %d: %s", name, now.At, now.Of, at, now.Name)
			return
		}
		for _, fault := range now.Faults {
			t.Errorf("%s: %s: %s", name, fault, now.Name)
		}
		if now.Kind != "" && !tried[now.Kind] {
			tried[now.Kind] = true
			p.operate(t, name, now)
		}
	}
}

// focus is which control has it, of how many; at is -1 where none of them has.
type focus struct {
	At, Of     int
	Name, Kind string
	Faults     []string
}

// next goes on by Tab, out of a field for a time by several.
func (p *Page) next(t *testing.T, at int) (now focus) {
	t.Helper()
	for range 8 {
		p.Press(t, kb.Tab)
		if now = Eval[focus](t, p, "keyboard.now()"); now.At != at-1 || at == 0 {
			break
		}
	}
	return now
}

// operate does with a control what it is for.
func (p *Page) operate(t *testing.T, name string, f focus) {
	t.Helper()
	keys, does := []string{"7"}, "changed"
	switch f.Kind {
	case "a:":
		keys, does = []string{kb.Enter}, "clickedIt"
	case "button:submit", "button:button", "input:file":
		keys, does = []string{kb.Enter, " "}, "clickedIt"
	case "summary:":
		keys = []string{kb.Enter}
	case "input:checkbox":
		keys = []string{" "}
	case "input:radio":
		keys = []string{kb.ArrowDown + kb.ArrowUp + " "}
	case "select:select-one", "input:date", "input:datetime-local", "input:time":
		keys = []string{kb.ArrowDown}
	case "div:", "pre:", "section:", "figure:", "canvas:": // scrolls; what a canvas does is for the tests of its page
		return
	}
	for _, key := range keys {
		Eval[bool](t, p, "keyboard.note()")
		p.Press(t, key)
		if Eval[bool](t, p, "keyboard."+does+"()") {
			continue
		}
		if p.Press(t, kb.ArrowUp); f.Kind == "select:select-one" && Eval[bool](t, p, "keyboard.changed()") {
			continue // it was the last option
		}
		t.Errorf("%s: %q does nothing: %s", name, key, f.Name)
	}
}

package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"waybill/test/browser"
)

// try is drawn by Scalar; what it draws is Scalar's to make accessible, so
// that axe-core and the narrow window look at our own pages only.
const try = "/try"

// drawn holds when it shows the call that the test looks for.
const drawn = `[...document.querySelectorAll("#drawn .show-api-client-button")].some(b => b.textContent.includes("/api-key"))`

// TestPages opens each page and looks at it as readers do.
func TestPages(t *testing.T) {
	s := serve(t)
	b := browser.Start(t)
	paths := slices.DeleteFunc(s.paths(t), func(path string) bool {
		// Those about codes have one template: three of them are opened, one with a long name.
		return strings.HasPrefix(path, "/errors/") && !slices.Contains(codes, strings.TrimPrefix(path, "/errors/"))
	})
	for _, path := range paths {
		t.Run(strings.Trim("docs"+path, "/"), func(t *testing.T) {
			p := b.Open(t, s.site+path, browser.Look{Width: 1280}, browser.Reader{})
			if path == try {
				p.Eventually(t, "the calls are drawn", `document.querySelectorAll("#drawn h1, #drawn h2").length > 3`)
				checkTry(t, p)
			} else {
				checkLooks(t, path, p)
			}
			s.checkQuiet(t, path, p)
		})
	}
}

var codes = []string{"VALIDATION_ERROR", "NOT_FOUND", "SANDBOX_TRANSITION_INVALID"}

// checkLooks examines a page of ours in a narrow and in a wide window, and in both colours.
func checkLooks(t *testing.T, path string, p *browser.Page) {
	t.Helper()
	for _, look := range []browser.Look{{Width: 320}, {Width: 1280, Dark: true}} {
		p.Look(t, look)
		if wider := p.Overflow(t); wider > 0 {
			t.Errorf("%s is %d pixels wider than a window of %d", path, wider, look.Width)
		}
		for _, v := range p.Violations(t) {
			t.Errorf("%s at %d, dark %t: %s", path, look.Width, look.Dark, v)
		}
		p.Screenshot(t, fmt.Sprintf("docs%s-%d-dark-%t", strings.ReplaceAll(path, "/", "-"), look.Width, look.Dark))
	}
}

// checkTry looks at what is ours of that page: its header on a phone,
// where every entry must be in sight, and one black for it and the other pages.
func checkTry(t *testing.T, p *browser.Page) {
	t.Helper()
	p.Look(t, browser.Look{Width: 375, Dark: true})
	p.Screenshot(t, "docs-try-375-dark-true")
	const hidden = `[...document.querySelectorAll(".top a")].filter(a => { const r = a.getBoundingClientRect(); return r.left < 0 || r.right > innerWidth }).length`
	if n := browser.Eval[int](t, p, hidden); n > 0 {
		t.Errorf("%d entries of the header are out of sight at 375 pixels", n)
	}
	const black = `getComputedStyle(document.body).backgroundColor === (() => { const probe = document.createElement("p");
		probe.style.background = "var(--scalar-background-1)"; document.querySelector("#drawn .dark-mode, .dark-mode").append(probe); return getComputedStyle(probe).backgroundColor })()`
	p.Eventually(t, "the reference is as dark as the other pages", black)
}

// TestTheCallsOfferABodyThatCanBeSent opens it twice: an external_id stays
// taken for good, so that each visit needs one of its own.
func TestTheCallsOfferABodyThatCanBeSent(t *testing.T) {
	s := serve(t)
	b := browser.Start(t)
	var offered []string
	for range 2 {
		p := b.Open(t, s.site+try+"#tag/deliveries/POST/deliveries", browser.Look{Width: 1280}, browser.Reader{})
		const body = `(document.querySelector("#drawn").innerText.match(/order-[0-9a-f]{8}-1001/) ?? [""])[0]`
		p.Eventually(t, "the body has a fresh external_id", body+` !== ""`)
		offered = append(offered, browser.Eval[string](t, p, body))
	}
	if offered[0] == offered[1] {
		t.Errorf("both visits are offered %s", offered[0])
	}
}

func (s *server) checkQuiet(t *testing.T, path string, p *browser.Page) {
	t.Helper()
	origin := strings.TrimSuffix(s.site, "/docs") + "/"
	for _, url := range p.Requests() {
		if !strings.HasPrefix(url, origin) && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:"+origin) {
			t.Errorf("%s asks for %s", path, url)
		}
	}
	for _, complaint := range p.Complaints() {
		t.Errorf("%s: %s", path, complaint)
	}
}

func TestPagesCanBeReadWithoutScripts(t *testing.T) {
	s := serve(t)
	b := browser.Start(t)
	for _, path := range []string{"", "/webhooks", "/errors/VALIDATION_ERROR", "/reference", try} {
		p := b.Open(t, s.site+path, browser.Look{Width: 800}, browser.Reader{NoScripts: true})
		if !browser.Eval[bool](t, p, `document.querySelector("h1").getBoundingClientRect().height > 0`) {
			t.Errorf("%s shows no heading", path)
		}
		if n := browser.Eval[int](t, p, `document.querySelectorAll("button").length`); n > 0 {
			t.Errorf("%s shows %d buttons that do nothing", path, n)
		}
	}
	p := b.Open(t, s.site+try, browser.Look{Width: 800}, browser.Reader{NoScripts: true})
	if !browser.Eval[bool](t, p, `[...document.querySelectorAll("main a")].some(a => a.href.endsWith("/docs/reference"))`) {
		t.Error("without scripts the page does not lead to the reference")
	}
}

func TestABlockOfCodeIsCopied(t *testing.T) {
	s := serve(t)
	p := browser.Start(t).Open(t, s.site+"/webhooks", browser.Look{Width: 1280}, browser.Reader{})
	const spy = `let copied = ""; navigator.clipboard.writeText = async (text) => { copied = text }; `
	const check = `(async () => { ` + spy + `
		const sheet = [...document.querySelectorAll(".sheet")].find(s => s.textContent.includes("/webhook-endpoints"));
		sheet.querySelector("button").click();
		await new Promise(r => setTimeout(r));
		return copied === sheet.querySelector("pre").textContent && sheet.querySelector("button").textContent === "Copied"
	})()`
	if !browser.Eval[bool](t, p, check) {
		t.Error("the button does not copy its block")
	}
}

// TestTheCallsReachTheSandbox does what a reader does: puts in a key, opens
// the console of a call, and sends it as it stands.
func TestTheCallsReachTheSandbox(t *testing.T) {
	s := serve(t)
	p := browser.Start(t).Open(t, s.site+try+"#tag/account/GET/api-key", browser.Look{Width: 1280}, browser.Reader{})
	p.Eventually(t, "the call is drawn", drawn)
	if n := browser.Eval[int](t, p, `document.querySelectorAll("#drawn nav a, #drawn aside a").length`); n < 8 {
		t.Errorf("the reference lists %d parts", n)
	}
	const field = `document.querySelector('#drawn input[placeholder="Token"]')`
	if got := browser.Eval[string](t, p, field+".value"); got != "" {
		t.Errorf("the key is filled in as %q: dots that somebody takes for a key", got)
	}
	// As typing does it: frameworks listen to the event, not to the property.
	browser.Eval[bool](t, p, `(() => { const field = `+field+`; field.focus();
		Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, `+browser.Quoted(s.Vars["WAYBILL_TEST_KEY"])+`);
		for (const e of ["input", "change"]) field.dispatchEvent(new Event(e, { bubbles: true }));
		field.blur(); return true })()`)
	press := func(within, text string) {
		t.Helper()
		find := `[...document.querySelectorAll(` + browser.Quoted(within) + `)].find(b => b.textContent.includes(` + browser.Quoted(text) + `))`
		p.Eventually(t, "there is a button "+text, find+` !== undefined`)
		browser.Eval[bool](t, p, find+`.click() || true`)
	}
	press("#drawn .show-api-client-button", "/api-key")
	press("[role=dialog] button", "Send get request")
	p.Eventually(t, "an answer is shown", `/Status:\s*\d\d\d/.test(document.querySelector("[role=dialog]").innerText)`)
	p.Screenshot(t, "docs-try-console")
	answer := browser.Eval[string](t, p, `document.querySelector("[role=dialog]").innerText`)
	if !strings.Contains(answer, "200 OK") || !strings.Contains(answer, s.Vars["WAYBILL_APP_ID"]) {
		t.Errorf("the console shows\n%s\nwant 200 OK with the application of the key", answer)
	}
	s.checkQuiet(t, try, p)
}

func TestASearchFindsASectionAndTabsKeepTheirLanguage(t *testing.T) {
	s := serve(t)
	p := browser.Start(t).Open(t, s.site+"/quickstart", browser.Look{Width: 1280}, browser.Reader{})
	for typed, first := range map[string]string{
		"rotate secret":                     "/docs/webhooks#rotate",
		"how do I cancel":                   "/docs/deliveries#cancel",
		"what to do on 429":                 "/docs/errors/RATE_LIMIT_EXCEEDED",
		"why is my webhook endpoint paused": "/docs/webhooks#endpoint-status",
		"test data that fails":              "/docs/sandbox#",
		"DELIVERY_NOT_CANCELLABLE":          "/docs/errors/DELIVERY_NOT_CANCELLABLE",
	} {
		browser.Eval[bool](t, p, `(() => { const input = document.querySelector(".search input"); input.value = `+browser.Quoted(typed)+`;
			input.dispatchEvent(new Event("input")); return true })()`)
		p.Eventually(t, typed+" leads to "+first, `document.querySelector(".found a")?.getAttribute("href").startsWith(`+browser.Quoted(first)+`)`)
	}
	browser.Eval[bool](t, p, `[...document.querySelectorAll("[role=tab]")].find(tab => tab.textContent === "Python").click() || true`)
	const python = `[...document.querySelectorAll(".tabs")].every(group =>
		[...group.querySelectorAll("section")].every(section => section.hidden === (section.dataset.language !== "Python")))`
	if !browser.Eval[bool](t, p, python) {
		t.Error("a language that is chosen is not chosen in every group of the page")
	}
	browser.Eval[bool](t, p, `(location.href = "/docs/webhooks") !== ""`)
	p.Eventually(t, "another page shows the same language", `[...document.querySelectorAll("section[data-language=Python]")].some(section => !section.hidden)`)
}

// Scalar's own colours on our light paper cannot all be read: try.css replaces some.
func TestTheCallsCanBeReadOnLightPaper(t *testing.T) {
	s := serve(t)
	p := browser.Start(t).Open(t, s.site+try+"#tag/quotes/POST/quotes", browser.Look{Width: 1280}, browser.Reader{})
	p.Eventually(t, "a sample is drawn", `document.querySelector("#drawn").innerText.includes("curl")`)
	for _, v := range p.Violations(t, "color-contrast") {
		t.Error(v)
	}
}

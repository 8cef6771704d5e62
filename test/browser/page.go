package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Page is one that is open.
type Page struct {
	window
	stopListening func()
	noWebGL       cdppage.ScriptIdentifier // the script that takes it away; empty: none

	mu         sync.Mutex
	requests   []string
	complaints []string
	asked      int // before the page was left
}

// Look looks at the page in another way.
func (p *Page) Look(t *testing.T, l Look) {
	t.Helper()
	scheme := "light"
	if l.Dark {
		scheme = "dark"
	}
	const height = 800
	p.do(t, "look in another way",
		emulation.SetDeviceMetricsOverride(int64(l.Width), height, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}))
}

// Click clicks on what a selector of CSS finds.
func (p *Page) Click(t *testing.T, selector string) {
	t.Helper()
	p.do(t, "click on "+selector, chromedp.Click(selector, chromedp.ByQuery))
}

// Front shows the tab, and hides the one that was shown in its window.
func (p *Page) Front(t *testing.T) {
	t.Helper()
	p.do(t, "show the tab", cdppage.BringToFront())
}

// Press types keys, as a keyboard does, into what has the focus.
func (p *Page) Press(t *testing.T, keys string) {
	t.Helper()
	p.do(t, fmt.Sprintf("press %q", keys), chromedp.KeyEvent(keys))
}

// Step goes so many pages back in the history, or with a negative number forward.
func (p *Page) Step(t *testing.T, back int) {
	t.Helper()
	p.do(t, "go through the history", chromedp.ActionFunc(func(ctx context.Context) error {
		now, entries, err := cdppage.GetNavigationHistory().Do(ctx)
		if err != nil {
			return err
		}
		return cdppage.NavigateToHistoryEntry(entries[int(now)-back].ID).Do(ctx)
	}))
}

// AskedToStay is how often leaving was asked about; the answer was to leave.
func (p *Page) AskedToStay() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// note keeps what the tab tells of itself.
func (p *Page) note(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, "exception: "+e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			p.complaints = append(p.complaints, fmt.Sprintf("console.%s: %s", e.Type, arguments(e.Args)))
		}
	case *cdppage.EventJavascriptDialogOpening:
		p.asked++
		go func() { _ = chromedp.Run(p.ctx, cdppage.HandleJavaScriptDialog(true)) }() // fails where the page has gone
	case *log.EventEntryAdded:
		if strings.Contains(e.Entry.Text, "GL Driver Message (OpenGL, Performance") {
			break // a driver without hardware, about its own pace, where pixels of WebGL are read
		}
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			p.complaints = append(p.complaints, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

func arguments(args []*runtime.RemoteObject) string {
	var texts []string
	for _, a := range args {
		texts = append(texts, string(a.Value)+a.Description)
	}
	return strings.Join(texts, " ")
}

// Requests are the addresses that the page asked for so far.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Complaints are the errors and warnings of its console so far: exceptions, what
// could not be loaded, and what its content policy forbids.
func (p *Page) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.complaints)
}

// Eval is the value of an expression of JavaScript in the page, or of what it
// promises. It works too where the page's own scripts do not.
func Eval[T any](t *testing.T, p *Page, expression string) (value T) {
	t.Helper()
	for {
		err := p.eval(expression, &value)
		if err == nil {
			return value
		}
		// The page was left before it answered: the one behind it is asked.
		if !strings.Contains(err.Error(), "Inspected target navigated or closed") {
			t.Fatalf("evaluate %s: %v", expression, err)
		}
	}
}

func (p *Page) eval(expression string, value any) error {
	ctx, cancel := context.WithTimeout(p.ctx, doTimeout)
	defer cancel()
	wait := func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }
	return chromedp.Run(ctx, chromedp.Evaluate(expression, value, wait))
}

// Eventually waits until a condition in JavaScript holds.
func (p *Page) Eventually(t *testing.T, what, condition string) {
	t.Helper()
	const every, within = 50 * time.Millisecond, time.Minute
	for begun := time.Now(); ; {
		holds := false
		err := p.eval(condition, &holds)
		switch {
		case holds && err == nil:
			return
		case time.Since(begun) > within:
			t.Fatalf("%s: %s does not hold after %v (%v)", what, condition, within, err)
		}
		<-time.After(every)
	}
}

// Overflow is by how many pixels the page is wider than its window.
func (p *Page) Overflow(t *testing.T) int {
	t.Helper()
	return Eval[int](t, p, "document.documentElement.scrollWidth - document.documentElement.clientWidth")
}

// Violations are what axe-core finds, a line for each: by the rules that are named, or else
// by its usual ones, and that of WCAG 2.2 on the size of what is touched.
func (p *Page) Violations(t *testing.T, rules ...string) []string {
	t.Helper()
	if there := Eval[bool](t, p, "'axe' in window"); !there {
		if err := p.eval(axe(t), new(bool)); err != nil {
			t.Fatalf("load axe-core: %v", err)
		}
	}
	type violation struct {
		ID    string `json:"id"`
		Help  string `json:"help"`
		Nodes []struct {
			HTML    string `json:"html"`
			Summary string `json:"failureSummary"`
		} `json:"nodes"`
	}
	options := `{resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}`
	if len(rules) > 0 {
		options = `{resultTypes: ["violations"], runOnly: "` + strings.Join(rules, ",") + `".split(",")}`
	}
	var lines []string
	for _, v := range Eval[[]violation](t, p, "axe.run(document, "+options+").then(r => r.violations)") {
		for _, n := range v.Nodes {
			lines = append(lines, v.ID+": "+v.Help+": "+n.HTML+": "+n.Summary)
		}
	}
	return lines
}

// Screenshot keeps a picture of the whole page as name.png in the folder that
// WAYBILL_SCREENSHOTS names; without that it does nothing.
func (p *Page) Screenshot(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("WAYBILL_SCREENSHOTS")
	if dir == "" {
		return
	}
	var picture []byte
	p.do(t, "take a picture", chromedp.FullScreenshot(&picture, 100))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *Page) do(t *testing.T, what string, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, doTimeout)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Quoted is a text as a string of JavaScript.
func Quoted(text string) string {
	quoted, _ := json.Marshal(text) // a string always can be
	return string(quoted)
}

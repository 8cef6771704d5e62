package browser

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// How long a browser may take to start, and to do one thing.
const (
	startTimeout = time.Minute
	doTimeout    = time.Minute
)

// unneeded are features that cost more than what is tested: isolation of sites, and buttons and
// menus around a page that are pages themselves, each with a process in each window.
const unneeded = "site-per-process,Translate,InitialWebUI,WebUIReloadButton,WebUIOmniboxAimPopup"

// Browser is one process of Chromium.
type Browser struct {
	ctx context.Context

	mu   sync.Mutex
	free []window // that no test uses now
}

// window has cookies of its own.
type window struct {
	ctx     context.Context
	profile cdp.BrowserContextID
}

// Start starts one, which ends with the test. Its fonts are the same on each machine.
func Start(t *testing.T) *Browser {
	t.Helper()
	program, err := find()
	if err != nil {
		leaveOut(t, err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.Env(onlyGoFonts(t)), chromedp.Flag("font-render-hinting", "none"),
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-features", unneeded), chromedp.WSURLReadTimeout(startTimeout))
	process, stopProcess := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stopProcess)
	quiet := func(string, ...any) {} // newer browsers tell more than the library understands
	ctx, stop := chromedp.NewContext(process, chromedp.WithErrorf(quiet), chromedp.WithLogf(quiet))
	t.Cleanup(stop)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return &Browser{ctx: ctx}
}

func find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", errors.New("no browser: install chromium")
}

// leaveOut skips the test; with CI=true it fails.
func leaveOut(t testing.TB, why error) {
	t.Helper()
	if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci { // anything unreadable is not CI
		t.Fatal(why)
	}
	t.Skip(why)
}

// Look is how a page is looked at. Nothing moves in it.
type Look struct {
	Width int // of the window, in pixels of CSS
	Dark  bool
}

// Reader is the settings of the person at the screen.
type Reader struct {
	NoScripts bool
	NoWebGL   bool   // as in a browser without a driver for its graphics
	Zone      string // of time; empty: UTC
}

// window returns one that is empty.
func (b *Browser) window(t *testing.T) window {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.free); n > 0 {
		w := b.free[n-1]
		b.free = b.free[:n-1]
		return w
	}
	ctx := cdp.WithExecutor(b.ctx, chromedp.FromContext(b.ctx).Browser)
	profile, err := target.CreateBrowserContext().Do(ctx)
	if err != nil {
		t.Fatalf("open a window: %v", err)
	}
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(ctx)
	if err != nil {
		t.Fatalf("open a window: %v", err)
	}
	tab, _ := b.tab(t, id) // it ends with the browser
	return window{ctx: tab, profile: profile}
}

func (b *Browser) tab(t *testing.T, id target.ID) (ctx context.Context, closeTab func()) {
	t.Helper()
	ctx, closeTab = chromedp.NewContext(b.ctx, chromedp.WithTargetID(id))
	// The first run makes the tab; it must not have a deadline, or the tab ends with it.
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	return ctx, closeTab
}

// Open opens a page in a window of its own, with cookies of its own, and waits until it is
// loaded. A later test gets the window again, empty: to make one takes most of a second of a
// processor.
func (b *Browser) Open(t *testing.T, url string, l Look, r Reader) *Page {
	t.Helper()
	w := b.window(t)
	p := open(t, w, url, l, r)
	t.Cleanup(func() {
		if err := p.clear(); err == nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.free = append(b.free, w)
		}
	})
	return p
}

// Beside is where a page is opened beside another one.
type Beside bool

// The places there are: a tab hides the one before it, and a window does not.
const (
	InATab    Beside = false
	InAWindow Beside = true
)

// OpenBeside opens a page in the browser that shows p: with its cookies, and with its
// connections.
func (b *Browser) OpenBeside(t *testing.T, p *Page, where Beside, url string, l Look, r Reader) *Page {
	t.Helper()
	ctx := cdp.WithExecutor(b.ctx, chromedp.FromContext(b.ctx).Browser)
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(p.profile).WithNewWindow(bool(where)).Do(ctx)
	if err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	tab, closeTab := b.tab(t, id)
	t.Cleanup(closeTab)
	return open(t, window{ctx: tab, profile: p.profile}, url, l, r)
}

func open(t *testing.T, w window, url string, l Look, r Reader) *Page {
	t.Helper()
	ctx, stopListening := context.WithCancel(w.ctx)
	p := &Page{window: w, stopListening: stopListening}
	chromedp.ListenTarget(ctx, p.note)
	p.Look(t, l)
	p.do(t, "open "+url,
		network.Enable(), log.Enable(), runtime.Enable(),
		emulation.SetTimezoneOverride(cmp.Or(r.Zone, "UTC")),
		emulation.SetScriptExecutionDisabled(r.NoScripts),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			if r.NoWebGL {
				p.noWebGL, err = cdppage.AddScriptToEvaluateOnNewDocument("HTMLCanvasElement.prototype.getContext = () => null").Do(ctx)
			}
			return err
		}),
		chromedp.Navigate(url),
	)
	return p
}

// clear leaves nothing of a page in its window.
func (p *Page) clear() error {
	defer p.stopListening()
	ctx, cancel := context.WithTimeout(p.ctx, doTimeout)
	defer cancel()
	if p.noWebGL != "" {
		if err := chromedp.Run(ctx, cdppage.RemoveScriptToEvaluateOnNewDocument(p.noWebGL)); err != nil {
			return err
		}
	}
	return chromedp.Run(ctx, webauthn.Disable(), network.ClearBrowserCookies(), chromedp.Navigate("about:blank"))
}

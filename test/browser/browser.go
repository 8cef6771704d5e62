package browser

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// How long a browser may take to start, and to do one thing.
const (
	startTimeout = time.Minute
	doTimeout    = 30 * time.Second
)

// Browser is one process of Chromium.
type Browser struct{ ctx context.Context }

// Start starts one, which ends with the test.
func Start(t *testing.T) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser; left out in short mode")
	}
	program, err := find()
	if err != nil {
		leaveOut(t, err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(startTimeout))
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
	return "", errors.New("no page is looked at here: install chromium")
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

// window opens an empty one that shares nothing with others, until the test ends.
func (b *Browser) window(t *testing.T) (target.ID, cdp.BrowserContextID) {
	t.Helper()
	ctx := cdp.WithExecutor(b.ctx, chromedp.FromContext(b.ctx).Browser)
	profile, err := target.CreateBrowserContext().Do(ctx)
	if err != nil {
		t.Fatalf("open a window: %v", err)
	}
	t.Cleanup(func() { _ = target.DisposeBrowserContext(profile).Do(ctx) }) // it ends with the browser at the latest
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(ctx)
	if err != nil {
		t.Fatalf("open a window: %v", err)
	}
	return id, profile
}

// Open opens a page in a tab of its own, with cookies of its own, and waits until it is
// loaded.
func (b *Browser) Open(t *testing.T, url string, l Look, r Reader) *Page {
	t.Helper()
	id, profile := b.window(t)
	return b.open(t, id, profile, url, l, r)
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
	return b.open(t, id, p.profile, url, l, r)
}

func (b *Browser) open(t *testing.T, id target.ID, profile cdp.BrowserContextID, url string, l Look, r Reader) *Page {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithTargetID(id))
	t.Cleanup(closeTab)
	p := &Page{ctx: ctx, profile: profile}
	chromedp.ListenTarget(ctx, p.note)
	// The first run makes the tab; it must not have a deadline, or the tab ends with it.
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	p.Look(t, l)
	p.do(t, "open "+url,
		network.Enable(), log.Enable(), runtime.Enable(),
		emulation.SetTimezoneOverride(cmp.Or(r.Zone, "UTC")),
		emulation.SetScriptExecutionDisabled(r.NoScripts),
		chromedp.ActionFunc(func(ctx context.Context) error {
			if !r.NoWebGL {
				return nil
			}
			_, err := cdppage.AddScriptToEvaluateOnNewDocument("HTMLCanvasElement.prototype.getContext = () => null").Do(ctx)
			return err
		}),
		chromedp.Navigate(url),
	)
	return p
}

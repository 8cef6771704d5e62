package docsite

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"waybill/adapters/brand"
	"waybill/adapters/web"
	"waybill/domain"
)

// Prefix is the path of the site on its listener.
const Prefix = "/docs"

// Options holds what the pages depend on.
type Options struct {
	Brand brand.Brand // of the company
	// Description returns the description of the API in JSON, with the addresses that callers use.
	// It is called once.
	Description     func() []byte
	SandboxBaseURL  string // ends in /v1
	LiveBaseURL     string // ends in /v1
	TrackingBaseURL string // of the tracking pages
	PortalURL       string // where people make their keys; empty: there is no portal

	PerKey, PerBusiness, PerAddress domain.RateLimit
	Schedules                       map[domain.Environment]domain.RetrySchedule
	IdempotencyRetention            time.Duration
}

// Site serves the documentation.
type Site struct {
	brand  brand.Brand
	pages  func() map[string]*answer // by path
	assets func() map[string]*answer
}

// answer is one resource, ready to be sent.
type answer struct {
	status      int
	contentType string
	location    string // of a redirect
	policy      string // Content-Security-Policy; empty: none
	immutable   bool   // its path changes with its content
	tag         string
	plain       func() []byte
	gzipped     []byte  // nil: not smaller
	markdown    *answer // of a page: the same for agents
}

// New returns the site for customers' engineers.
func New(o Options) *Site { return newSite(o, linkRoot(o.SandboxBaseURL), "guides", customersOrder) }

// NewForOperators returns the site for those who run the service. Its own path is Prefix.
func NewForOperators(o Options) *Site { return newSite(o, Prefix, "operators", operatorsOrder) }

// newSite returns a site. It makes the pages at the first request of one.
func newSite(o Options, root, folder string, files order) *Site {
	return &Site{
		brand: o.Brand,
		pages: sync.OnceValue(func() map[string]*answer {
			pages, err := build(o, root, folder, files)
			if err != nil {
				panic("the documentation does not render: " + err.Error()) // pages are part of the program, and the tests read them
			}
			return pages
		}),
		assets: sync.OnceValue(assetAnswers), // more than a megabyte
	}
}

func build(o Options, root, folder string, files order) (map[string]*answer, error) {
	description := o.Description()
	d, err := readDescription(description)
	if err != nil {
		return nil, err
	}
	groups, err := readGuides(folder, files)
	if err != nil {
		return nil, err
	}
	b := &builder{facts: newFacts(o, d, root), root: root, operators: folder == "operators", groups: groups, description: description}
	return b.render()
}

// linkRoot returns the path of the site for browsers, if a proxy puts the API below its own path.
func linkRoot(sandboxBaseURL string) string {
	u, err := url.Parse(sandboxBaseURL)
	if err != nil {
		return Prefix
	}
	return strings.TrimSuffix(u.EscapedPath(), "/v1") + Prefix
}

// The content security policies. Nothing is loaded from elsewhere, and pages have no inline script
// or style.
const (
	strictPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

	// Scalar writes its style sheets into the page, in pieces that change during reading. Neither a
	// hash nor an ETag can cover them. Scripts stay strict, and calls reach only this origin.
	tryPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
		"font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// ServeHTTP serves GET and HEAD requests below Prefix, and at IndexPath.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		header.Set("Content-Security-Policy", strictPolicy)
		http.Error(w, "The documentation is only read: send GET.", http.StatusMethodNotAllowed)
		return
	}
	if name, ofBrand := strings.CutPrefix(r.URL.Path, Prefix+"/brand/"); ofBrand && s.brand.Serve(w, r, name) {
		return
	}
	found := s.find(r.URL.Path)
	header.Set("Vary", "Accept-Encoding")
	if found.markdown != nil {
		header.Set("Vary", "Accept, Accept-Encoding")
		if wantsMarkdown(r.Header) {
			found = found.markdown
		}
	}
	found.write(w, r)
}

func (s *Site) find(path string) *answer {
	if asset := s.assets()[path]; asset != nil {
		return asset
	}
	pages := s.pages()
	if path != Prefix {
		path = strings.TrimSuffix(path, "/")
	}
	if page := pages[path]; page != nil {
		return page
	}
	return pages[missing]
}

func (a *answer) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if a.location != "" {
		http.Redirect(w, r, a.location, a.status)
		return
	}
	header.Set("Content-Type", a.contentType)
	if a.policy != "" {
		header.Set("Content-Security-Policy", a.policy)
	}
	header.Set("Cache-Control", "no-cache")
	if a.immutable {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	packed := a.gzipped != nil && web.TakesGzip(r.Header)
	if a.status == http.StatusOK {
		tag := `"` + a.tag + `"`
		if packed {
			tag = `"` + a.tag + `-gzip"` // other bytes, another tag
		}
		header.Set("ETag", tag)
		if holds(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := a.gzipped
	if packed {
		header.Set("Content-Encoding", "gzip")
	} else {
		body = a.plain()
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a reader who left is not a failure
	}
}

// holds reports whether If-None-Match has a tag, by weak comparison.
func holds(headers []string, tag string) bool {
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		if part = strings.TrimPrefix(strings.TrimSpace(part), "W/"); part == tag || part == "*" {
			return true
		}
	}
	return false
}

// newAnswer returns a resource with a body, also compressed if that is smaller.
func newAnswer(contentType string, body []byte) *answer {
	a := plainAnswer(contentType, body)
	if packed := web.Gzip(body, gzip.BestCompression); len(packed) < len(body) {
		a.gzipped = packed
	}
	return a
}

// plainAnswer returns a resource with an uncompressed body.
func plainAnswer(contentType string, body []byte) *answer {
	return &answer{
		status: http.StatusOK, contentType: contentType, tag: hashOf(body),
		plain: func() []byte { return body },
	}
}

// hashOf returns a short hash of a content.
func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

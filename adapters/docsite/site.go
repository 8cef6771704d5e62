package docsite

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"waybill/domain"
)

// Prefix is the path that the site and all below it has on its listener.
const Prefix = "/docs"

// Options says what the pages are about.
type Options struct {
	// Description is the description of the API in JSON, with the addresses that
	// callers use. It is asked for once.
	Description    func() []byte
	SandboxBaseURL string // ends in /v1
	LiveBaseURL    string // ends in /v1
	PortalURL      string // where people make their keys; empty: there is no portal

	PerKey, PerBusiness, PerAddress domain.RateLimit
	Schedules                       map[domain.Environment]domain.RetrySchedule
	IdempotencyRetention            time.Duration
}

// Site serves the documentation.
type Site struct {
	pages  func() map[string]*answer // by path
	assets func() map[string]*answer
}

// answer is one resource, ready to be sent.
type answer struct {
	status      int
	contentType string
	policy      string // Content-Security-Policy; empty: none
	immutable   bool   // its path changes with its content
	tag         string
	plain       func() []byte
	gzipped     []byte  // nil: too small to be worth it
	markdown    *answer // of a page: the same for agents
}

// New is the site. The pages are made when the first of them is asked for.
func New(o Options) *Site {
	root := linkRoot(o.SandboxBaseURL)
	return &Site{
		pages: sync.OnceValue(func() map[string]*answer {
			pages, err := render(o, root)
			if err != nil {
				panic("the documentation does not render: " + err.Error()) // pages are part of the program, and the tests read them
			}
			return pages
		}),
		assets: sync.OnceValue(assetAnswers), // more than a megabyte
	}
}

// linkRoot is the path that browsers know the site under, where a proxy puts
// the API below a path of its own.
func linkRoot(sandboxBaseURL string) string {
	u, err := url.Parse(sandboxBaseURL)
	if err != nil {
		return Prefix
	}
	return strings.TrimSuffix(u.EscapedPath(), "/v1") + Prefix
}

// The policies. Nothing comes from elsewhere, and no script or style stands in
// a page.
const (
	strictPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

	// Scalar writes its style sheets into the page, in pieces that change as one
	// reads: neither a hash nor an ETag can cover them. Scripts stay strict, and
	// calls reach this origin only.
	referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
		"font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// ServeHTTP answers GET and HEAD below Prefix, and at IndexPath.
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
	header.Set("Content-Type", a.contentType)
	if a.policy != "" {
		header.Set("Content-Security-Policy", a.policy)
	}
	header.Set("Cache-Control", "no-cache")
	if a.immutable {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	packed := a.gzipped != nil && takesGzip(r.Header)
	if a.status == http.StatusOK {
		tag := `"` + a.tag + `"`
		if packed {
			tag = `"` + a.tag + `-gzip"` // other bytes, another name
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
		_, _ = w.Write(body) // a reader who left is no failure
	}
}

// takesGzip reads Accept-Encoding; a weight of zero is a refusal.
func takesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, weight, weighted := strings.Cut(strings.ToLower(strings.TrimSpace(part)), ";")
		if name := strings.TrimSpace(coding); name != "gzip" && name != "*" {
			continue
		}
		q := strings.TrimPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
		return !weighted || strings.Trim(q, "0.") != ""
	}
	return false
}

// holds compares weakly, as If-None-Match asks for.
func holds(headers []string, tag string) bool {
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		if part = strings.TrimPrefix(strings.TrimSpace(part), "W/"); part == tag || part == "*" {
			return true
		}
	}
	return false
}

// newAnswer is a body as it is sent.
func newAnswer(contentType string, body []byte) *answer {
	a := plainAnswer(contentType, body)
	if packed := squeeze(body); len(packed) < len(body) {
		a.gzipped = packed
	}
	return a
}

// plainAnswer is a body that is sent as it is.
func plainAnswer(contentType string, body []byte) *answer {
	return &answer{
		status: http.StatusOK, contentType: contentType, tag: hashOf(body),
		plain: func() []byte { return body },
	}
}

func squeeze(body []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is one there is
	_, _ = w.Write(body)                                    // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// hashOf names a content.
func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

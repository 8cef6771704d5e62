package trackingpage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gin-gonic/gin"

	"waybill/adapters/brand"
	"waybill/adapters/web"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
)

// answerTimeout limits how long a page waits for the database.
const answerTimeout = 3 * time.Second

// contentPolicy allows the page only content of its own origin. Injected code cannot run.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Options configures the pages.
type Options struct {
	Brand          brand.Brand
	TrustedProxies []netip.Prefix // the proxies whose X-Forwarded-For is trusted
	Log            *slog.Logger
	Metrics        *Metrics
}

// Pages serves tracking pages.
type Pages struct {
	options  Options
	tracking *deliveries.Tracking
	watches  *deliveries.Watches

	render *renderer
	assets map[string]asset
	router *gin.Engine
}

// New creates the pages. At serves them.
func New(t *deliveries.Tracking, w *deliveries.Watches, o Options) *Pages {
	p := &Pages{options: o, tracking: t, watches: w}
	var names assetNames
	names, p.assets = loadAssets()
	p.render = newRenderer(names, o.Brand)
	p.router = p.newRouter()
	return p
}

// At serves the pages under a path such as /track. Their links are relative, so the path itself
// redirects to the one with a slash.
func (p *Pages) At(prefix string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == prefix && readOnlyMethod(r.Method) {
			to := url.URL{Path: path.Base(prefix) + "/", RawQuery: r.URL.RawQuery}
			protectHeaders(w.Header())
			w.Header().Set("Location", to.String())
			w.WriteHeader(http.StatusFound)
			return
		}
		below := r.Clone(r.Context())
		below.URL.Path = "/" + strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, prefix), "/")
		below.URL.RawPath = ""
		if raw := r.URL.RawPath; raw != "" {
			below.URL.RawPath = "/" + strings.TrimPrefix(strings.TrimPrefix(raw, prefix), "/")
		}
		p.router.ServeHTTP(w, below)
	})
}

func (p *Pages) newRouter() *gin.Engine {
	router := web.NewRouter(p.options.TrustedProxies)
	router.Use(p.recover, protect, p.onlyRead)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		router.Handle(method, "/:reference", p.page)
		router.Handle(method, "/:reference/stream", p.stream)
	}
	router.NoRoute(func(c *gin.Context) {
		if p.asset(c) {
			return
		}
		typed, at := c.Query("reference"), strings.TrimPrefix(c.Request.URL.Path, "/")
		for _, text := range []string{typed, at} {
			if r, ok := linked(text); ok {
				p.lead(c, strings.Repeat("../", strings.Count(c.Request.URL.EscapedPath(), "/")-1)+string(r))
				return
			}
		}
		if at == "" && strings.TrimSpace(typed) == "" {
			p.send(c, http.StatusOK, ask)
			return
		}
		p.look(c, at)
	})
	return router
}

// recover turns a panic into an error page and a log line.
func (p *Pages) recover(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause)
		}
		p.options.Log.ErrorContext(c.Request.Context(), "panic", "request_id", requestID(c), "route", "tracking"+c.FullPath(),
			"cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		p.notice(c, http.StatusInternalServerError, failed, resultError)
	}()
	c.Next()
}

// protect sets the headers of every response.
func protect(c *gin.Context) { protectHeaders(c.Writer.Header()) }

func protectHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the URL is the secret
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
}

func (p *Pages) onlyRead(c *gin.Context) {
	if !readOnlyMethod(c.Request.Method) {
		c.Header("Allow", "GET, HEAD")
		p.send(c, http.StatusMethodNotAllowed, readOnly)
		c.Abort()
	}
}

func readOnlyMethod(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// lead redirects to an address relative to this one, in a chosen language.
func (p *Pages) lead(c *gin.Context, to string) {
	c.Header("Location", to+p.edition(c).Keep())
	c.Status(http.StatusFound)
}

// linked reads a reference, or the one that a link ends with before its query. Punctuation and
// invisible characters around it belong to the message that has the link: phones and chats often take
// them along.
func linked(text string) (domain.Reference, bool) {
	foreign := func(r rune) bool {
		return unicode.IsPunct(r) || unicode.IsSymbol(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
	}
	text = strings.TrimFunc(text, foreign)
	if query := strings.IndexAny(text, "?#"); query >= 0 {
		text = strings.TrimRightFunc(text[:query], foreign)
	}
	return domain.FoldReference(strings.TrimFunc(text[strings.LastIndex(text, "/")+1:], foreign))
}

// page shows a delivery. A reference in another notation, or with punctuation behind it, is
// redirected to its normal form first, whether or not it exists.
func (p *Pages) page(c *gin.Context) {
	if r, ok := linked(c.Param("reference")); ok && string(r) != c.Param("reference") {
		p.lead(c, string(r))
		return
	}
	if found, ok := p.look(c, c.Param("reference")); ok {
		body, err := p.render.page(show(p.edition(c), domain.Reference(c.Param("reference")), &found))
		if err != nil {
			panic(err) // the template and its data are ours
		}
		p.speak(c)
		send(c, http.StatusOK, html, body)
	}
}

// look finds a delivery, or responds with the reason why there is none.
func (p *Pages) look(c *gin.Context, reference string) (found domain.Tracking, ok bool) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), answerTimeout)
	defer cancel()
	found, err := p.tracking.Find(ctx, clientAddress(c), reference)
	var e *domain.Error
	switch {
	case err == nil:
		p.options.Metrics.pages.WithLabelValues(resultFound).Inc()
		return found, true
	case errors.Is(err, domain.ErrNotFound):
		p.notice(c, http.StatusNotFound, missing, resultMissing)
	case errors.As(err, &e) && e.Kind == domain.KindLimited:
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
		p.notice(c, http.StatusTooManyRequests, limited, resultLimited)
	default:
		switch {
		case c.Request.Context().Err() != nil: // the client has disconnected
		case ports.StorageUnavailable(err):
			p.options.Log.WarnContext(c.Request.Context(), "dependency unavailable", "request_id", requestID(c), "route", "tracking"+c.FullPath(),
				"error", err)
		default:
			p.options.Log.ErrorContext(c.Request.Context(), "a tracking page failed", "request_id", requestID(c), "error", err)
		}
		c.Header("Retry-After", "5")
		p.notice(c, http.StatusServiceUnavailable, failed, resultError)
	}
	return found, false
}

func (p *Pages) notice(c *gin.Context, status int, n notice, result string) {
	p.options.Metrics.pages.WithLabelValues(result).Inc()
	p.send(c, status, n)
}

// send sends a notice in the language of the reader.
func (p *Pages) send(c *gin.Context, status int, n notice) {
	p.speak(c)
	send(c, status, html, p.render.notices[noticeIn{n.name, p.edition(c)}])
}

func (p *Pages) edition(c *gin.Context) edition { return p.render.languages.of(c) }

// speak names the language of a page in its headers.
func (p *Pages) speak(c *gin.Context) {
	c.Header("Content-Language", p.edition(c).Tag)
	c.Header("Vary", "Accept-Language")
}

const html = "text/html; charset=utf-8"

func send(c *gin.Context, status int, kind string, body []byte) {
	c.Header("Content-Length", strconv.Itoa(len(body)))
	c.Data(status, kind, body)
}

// requestID returns the request ID of the listener.
func requestID(c *gin.Context) string { return c.Writer.Header().Get("X-Request-ID") }

func clientAddress(c *gin.Context) string { return domain.ClientAddress(c.ClientIP()) }

package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web"
	"waybill/adapters/web/server"
	"waybill/domain"
)

// How long a page waits for the database, and a form.
const (
	readTimeout  = 3 * time.Second
	writeTimeout = 8 * time.Second
	maxForm      = 64 << 10
)

func (s *Site) newRouter() *gin.Engine {
	router := web.NewRouter(s.o.TrustedProxies)
	router.Use(s.protect, s.refuseForged)
	for _, r := range s.routes {
		web.Handle(router, r.Method, s.o.Prefix+r.Path, s.answer(r))
	}
	web.Handle(router, http.MethodGet, s.o.Prefix+"/assets/:name", func(c *gin.Context) {
		if name := c.Param("name"); !s.o.Brand.Serve(c.Writer, c.Request, name) && !ServeAsset(c.Writer, c.Request, name) {
			s.Fail(s.newCall(c), domain.ErrNotFound)
		}
	})
	if s.o.Prefix != "" {
		web.Handle(router, http.MethodGet, s.o.Prefix, func(c *gin.Context) { c.Redirect(http.StatusFound, s.o.Prefix+"/") })
	}
	router.NoRoute(func(c *gin.Context) { s.Fail(s.newCall(c), domain.ErrNotFound) })
	router.NoMethod(func(c *gin.Context) {
		s.Notice(s.newCall(c), http.StatusMethodNotAllowed, Notice{Tone: "bad", Title: "This page cannot do that",
			Lines: []string{"Open it again from the menu."}})
	})
	return router
}

// named is a route as the log calls it.
func (s *Site) named(c *gin.Context) string { return string(s.o.Site) + " " + c.FullPath() }

// protect sets what every answer has, and turns a panic into a page and a line of log.
func (s *Site) protect(c *gin.Context) {
	h := c.Writer.Header()
	id := web.NameRequest(s.o.Identifiers.ID("req_"), c.Request.Header)
	id.SetHeader(h)
	c.Set(requestIDKey, id.Drawn)
	protectHeaders(h)
	if s.withoutSecrets(c) {
		return
	}
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause)
		}
		s.o.Log.ErrorContext(c.Request.Context(), "panic", "request_id", requestID(c), "route", s.named(c),
			"cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		s.Notice(s.newCall(c), http.StatusInternalServerError, s.failed(requestID(c)))
	}()
	c.Next()
}

func protectHeaders(h http.Header) {
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with less, browsers do not say where a form comes from
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
}

const html = "text/html; charset=utf-8"

// requestID is the name that we drew for the request. The answer may have the browser's own
// in its header; log and audit log never do.
func requestID(c *gin.Context) string { return c.GetString(requestIDKey) }

const requestIDKey = "request_id"

// answer runs a route: who is there, may they, and then its handler.
func (s *Site) answer(r Route) gin.HandlerFunc {
	within := readTimeout
	if r.Method == http.MethodPost {
		within = writeTimeout
	}
	within = cmp.Or(r.Within, within)
	return func(g *gin.Context) {
		ctx, cancel := context.WithTimeout(g.Request.Context(), within)
		defer cancel()
		open := g.Request.Context()
		g.Request = g.Request.WithContext(ctx)
		c := s.newCall(g)
		c.open, c.mostForm, c.tooLarge, c.mount = open, cmp.Or(r.MaxForm, maxForm), r.TooLarge, r.mount
		if query := g.Request.URL.Query(); !readable(query) {
			g.Request.URL.RawQuery = legible(query).Encode()
		}
		defer c.goesOn()
		err := s.admit(c, r)
		if err == nil {
			err = c.checkIDs()
		}
		if err == nil {
			err = r.Handle(c)
		}
		if err != nil {
			s.Fail(c, err)
		}
	}
}

// bound counts a page that is read or sent, and waits for a place to make it.
func (s *Site) bound(c *Call, r Route) (err error) {
	if r.Part {
		return nil
	}
	if err := s.o.Access.AdmitPage(c.Ctx(), c.Principal); err != nil {
		return err
	}
	if c.leave, err = s.inFlight.enter(c.Ctx(), c.Principal); err != nil || !c.large() {
		return err
	}
	leave := c.leave
	leaveUpload, err := s.uploads.enterUpload(c.Ctx(), c.Principal)
	if err == nil {
		c.leave = func() { leaveUpload(); leave() }
	}
	return err
}

// large reports whether the form of a call may have more than maxForm bytes. Nobody's is read
// before the session and its role are known, and few at a time.
func (c *Call) large() bool {
	return c.Request.Method == http.MethodPost && (c.Request.ContentLength < 0 || c.Request.ContentLength > maxForm)
}

// takeForm reads the form of a call, or answers that it cannot be read.
func (s *Site) takeForm(c *Call) error {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, c.mostForm)
	err := c.readForm()
	if errors.Is(err, server.ErrBodiesArriving) {
		c.Header("Retry-After", "1")
		s.Notice(c, http.StatusServiceUnavailable, Notice{Tone: "bad", Title: "The form could not be sent",
			Lines: []string{"Too many forms are being sent at the moment. Nothing was changed. Send it again in a few seconds."}})
		return ErrAnswered
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		s.Notice(c, http.StatusRequestEntityTooLarge, Notice{Tone: "bad", Title: "The form is too large", Lines: []string{
			cmp.Or(c.tooLarge, "It may have up to "+strconv.FormatInt(c.mostForm/1000, 10)+" kB. Shorten it and send it once more."),
			"Nothing was changed."}})
		return ErrAnswered
	}
	if err != nil || !readable(c.Request.PostForm) {
		s.Notice(c, http.StatusBadRequest, Notice{Tone: "bad", Title: "The form could not be read",
			Lines: []string{"Open the page again, then send it again."}})
		return ErrAnswered
	}
	c.Form = c.Request.PostForm
	return nil
}

// dropForm forgets the form of a call, so that an answer whose reader is slow holds no more than
// itself.
func (c *Call) dropForm() {
	c.Form, c.File = nil, nil
	c.Request.Form, c.Request.PostForm, c.Request.MultipartForm = nil, nil, nil
}

// readForm reads a form, with the file that it may have.
func (c *Call) readForm() error {
	if kind, _, _ := mime.ParseMediaType(c.ContentType()); kind != "multipart/form-data" {
		return c.Request.ParseForm()
	}
	if err := c.Request.ParseMultipartForm(c.mostForm); err != nil { // never into a file: the body has no more
		return err
	}
	for _, sent := range c.Request.MultipartForm.File["file"] {
		file, err := sent.Open()
		if err != nil {
			return err
		}
		if c.File, err = io.ReadAll(file); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}

// legible is a query with a sign in place of what is no text: such a value is of nothing
// that there is, and no database is asked with it.
func legible(query url.Values) url.Values {
	const sign = string(utf8.RuneError)
	text := func(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, sign), "\x00", sign) }
	made := url.Values{}
	for name, values := range query {
		for _, v := range values {
			made.Add(text(name), text(v))
		}
	}
	return made
}

// readable reports whether a form, or the query of an address, is text: a browser sends
// nothing else, and a database takes nothing else.
func readable(form url.Values) bool {
	for name, values := range form {
		for _, text := range append(values, name) {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				return false
			}
		}
	}
	return true
}

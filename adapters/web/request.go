package web

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"

	"waybill/domain"
)

// SetPrivate keeps an answer out of caches, and browsers from guessing its type.
// That is for errors and descriptions too: each answer has a request ID and what
// one caller may know.
func SetPrivate(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-store")
}

// SetTagged lets the client keep an answer and ask for it with If-None-Match.
func SetTagged(h http.Header, tag string) {
	h["ETag"] = []string{tag} // spelled as the contract spells it
	h.Set("Cache-Control", "private, no-cache")
}

// RequestID names a request: drawn by us, and as the caller calls it.
type RequestID struct {
	Drawn  string
	Theirs string // empty: the caller has no name for it
}

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// NameRequest is the name of a request. An X-Request-ID of the caller that will
// not do is passed over, and so is one with a secret of ours in it: names are logged.
func NameRequest(drawn domain.ID, h http.Header) RequestID {
	id := RequestID{Drawn: string(drawn)}
	if sent := h.Values("X-Request-ID"); len(sent) == 1 && requestIDForm.MatchString(sent[0]) && !domain.HoldsSecret(sent[0]) {
		id.Theirs = sent[0]
	}
	return id
}

// Shown is the ID in the answer: the caller's own, where it has one.
func (id RequestID) Shown() string { return cmp.Or(id.Theirs, id.Drawn) }

// SetHeader puts the name into an answer, spelled as the contract spells it.
func (id RequestID) SetHeader(h http.Header) {
	h["X-Request-ID"] = []string{id.Shown()}
}

// LogAttr is the name in a line of log. An ID that the caller chose has a name of
// its own: it may be that of another request, or look like a generated one.
func (id RequestID) LogAttr() slog.Attr {
	if id.Theirs == "" {
		return slog.String("request_id", id.Drawn)
	}
	return slog.Group("", slog.String("request_id", id.Drawn), slog.String("client_request_id", id.Theirs))
}

// Bearer reads the key or token out of the Authorization headers of a request.
func Bearer(h http.Header) (secret string, malformed bool) {
	sent := h.Values("Authorization")
	if len(sent) == 0 || len(sent) == 1 && sent[0] == "" {
		return "", false
	}
	secret, ok := strings.CutPrefix(sent[0], "Bearer ")
	if len(sent) > 1 || !ok || secret == "" || strings.ContainsAny(secret, " \t") {
		return "", true
	}
	return secret, false
}

// NewRouter is gin without what it guesses: it redirects nothing, tells 405 from
// 404, and believes X-Forwarded-For of the proxies alone.
func NewRouter(trustedProxies []netip.Prefix) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.RedirectTrailingSlash = false
	router.RedirectFixedPath = false
	router.HandleMethodNotAllowed = true
	router.UseEscapedPath = true // an escaped slash must not make a path segment two
	router.RemoteIPHeaders = []string{forwardedFor}
	proxies := Each(trustedProxies, netip.Prefix.String)
	if err := router.SetTrustedProxies(proxies); err != nil {
		panic(err) // prefixes that were parsed are valid
	}
	router.Use(readForwardedFor)
	return router
}

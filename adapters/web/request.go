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

// SetPrivate keeps a response out of caches, and stops browsers from guessing its type. This
// applies to errors and descriptions too: each response has a request ID and data for one
// client only.
func SetPrivate(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-store")
}

// SetTagged lets the client cache a response and revalidate it with If-None-Match.
func SetTagged(h http.Header, tag string) {
	h["ETag"] = []string{tag} // spelled as in the contract
	h.Set("Cache-Control", "private, no-cache")
}

// RequestID identifies a request: by our generated ID and by the ID of the client.
type RequestID struct {
	Drawn  string
	Theirs string // empty: the client sent none
}

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// NameRequest returns the ID of a request. It ignores an invalid X-Request-ID of the client,
// and one that contains one of our secrets: IDs are logged.
func NameRequest(drawn domain.ID, h http.Header) RequestID {
	id := RequestID{Drawn: string(drawn)}
	if sent := h.Values("X-Request-ID"); len(sent) == 1 && requestIDForm.MatchString(sent[0]) && !domain.HoldsSecret(sent[0]) {
		id.Theirs = sent[0]
	}
	return id
}

// Shown returns the ID for the response: the client's own, if it sent one.
func (id RequestID) Shown() string { return cmp.Or(id.Theirs, id.Drawn) }

// SetHeader adds the ID to a response, spelled as in the contract.
func (id RequestID) SetHeader(h http.Header) {
	h["X-Request-ID"] = []string{id.Shown()}
}

// LogAttr returns the ID for a log line. An ID that the client chose has another attribute
// name: it may equal that of another request, or look like a generated one.
func (id RequestID) LogAttr() slog.Attr {
	if id.Theirs == "" {
		return slog.String("request_id", id.Drawn)
	}
	return slog.Group("", slog.String("request_id", id.Drawn), slog.String("client_request_id", id.Theirs))
}

// Bearer reads the key or token from the Authorization headers of a request.
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

// NewRouter returns gin without its guesses. It does not redirect, it distinguishes 405 from
// 404, and it trusts X-Forwarded-For only from the proxies.
func NewRouter(trustedProxies []netip.Prefix) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.RedirectTrailingSlash = false
	router.RedirectFixedPath = false
	router.HandleMethodNotAllowed = true
	router.UseEscapedPath = true // an escaped slash must not split a path segment
	router.RemoteIPHeaders = []string{forwardedFor}
	proxies := Each(trustedProxies, netip.Prefix.String)
	if err := router.SetTrustedProxies(proxies); err != nil {
		panic(err) // parsed prefixes are valid
	}
	router.Use(readForwardedFor, func(c *gin.Context) { c.Request.URL.RawQuery = withSemicolons(c.Request.URL.RawQuery) })
	return router
}

// Handle registers a route. Wherever GET answers, HEAD does, with the same headers and no body.
func Handle(router gin.IRoutes, method, path string, handlers ...gin.HandlerFunc) {
	router.Handle(method, path, handlers...)
	if method == http.MethodGet {
		router.Handle(http.MethodHead, path, handlers...)
	}
}

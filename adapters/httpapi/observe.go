package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/domain"
)

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// callKey is where the context of a request keeps its call.
type callKey struct{}

func callOf(g *gin.Context) *call { return g.Request.Context().Value(callKey{}).(*call) }

// observe surrounds every request: it names it, turns a panic into a 500,
// counts it and writes its one line of log.
func (a *API) observe(g *gin.Context) {
	begun := time.Now()
	c := &call{Context: g, begun: begun, environment: a.Environment, requestID: a.newRequestID(), theirID: theirRequestID(g.Request.Header["X-Request-Id"]), gone: g.Request.Context().Done()}
	defer a.follow(c)()
	c.giveTime(readBudget)
	defer func() { c.stop() }()
	header := g.Writer.Header()
	header["X-Request-ID"] = []string{c.shownID()}
	header["X-Content-Type-Options"] = noSniff
	header["Cache-Control"] = noStore
	defer func() {
		if cause := recover(); cause != nil {
			a.panicked(c, cause)
		}
		a.finished(c, time.Since(begun))
	}()
	g.Next()
}

// giveTime gives the request so long from now on. Its context ends with
// that and not with its client, who may close the sending side of the
// connection while it waits for the answer: net/http takes that for a client
// that has left.
func (c *call) giveTime(limit time.Duration) {
	ctx := context.WithoutCancel(c.Request.Context())
	if c.stop == nil {
		ctx = context.WithValue(ctx, callKey{}, c)
	} else {
		c.stop()
	}
	ctx, c.stop = context.WithTimeout(ctx, limit)
	c.Request = c.Request.WithContext(ctx)
}

// changes reports a call that may change something.
func (c *call) changes() bool {
	return c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead
}

func (a *API) newRequestID() string { return string(a.Identifiers.ID("req_")) }

func theirRequestID(sent []string) string {
	if len(sent) == 1 && requestIDForm.MatchString(sent[0]) {
		return sent[0]
	}
	return ""
}

// shownID is the ID in the answer: the caller's own, where it has one.
func (c *call) shownID() string { return cmp.Or(c.theirID, c.requestID) }

// ids are the names of the request in a line of log. What a caller chose stands
// apart: it may be that of another request, or look like one of ours.
func (c *call) ids() slog.Attr {
	if c.theirID == "" {
		return slog.String("request_id", c.requestID)
	}
	return slog.Group("", slog.String("request_id", c.requestID), slog.String("client_request_id", c.theirID))
}

func (a *API) panicked(c *call, cause any) {
	a.Log.ErrorContext(c.Request.Context(), "panic", c.ids(), "route", c.FullPath(),
		"cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
	if c.Writer.Written() {
		// Half an answer is out; only breaking the connection tells the client.
		panic(http.ErrAbortHandler)
	}
	a.fail(c, domain.Internal(fmt.Errorf("panic: %v", cause)))
}

// finished logs an allow-list of fields. Never add a body, a header, a phone
// number, a name, an address, a cursor or an Idempotency-Key. Of an address that
// was not let in its network is told.
func (a *API) finished(c *call, took time.Duration) {
	route, status := routeOf(c), c.Writer.Status()
	a.Metrics.served(route, c.Request.Method, status, a.Environment, took)
	fields := append(make([]slog.Attr, 0, 9),
		c.ids(),
		slog.String("environment", string(a.Environment)),
		slog.String("method", knownMethod(c.Request.Method)),
		slog.String("route", route),
		slog.Int("status", status),
		slog.Float64("took_ms", float64(took.Microseconds())/1000),
		slog.String("application_id", string(c.tenant.ApplicationID)),
	)
	if key := c.grant.Credential.Key.ID; key != "" {
		fields = append(fields, slog.String("key_id", string(key)))
	}
	if status == http.StatusUnauthorized || status == http.StatusTooManyRequests {
		fields = append(fields, slog.String("client_network", domain.ClientNetwork(c.ClientIP())))
	}
	a.Log.LogAttrs(c.Request.Context(), slog.LevelInfo, "request", fields...)
}

// knownMethod keeps what strangers invent out of labels and logs.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}

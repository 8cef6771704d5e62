package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web"
	"waybill/domain"
)

// callKey is the context key under which a request keeps its call.
type callKey struct{}

func callOf(g *gin.Context) *call { return g.Request.Context().Value(callKey{}).(*call) }

// observe wraps every request. It assigns the request ID, turns a panic into a 500, counts the
// request and writes its log line.
func (a *API) observe(g *gin.Context) {
	begun := time.Now()
	c := &call{Context: g, begun: begun, environment: a.Environment, requestID: web.NameRequest(a.newRequestID(), g.Request.Header),
		gone: g.Request.Context().Done}
	defer a.trace(c)()
	c.setDeadline(readBudget)
	defer func() { c.stop() }()
	header := g.Writer.Header()
	c.requestID.SetHeader(header)
	web.SetPrivate(header)
	defer func() {
		if cause := recover(); cause != nil {
			a.panicked(c, cause)
		}
		a.finished(c, time.Since(begun))
	}()
	g.Next()
}

// setDeadline gives the request this much time from now on. The context of the request no
// longer ends when its client disconnects: a client may close its sending side while it waits
// for the response, and net/http takes that for a disconnect.
func (c *call) setDeadline(limit time.Duration) {
	ctx := context.WithoutCancel(c.Request.Context())
	if c.stop == nil {
		ctx = context.WithValue(ctx, callKey{}, c)
	} else {
		c.stop()
	}
	ctx, c.stop = context.WithTimeout(ctx, limit)
	c.Request = c.Request.WithContext(ctx)
}

// changes reports whether the request may change something.
func (c *call) changes() bool {
	return c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead
}

func (a *API) newRequestID() domain.ID { return a.Identifiers.ID("req_") }

func (a *API) panicked(c *call, cause any) {
	a.Log.ErrorContext(c.Request.Context(), "panic", c.requestID.LogAttr(), "route", c.FullPath(),
		"cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
	if c.Writer.Written() {
		// Part of the response is sent. Only breaking the connection shows the client the
		// failure.
		panic(http.ErrAbortHandler)
	}
	a.fail(c, domain.Internal(fmt.Errorf("panic: %v", cause)))
}

// finished logs an allow-list of fields. Never add a body, a header, a phone number, a name, an
// address, a cursor or an Idempotency-Key. For a client address that was refused it logs the
// network only.
func (a *API) finished(c *call, took time.Duration) {
	route, status := routeOf(c), c.Writer.Status()
	a.Metrics.served(route, c.Request.Method, status, a.Environment, took)
	a.record(c, route, status, took)
	if !a.Log.Enabled(c.Request.Context(), slog.LevelInfo) {
		return
	}
	fields := append(make([]slog.Attr, 0, 9),
		c.requestID.LogAttr(),
		slog.String("environment", string(a.Environment)),
		slog.String("method", knownMethod(c.Request.Method)),
		slog.String("route", route),
		slog.Int("status", status),
		slog.Float64("took_ms", float64(took.Microseconds())/1000),
		slog.String("application_id", string(c.tenant.ApplicationID)),
	)
	if key := c.grant.Caller().Key.ID; key != "" {
		fields = append(fields, slog.String("key_id", string(key)))
	}
	if status == http.StatusUnauthorized || status == http.StatusTooManyRequests {
		fields = append(fields, slog.String("client_network", domain.ClientNetwork(c.clientIP())))
	}
	a.Log.LogAttrs(c.Request.Context(), slog.LevelInfo, "request", fields...)
}

// knownMethod keeps invented methods out of labels and logs.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}

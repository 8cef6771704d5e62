package httpapi

import (
	"context"
	"net/http"
)

// Trace starts the span of a request, in the context that it returns. The returned function
// ends the span with the outcome. applicationID is empty for an unknown client.
type Trace func(r *http.Request, environment, method, route, requestID string) (ctx context.Context,
	ended func(status int, applicationID string))

func notTraced() {}

// trace gives the request the context of its span. The returned function ends the span, after
// the response.
func (a *API) trace(c *call) func() {
	if a.Trace == nil {
		return notTraced
	}
	ctx, ended := a.Trace(c.Request, string(a.Environment), knownMethod(c.Request.Method), routeOf(c), c.requestID.Drawn)
	c.Request = c.Request.WithContext(ctx)
	return func() { ended(c.Writer.Status(), string(c.tenant.ApplicationID)) }
}

// routeOf returns the pattern of the path, and never the path itself.
func routeOf(c *call) string {
	if route := c.FullPath(); route != "" {
		return route
	}
	return "none"
}

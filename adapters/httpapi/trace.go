package httpapi

import (
	"context"
	"net/http"
)

// Trace begins to follow a request, in the context that it returns, and ends
// when the function it returns is called with what came of it. applicationID is
// empty for an unknown caller.
type Trace func(r *http.Request, environment, method, route, requestID string) (ctx context.Context,
	ended func(status int, applicationID string))

func notTraced() {}

// trace gives the call the context of its span. The returned function ends the
// span, after the answer.
func (a *API) trace(c *call) func() {
	if a.Trace == nil {
		return notTraced
	}
	ctx, ended := a.Trace(c.Request, string(a.Environment), knownMethod(c.Request.Method), routeOf(c), c.requestID.Drawn)
	c.Request = c.Request.WithContext(ctx)
	return func() { ended(c.Writer.Status(), string(c.tenant.ApplicationID)) }
}

// routeOf is the pattern of the path, and never the path itself.
func routeOf(c *call) string {
	if route := c.FullPath(); route != "" {
		return route
	}
	return "none"
}

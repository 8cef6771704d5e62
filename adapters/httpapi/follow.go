package httpapi

import (
	"context"
	"net/http"
)

// Follow begins to follow a request, in the context that it returns, and ends
// when the function it returns is called with what came of it. applicationID is
// empty for a stranger.
type Follow func(r *http.Request, environment, method, route, requestID string) (ctx context.Context, ended func(status int, applicationID string))

func notFollowed() {}

// follow gives the call the context that whoever follows it wants. What it
// returns is to be called when the call has been answered.
func (a *API) follow(c *call) func() {
	if a.Follow == nil {
		return notFollowed
	}
	ctx, ended := a.Follow(c.Request, string(a.Environment), knownMethod(c.Request.Method), routeOf(c), c.requestID.Drawn)
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

package console

import (
	"waybill/adapters/site"
	"waybill/domain"

	"github.com/gin-gonic/gin"
)

// Route is a route as tests go through them.
type Route struct {
	Method, Path string
	Act          domain.Act // empty: no session is needed
}

// Routes are all there are.
func Routes() (all []Route) {
	p := &Console{Site: site.Described(site.Options{Site: domain.Console, People: staff})}
	for _, r := range append(p.Site.Routes(), p.routes()...) {
		route := Route{Method: r.Method, Path: r.Path}
		if r.Act != nil {
			route.Act = r.Act(&site.Call{Context: &gin.Context{}})
		}
		all = append(all, route)
	}
	return all
}

package console

import (
	"log/slog"

	"waybill/adapters/pages"
	"waybill/adapters/portal"
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
	p := &Console{}
	customer := portal.New(portal.UseCases{}, portal.Options{BaseURL: "http://localhost",
		Log: slog.New(slog.DiscardHandler)}).Mounted(BusinessAt)
	customer.Routes = append(customer.Routes, p.businessRoutes()...)
	p.Site = pages.Described(pages.Options{Site: domain.Console, People: staff, Mount: customer})
	for _, r := range append(p.Site.Routes(), p.routes()...) {
		route := Route{Method: r.Method, Path: r.Path}
		if r.Act != nil {
			route.Act = r.Act(&pages.Call{Context: &gin.Context{}})
		}
		all = append(all, route)
	}
	return all
}

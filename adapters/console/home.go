package console

import (
	"net/http"

	"waybill/adapters/pages"
)

// homeView is the start page.
type homeView struct {
	Notice *pages.Notice
	Name   string
	Places []placeView
}

type placeView struct{ Href, Text, What string }

func (p *Console) home(c *call) error {
	v := homeView{Notice: c.Told(), Name: c.Principal.Person.Name}
	for _, e := range menu {
		if e.what != "" && c.May(e.act) {
			v.Places = append(v.Places, placeView{c.At(e.Href), e.Text, e.what})
		}
	}
	return p.Show(c, http.StatusOK, "home", "Home", v)
}

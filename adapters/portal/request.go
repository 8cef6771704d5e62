package portal

import (
	"errors"
	"net/http"

	"waybill/adapters/pages"
	"waybill/domain"
)

func (p *Portal) showRequest(c *call) error {
	id, err := domain.ParseID(domain.PrefixRequest, c.Param("request"))
	if err != nil {
		return err
	}
	r, err := p.Requests.Get(c.Ctx(), c.Business(), id)
	if err != nil {
		return p.logFailed(c, err)
	}
	v := p.API().ViewRequest(&r)
	v.List = "/requests"
	if r.Failed() {
		v.Alike = pages.RequestsAsked{Values: map[string][]string{"route": {r.Route}, "code": {r.Code}, "failed": {"true"}}}.With("", "")
	}
	if r.DeliveryID != "" {
		v.DeliveryHref, v.DeliveryRequests = "/deliveries/"+v.DeliveryID, "/requests?delivery="+v.DeliveryID
	}
	if err := p.whose(c, &r, &v); err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "request", "A request", v)
}

// whose adds the application and the key.
func (p *Portal) whose(c *call, r *domain.RequestRecord, v *pages.RequestView) error {
	if r.ApplicationID == "" {
		return nil
	}
	app, err := p.Tenants.ApplicationOf(c.Ctx(), c.Business(), r.ApplicationID)
	if err != nil {
		return err
	}
	v.Application, v.AppHref = app.Name, "/apps/"+string(app.ID)
	if r.KeyID == "" {
		return nil
	}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} { // a key may be used on the wrong host
		key, err := p.Tenants.KeyOf(c.Ctx(), c.Business(), app.ID, e, r.KeyID)
		if errors.Is(err, domain.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		v.KeyHref, v.KeyName, v.KeyEnds = v.AppHref+"/"+string(e)+"/keys", key.Name, key.LastFour
	}
	return nil
}

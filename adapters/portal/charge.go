package portal

import (
	"context"

	"waybill/domain"
)

// charge counts an act against the business's API rate limit, so manual work has no higher limit
// than the API. It returns the 429 error if the limit is used up.
func (p *Portal) charge(c *call, e domain.Environment) error {
	b, err := p.Tenants.Business(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	return p.Admission.AdmitPerson(c.Ctx(), b, e)
}

// charged performs an act if the rate limit allows it.
func (p *Portal) charged(c *call, e domain.Environment, act func(context.Context) error) error {
	if err := p.charge(c, e); err != nil {
		c.RetryAfter(err)
		return err
	}
	return act(c.Ctx())
}

// chargedAtEndpoint calls charged for the endpoint in the address.
func (p *Portal) chargedAtEndpoint(c *call, act func(ctx context.Context, endpoint domain.ID) error) error {
	shown, err := p.Endpoints.Get(c.Ctx(), c.Business(), domain.ID(c.Param("endpoint")))
	if err != nil {
		return err
	}
	return p.charged(c, shown.Tenant.Environment, func(ctx context.Context) error { return act(ctx, shown.ID) })
}

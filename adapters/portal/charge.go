package portal

import (
	"context"

	"waybill/domain"
)

// charge counts an act that programs do as well against the allowance that they have with
// their business: work by hand has no higher limit than the API. The error is the 429.
func (p *Portal) charge(c *call, e domain.Environment) error {
	b, err := p.Tenants.Business(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	return p.Admission.AdmitPerson(c.Ctx(), b, e)
}

// charged does an act where the allowance has room for it.
func (p *Portal) charged(c *call, e domain.Environment, act func(context.Context) error) error {
	if err := p.charge(c, e); err != nil {
		c.RetryAfter(err)
		return err
	}
	return act(c.Ctx())
}

// chargedAtEndpoint is charged, for the endpoint that the address names.
func (p *Portal) chargedAtEndpoint(c *call, act func(ctx context.Context, endpoint domain.ID) error) error {
	shown, err := p.Endpoints.Get(c.Ctx(), c.Business(), domain.ID(c.Param("endpoint")))
	if err != nil {
		return err
	}
	return p.charged(c, shown.Tenant.Environment, func(ctx context.Context) error { return act(ctx, shown.ID) })
}

package portal

import (
	"context"
	"net/http"

	"waybill/adapters/pages"
	"waybill/application/webhooks"
	"waybill/domain"
)

// recovery returns the data of a recovery of the endpoint in the address.
func (p *Portal) recovery(c *call) (pages.Recovery, error) {
	page, shown, err := p.oneEndpoint(c)
	return pages.Recovery{Endpoints: p.Endpoints, Endpoint: shown.WebhookEndpoint, Href: page.Endpoint.Href, List: "/webhooks",
		May: page.MayResend, Now: p.options.Clock.Now()}, err
}

func (p *Portal) askRecover(c *call) error {
	r, err := p.recovery(c)
	if err != nil {
		return err
	}
	return p.RecoverPage(c, r, http.StatusOK, c.Told())
}

// recoverWebhooks resends as many webhooks as the form showed, or nothing.
func (p *Portal) recoverWebhooks(c *call) error {
	r, err := p.recovery(c)
	if err != nil {
		return err
	}
	span, count, answered, err := p.RecoverAsked(c, r)
	if answered {
		return err
	}
	var queued webhooks.Recovered
	if err == nil {
		err = p.charged(c, r.Endpoint.Tenant.Environment, func(ctx context.Context) error {
			queued, err = p.Endpoints.Recover(ctx, c.Actor(), r.Endpoint.ID, span, count)
			return err
		})
	}
	if domain.HasCode(err, webhooks.CodeCountChanged) {
		return p.RecoverPage(c, r, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "The number has changed",
			Lines: []string{pages.MessageOf(err)}})
	}
	if n := hookRefusal(err); n != nil {
		n.Title = "Nothing was sent"
		return p.RecoverPage(c, r, pages.StatusOf(err), n)
	}
	if err != nil {
		return err
	}
	p.Flash(c, "webhooks-recovered", queued.Queued)
	return c.Lead("/webhooks/" + string(r.Endpoint.ID) + "/recover?done=webhooks-recovered")
}

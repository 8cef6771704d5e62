package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"waybill/adapters/web"
	"waybill/adapters/web/views"
	"waybill/application/access"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/domain"
)

func (a *API) createDelivery(c *call) (reply, error) {
	return replyOf(a.Deliveries.Create(c.Request.Context(), c.idempotencyRequest(),
		func() (deliveries.Order, error) { return a.readOrder(c) },
		func(d *domain.Delivery) domain.Answer {
			return answer(http.StatusCreated, a.BaseURL+"/deliveries/"+string(d.ID), "Delivery booked.", a.view(d))
		}))
}

func (a *API) createDeliveries(c *call) (reply, error) {
	logged := false // log one failure only: a hundred items fail for the same reason
	return replyOf(a.Bulk.Create(c.Request.Context(), c.idempotencyRequest(),
		func(context.Context) (context.Context, func(), error) { return a.awaitBulkTurn(c) },
		func() ([]bulk.Item, error) { return a.readBulk(c) },
		bulk.Rendering{
			Entry: func(index int, created *domain.Delivery, refusal *domain.Error) []byte {
				if refusal != nil && refusal.Kind == domain.KindUnavailable && !logged {
					a.logUnavailable(c, refusal.Code, refusal)
					logged = true
				}
				return a.bulkEntry(index, created, refusal)
			},
			Whole: bulkAnswer,
		}))
}

// awaitBulkTurn waits until a bulk request may start its work. The wait does not count against
// the time limit of the work. It ends early when the client disconnects or the server shuts
// down.
func (a *API) awaitBulkTurn(c *call) (work context.Context, done func(), err error) {
	left := changeBudget
	if deadline, limited := c.Request.Context().Deadline(); limited {
		left = time.Until(deadline)
	}
	ctx, stop := a.waitContext(c, access.BulkPatience)
	defer stop()
	done, err = a.Admission.AwaitBulkTurn(ctx, &c.grant)
	c.setDeadline(left)
	if err == nil {
		return c.Request.Context(), done, nil
	}
	showAllowance(c, c.grant.Allowance) // the refused request was given back
	select {
	case <-a.closing:
		return nil, nil, notStarted()
	default:
		return nil, nil, err
	}
}

func (a *API) bulkEntry(index int, created *domain.Delivery, refusal *domain.Error) []byte {
	if refusal == nil {
		return web.Render(views.NewBulkSuccess(index, a.view(created)))
	}
	return web.Render(views.NewBulkFailure(index, addRetryAdvice(withRemedies(refusal), bulkItem)))
}

// bulkAnswer builds the response of a bulk create: 201 when all items were created, otherwise
// 207, even when none were.
func bulkAnswer(created, failed int, entries [][]byte) domain.Answer {
	status, message := http.StatusCreated, fmt.Sprintf("%d deliveries booked.", created)
	switch {
	case failed > 0:
		status = http.StatusMultiStatus
		message = fmt.Sprintf("%d of %d deliveries booked. data.results says which failed and why; send those again under a new Idempotency-Key.",
			created, created+failed)
	case created == 1:
		message = "1 delivery booked."
	}
	results := web.Each(entries, func(recorded []byte) jsontext.Value { return recorded })
	return domain.Answer{Status: status, Body: web.Success(status, message, views.Bulk{Created: created, Failed: failed, Results: results})}
}

func (a *API) listDeliveries(c *call) (reply, error) {
	filter := domain.DeliveryFilter{
		Status:        domain.Status(c.query.OneOf("status", web.Texts(domain.Statuses())...)),
		ExternalID:    c.query.Text("external_id", domain.ExternalIDRule.Most),
		CreatedAfter:  c.query.Time("created_after"),
		CreatedBefore: c.query.Time("created_before"),
		NewestFirst:   c.query.OneOf("order", "asc", "desc") == "desc",
	}
	p, err := a.pageRequest(c, domain.PrefixDelivery)
	if err != nil {
		return reply{}, err
	}
	found, err := a.Deliveries.List(c.Request.Context(), c.tenant, filter, p)
	if err != nil {
		return reply{}, err
	}
	found, m := page(a, c, found, p.Limit, func(d *domain.Delivery) domain.Position {
		return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID}
	})
	return list("Deliveries listed.", web.Each(found, a.view), m), nil
}

func (a *API) getDelivery(c *call) (reply, error) {
	found, err := a.Deliveries.Get(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	r := ok("Delivery found.", a.view(found))
	r.tagged = true
	return r, nil
}

func (a *API) deliveryExists(ctx context.Context, t domain.Tenant, id domain.ID) error {
	_, err := a.Deliveries.Get(ctx, t, id)
	return err
}

func (a *API) listEvents(c *call) (reply, error) {
	events, err := a.Deliveries.Timeline(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	events, m, err := wholeOrPage(a, c, domain.PrefixEvent, events, func(e domain.Event) domain.Position {
		return domain.Position{CreatedAt: e.OccurredAt, ID: e.ID}
	})
	if err != nil {
		return reply{}, err
	}
	r := list("Events listed.", web.Each(events, views.NewEvent), m)
	r.tagged = true
	return r, nil
}

func (a *API) cancelDelivery(c *call) (reply, error) {
	return replyOf(a.Deliveries.Cancel(c.Request.Context(), c.idempotencyRequest(), c.id, a.delivered("Delivery cancelled.")))
}

func (a *API) view(d *domain.Delivery) views.Delivery {
	return views.NewDelivery(d, a.TrackingBaseURL)
}

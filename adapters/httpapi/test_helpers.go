package httpapi

import (
	"net/http"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/domain"
)

var transitionShape = strictjson.Object{"status": strictjson.Leaf}

// transitionTargets lists the statuses that a sandbox delivery can be moved to.
var transitionTargets = web.Texts(domain.Statuses()[1:])

func (a *API) transitionDelivery(c *call) (reply, error) {
	return replyOf(a.Sandbox.Transition(c.Request.Context(), c.idempotencyRequest(), c.id,
		func() (domain.Status, error) {
			r := strictjson.NewReader(c.body)
			to, _ := r.Enum("status", strictjson.Required, transitionTargets)
			return domain.Status(to), web.Problems(r)
		},
		func(d *domain.Delivery) domain.Answer {
			return a.delivered("Delivery moved to " + string(d.Status()) + ".")(d)
		}))
}

func (a *API) startSimulation(c *call) (reply, error) {
	return replyOf(a.Sandbox.Start(c.Request.Context(), c.idempotencyRequest(), c.id,
		func() (domain.Plan, error) {
			r := strictjson.NewReader(c.body)
			plan := readPlan(r)
			return *plan, web.Problems(r)
		},
		func(d *domain.Delivery) domain.Answer {
			if d.Simulating() {
				return a.delivered("Simulation started.")(d)
			}
			return a.delivered("Nothing moves the delivery by itself.")(d)
		}))
}

func (a *API) stopSimulation(c *call) (reply, error) {
	return replyOf(a.Sandbox.Stop(c.Request.Context(), c.idempotencyRequest(), c.id, a.delivered("Nothing moves the delivery by itself any more.")))
}

// delivered responds 200 with the current state of a delivery.
func (a *API) delivered(message string) func(*domain.Delivery) domain.Answer {
	return func(d *domain.Delivery) domain.Answer { return answer(http.StatusOK, "", message, a.view(d)) }
}

package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"waybill/adapters/pages"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
)

// deliveryView holds a delivery with its whole history.
type deliveryView struct {
	Notice                             *pages.Notice
	Row                                deliveryRow
	Delivery                           *domain.Delivery
	Business, Application              string
	Recipient, Phone, Contact, Address string
	Fee, Distance, Payment             string
	Why                                string // why it failed or was cancelled; empty: no reason given
	Steps                              []pages.Step
	NoRequests                         bool // the request log does not answer
	Simulating                         *pages.Simulated
	Move                               *moveView // nil: the person may not move it
	Over                               bool      // no status can follow
	Calls                              bool      // the reader may see phone numbers and call them
}

// moveView holds a form for each next status.
type moveView struct {
	Sequence int
	Steps    []moveStep
}

// moveStep is a next status. One that ends a delivery or needs a reason asks first.
type moveStep struct {
	Status, Button string
	Ask            string // what follows and for whom; empty: the button moves at once
	Reason         *pages.Field
	Danger         bool
	Open           bool // the form was refused, so it is shown
}

func (p *Console) showDelivery(c *call) error { return p.deliveryPage(c, http.StatusOK, c.Told()) }

func (p *Console) deliveryPage(c *call, status int, n *pages.Notice) error {
	story, err := p.Operations.Story(c.Ctx(), domain.ID(c.Param("delivery")))
	if err != nil {
		return err
	}
	requests, answered, err := p.requestsOf(c, story.Delivery)
	if err != nil {
		return err
	}
	d := story.Delivery
	v := deliveryView{
		Notice: n, Row: rowOf(d, map[domain.ID]string{d.Tenant.BusinessID: story.Business.Name}), Delivery: d,
		Business: story.Business.Name, Application: story.Application.Name, Steps: timeline(c, story, requests), NoRequests: !answered,
		Fee: pages.FeeOf(d.Quote), Distance: pages.DistanceOf(d.Quote.Distance), Payment: pages.PaymentOf(d.Payment),
		Recipient: d.Recipient.Name, Phone: string(d.Recipient.PhoneNumber), Contact: string(d.Pickup.Contact), Address: d.Dropoff.Address,
		Over: len(story.Next) == 0, Calls: namesRecipients(c),
	}
	if last := len(story.Timeline) - 1; last >= 0 {
		v.Why = pages.Spaced(string(story.Timeline[last].Reason))
	}
	if !namesRecipients(c) {
		v.Recipient, v.Phone, v.Contact = maskedName(v.Recipient), maskedPhone(v.Phone), maskedPhone(v.Contact)
		v.Delivery = withoutNotes(d)
	}
	v.Simulating = pages.NewSimulated(d)
	if c.May(domain.ActMoveDeliveries) && len(story.Next) > 0 {
		v.Move = moveForm(c, d, story.Next, status)
	}
	return p.Show(c, status, "delivery", "Delivery "+string(d.Reference), v)
}

// namesRecipients reports whether the reader may see names and phone numbers of recipients.
// Dispatchers and support may.
func namesRecipients(c *call) bool {
	return c.May(domain.ActMoveDeliveries) || c.May(domain.ActViewAsCustomer)
}

// withoutNotes returns a delivery without the texts in which customers write phone numbers.
func withoutNotes(d *domain.Delivery) *domain.Delivery {
	b := d.Booking
	b.Instructions, b.Dropoff.DeliveryNotes = "", ""
	return domain.RestoreDelivery(b, d.Lifecycle())
}

// maskedName returns the first letter of a name. maskedPhone returns the country code and the last
// digits of a number. That is enough to tell two of them apart.
func maskedName(name string) string {
	for _, r := range name {
		return string(r) + "…"
	}
	return ""
}

func maskedPhone(number string) string {
	if len(number) < 8 {
		return ""
	}
	return number[:4] + " … " + number[len(number)-2:]
}

// moveForm returns a form for each next status. A refused one is open, unless the delivery was moved
// meanwhile.
func moveForm(c *call, d *domain.Delivery, next []domain.Status, status int) *moveView {
	m := &moveView{Sequence: d.Lifecycle().Sequence}
	for _, to := range next {
		step := moveStep{Status: string(to), Button: "Mark as " + spaced(string(to)), Ask: consequences[to],
			Danger: to == domain.Cancelled || to == domain.Failed}
		if to == domain.Cancelled {
			step.Button = "Cancel delivery"
		}
		if to.TakesReason() {
			step.Reason = &pages.Field{Name: "reason_code", Label: "Reason", Options: reasonOptions(), Hint: "The customer sees it."}
			step.Reason.Options[0].Text = "Choose a reason"
		}
		if status == http.StatusUnprocessableEntity && c.Form.Get("status") == string(to) {
			step.Open = true
			if step.Reason != nil {
				*step.Reason = c.Field(*step.Reason)
			}
		}
		if step.Reason != nil {
			step.Reason.ID = "reason-" + string(to)
		}
		m.Steps = append(m.Steps, step)
	}
	return m
}

// consequences says what follows from a move that ends a delivery, or an attempt of it.
var consequences = map[domain.Status]string{
	domain.Delivered: "The recipient has the goods. The delivery ends, the customer is told, and this cannot be undone.",
	domain.Failed:    "This attempt ends without delivery, and the customer is told why. You can assign it again later.",
	domain.Cancelled: "The delivery will not happen. The customer is told why, and this cannot be undone.",
}

func (p *Console) moveDelivery(c *call) error {
	m := deliveries.Move{DeliveryID: domain.ID(c.Param("delivery")), To: domain.Status(c.Form.Get("status")),
		Reason: domain.ReasonCode(c.Form.Get("reason_code"))}
	var fields []domain.FieldError
	if !slices.Contains(domain.Statuses()[1:], m.To) {
		fields = append(fields, domain.FieldError{Field: "status", Code: domain.FieldNotAllowed, Message: "choose one of the buttons"})
	}
	if m.Reason != "" && !slices.Contains(domain.ReasonCodes(), m.Reason) {
		fields = append(fields, domain.FieldError{Field: "reason_code", Code: domain.FieldNotAllowed, Message: "choose a reason from the list"})
	}
	var err error
	if text := c.Form.Get("sequence"); text != "" {
		if m.Sequence, err = strconv.Atoi(text); err != nil || m.Sequence < 1 {
			return &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeValidation,
				Message: "Open the page again and repeat the move."}
		}
	}
	if err = domain.Invalid(fields...); len(fields) == 0 {
		_, err = p.Operations.Move(c.Ctx(), c.Actor(), m)
	}
	var e *domain.Error
	switch {
	case err == nil:
		p.Board.Moved()
		return c.Lead(deliveriesAt + "/" + string(m.DeliveryID) + "?done=delivery-moved")
	case c.Wrong(err):
		return p.deliveryPage(c, http.StatusUnprocessableEntity, nil)
	case errors.As(err, &e) && e.Kind == domain.KindConflict:
		return p.deliveryPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "Nothing was moved", Lines: []string{e.Message}})
	}
	return err
}

const (
	// logTimeout limits how long a page with other content waits for the request log. requestsTold
	// limits how many calls about a delivery it shows.
	logTimeout   = time.Second
	requestsTold = 50
)

// requestsOf returns the last calls about a delivery. If the log does not answer in time, answered
// is false and the page shows the rest.
func (p *Console) requestsOf(c *call, d *domain.Delivery) (requests []domain.RequestRecord, answered bool, err error) {
	ctx, cancel := context.WithTimeout(c.Ctx(), logTimeout)
	defer cancel()
	requests, err = p.Requests.List(ctx, d.Tenant.BusinessID,
		domain.RequestFilter{DeliveryID: d.ID, CreatedAfter: new(d.CreatedAt.Add(-time.Minute))}, domain.PageRequest{Limit: requestsTold})
	if ports.StorageUnavailable(err) {
		return nil, false, nil
	}
	return requests[:min(len(requests), requestsTold)], true, err
}

// timeline returns the history of a delivery, with the person or program behind each event.
func timeline(c *call, s deliveries.Story, requests []domain.RequestRecord) []pages.Step {
	left := slices.Clone(s.Changes)
	slices.Reverse(left) // oldest first, like events
	return pages.Timeline{
		Events: s.Timeline, Webhooks: s.Webhooks, Requests: requests,
		By: func(e domain.Event) string {
			for i, change := range left {
				if reached(change) == e.Status && change.At.Sub(e.OccurredAt).Abs() < time.Minute {
					left = slices.Delete(left, i, i+1)
					return madeBy(change, e.Reason)
				}
			}
			return ""
		},
		OfRequest: func(r domain.RequestRecord) string { return c.At(requestsAt + "/" + string(r.ID)) },
		OfWebhook: func(w deliveries.SentWebhook) string {
			return c.At("/webhooks/"+string(w.EndpointID)) + "?sent=" + string(w.ID) + "#attempts"
		},
	}.Steps()
}

// reached returns the status to which a change moved a delivery; empty: none.
func reached(change domain.AuditEntry) domain.Status {
	switch change.Action {
	case domain.ActionDeliveryBook:
		return domain.Booked
	case domain.ActionDeliveryCancel:
		return domain.Cancelled
	}
	return domain.Status(change.Details["to"])
}

// madeBy says who made a change. It adds the reason if the event has another one or none.
func madeBy(change domain.AuditEntry, told domain.ReasonCode) string {
	by := "by " + change.Actor.Name
	switch {
	case change.Actor.Kind() == domain.ActorPerson:
		by += " of the customer"
	case change.Actor.IsPerson():
		by += " of the staff"
	case change.Actor.Kind() == domain.ActorOperator:
		by += ", a program of the delivery company"
	}
	if why := change.Details["reason_code"]; why != string(told) && why != "" {
		by += ", reason given: " + pages.Spaced(why)
	}
	return by
}

package opsapi

import (
	"fmt"
	"net/http"
	"time"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/application/bulk"
	"waybill/domain"
)

var advanceManyShape = strictjson.Object{"status": strictjson.Leaf, "reason_code": strictjson.Leaf, "items": strictjson.ArrayOf(
	strictjson.Object{"delivery_id": strictjson.Leaf, "reference": strictjson.Leaf, "status": strictjson.Leaf,
		"reason_code": strictjson.Leaf})}

// moveWait is how long the request itself moves deliveries. A background task moves the rest,
// and the same request sent again gets the response.
const moveWait = 5 * time.Second

type runView struct {
	ID         string         `json:"id"`
	CreatedAt  string         `json:"created_at"`
	FinishedAt string         `json:"finished_at"`
	Counts     map[string]int `json:"counts"`
	Results    []moveView     `json:"results"`
}

type moveView struct {
	Index         int            `json:"index"`
	Sent          string         `json:"sent"`
	Outcome       string         `json:"outcome"`
	DeliveryID    *string        `json:"delivery_id"` // null, with the two below: there is no such delivery
	Reference     *string        `json:"reference"`
	CurrentStatus *string        `json:"current_status"` // null: of a duplicate too
	Error         *moveErrorView `json:"error"`          // null: it was not refused
}

type moveErrorView struct {
	Code            string   `json:"code"`
	Message         string   `json:"message"`
	RequestedStatus string   `json:"requested_status"`
	AllowedStatuses []string `json:"allowed_statuses"`
}

func showRun(r domain.MoveRun) runView {
	v := runView{ID: string(r.ID), CreatedAt: domain.FormatTime(r.CreatedAt), FinishedAt: domain.FormatTime(*r.FinishedAt),
		Counts: map[string]int{}}
	for _, o := range domain.MoveOutcomes() {
		v.Counts[string(o)] = r.Count(o)
	}
	v.Results = web.Each(r.Items, func(i domain.MoveItem) moveView {
		m := moveView{Index: i.Index, Sent: i.Sent, Outcome: string(i.Outcome), DeliveryID: optional(string(i.DeliveryID)),
			Reference: optional(string(i.Reference)), CurrentStatus: optional(string(i.Current))}
		if i.Outcome == domain.MoveRefused {
			m.Error = &moveErrorView{Code: i.Code, Message: i.Message, RequestedStatus: string(i.To), AllowedStatuses: web.Texts(i.Allowed)}
		}
		return m
	})
	return v
}

// advanceDeliveries responds 200 when every delivery has the requested status, and 207
// otherwise.
func (m *Management) advanceDeliveries(c *call) (reply, error) {
	key, err := web.IdempotencyKey(c.Request.Header, true)
	if err != nil {
		return reply{}, err
	}
	orders, err := readMoves(strictjson.NewReader(c.body))
	if err != nil {
		return reply{}, err
	}
	run, replayed, err := m.Moves.Advance(c.Request.Context(), bulk.MoveOrders{Key: key, By: c.by, Items: orders, Patience: moveWait})
	if err != nil {
		return reply{}, err
	}
	there := run.Count(domain.MoveAdvanced) + run.Count(domain.MoveAlreadyThere)
	status, message := http.StatusOK, fmt.Sprintf("%d of %d deliveries have the status that was asked for.", there, len(run.Items))
	if there < len(run.Items) {
		status, message = http.StatusMultiStatus, message+" data.results tells of each of the others why not."
	}
	r := answer(status, message, showRun(run))
	r.replayed = replayed
	return r, nil
}

// readMoves uses status and reason_code of the whole request for an item without its own. That
// reason goes only to items whose status may have one.
func readMoves(r *strictjson.Reader) ([]bulk.MoveOrder, error) {
	statuses, reasons := web.Texts(domain.Statuses()[1:]), web.Texts(domain.PlatformReasonCodes())
	wholeStatus, _ := r.Enum("status", strictjson.Optional, statuses)
	wholeReason, _ := r.Enum("reason_code", strictjson.Optional, reasons)
	items := r.Array("items", strictjson.Required, strictjson.Count(1, domain.MaxMoves))
	var orders []bulk.MoveOrder
	for i := range items.Len() {
		item := items.Object(i)
		id, _ := item.Text("delivery_id", strictjson.Optional, strictjson.Length(1, domain.MaxTypedID))
		reference, _ := item.Text("reference", strictjson.Optional, strictjson.Length(1, domain.MaxTypedReference))
		status, _ := item.Enum("status", strictjson.Optional, statuses)
		reason, _ := item.Enum("reason_code", strictjson.Optional, reasons)
		switch {
		case item.Has("delivery_id") && item.Has("reference"):
			item.Reject("reference", domain.FieldNotAllowed, "goes without delivery_id; send one of the two")
		case !item.Has("delivery_id") && !item.Has("reference"):
			item.Reject("delivery_id", domain.FieldRequired, "is required, or reference")
		}
		if !item.Has("status") {
			if status = wholeStatus; !r.Has("status") {
				item.Reject("status", domain.FieldRequired, "is required where the request has no status for all")
			}
		}
		if !item.Has("reason_code") && (domain.Status(status).TakesReason() || status == wholeStatus) {
			reason = wholeReason
		}
		orders = append(orders, bulk.MoveOrder{Name: id + reference, To: domain.Status(status), Reason: domain.ReasonCode(reason)})
	}
	return orders, web.Problems(r)
}

package opsapi

import (
	"encoding/hex"
	"strconv"
	"strings"

	"waybill/adapters/web"
	"waybill/domain"
)

// requestView is a request to the public API.
type requestView struct {
	ID                   string   `json:"id"`
	ClientRequestID      *string  `json:"client_request_id"`
	At                   string   `json:"at"`
	Environment          string   `json:"environment"`
	BusinessID           *string  `json:"business_id"` // null, with the two below: the caller is unknown
	ApplicationID        *string  `json:"application_id"`
	KeyID                *string  `json:"key_id"`
	Route                string   `json:"route"`
	DeliveryID           *string  `json:"delivery_id"`
	Status               int      `json:"status"`
	Code                 *string  `json:"code"` // null: it succeeded
	Fields               []string `json:"fields"`
	TookMS               float64  `json:"took_ms"`
	Replayed             bool     `json:"replayed"`
	IdempotencyKeyDigest *string  `json:"idempotency_key_digest"`
	ClientNetwork        string   `json:"client_network"`
	UserAgent            *string  `json:"user_agent"`
	Weight               int      `json:"weight"`
}

func showRequest(r domain.RequestRecord) requestView {
	v := requestView{
		ID: string(r.ID), ClientRequestID: optional(r.ClientID), At: domain.FormatTime(r.ID.MadeAt()), Environment: string(r.Environment),
		BusinessID: optional(string(r.BusinessID)), ApplicationID: optional(string(r.ApplicationID)), KeyID: optional(string(r.KeyID)),
		Route: r.Route, DeliveryID: optional(string(r.DeliveryID)), Status: r.Status, Code: optional(r.Code), Fields: []string{},
		TookMS: float64(r.Took.Microseconds()) / 1000, Replayed: r.Replayed, IdempotencyKeyDigest: optional(hex.EncodeToString(r.KeyDigest)),
		ClientNetwork: r.Network, UserAgent: optional(r.Agent), Weight: r.Weight,
	}
	for _, field := range r.Fields {
		name, _, _ := strings.Cut(field, ":")
		v.Fields = append(v.Fields, name)
	}
	return v
}

// Limits of the parameters of listRequests.
const (
	maxErrorCode = 64
	maxRoute     = 200
	leastStatus  = 100
	mostStatus   = 599
)

func (m *Management) listRequests(c *call) (reply, error) {
	q := c.query
	filter := domain.RequestFilter{
		BusinessID:    q.ID("business", domain.PrefixBusiness),
		ApplicationID: q.ID("application", domain.PrefixApplication),
		KeyID:         q.ID("key", domain.PrefixAPIKey),
		DeliveryID:    q.ID("delivery", domain.PrefixDelivery),
		Environment:   domain.Environment(q.OneOf("environment", string(domain.Live), string(domain.Sandbox))),
		Code:          q.Text("code", maxErrorCode),
		Route:         q.Text("route", maxRoute),
		CreatedAfter:  q.Time("created_after"),
		CreatedBefore: q.Time("created_before"),
	}
	if sent := q.Text("status", len("599")); sent != "" {
		n, err := strconv.Atoi(sent)
		if err != nil || n < leastStatus || n > mostStatus {
			q.Reject("status", domain.FieldOutOfRange, "must be a status of HTTP, from 100 to 599"+web.ItIs(sent))
		}
		filter.Status = n
	}
	if sent := q.OneOf("failed", "true", "false"); sent != "" {
		filter.Failed = new(sent == "true")
	}
	filter.ClientID = q.Text("request_id", domain.MaxClientRequestID)
	if id, err := domain.ParseID(domain.PrefixRequest, filter.ClientID); err == nil {
		filter.ID, filter.ClientID = id, ""
	}
	p, err := m.page(c, domain.PrefixRequest)
	if err != nil {
		return reply{}, err
	}
	found, err := m.Requests.ListAll(c.Request.Context(), filter, p)
	if err != nil {
		return reply{}, err
	}
	found, shown := cut(m, c, found, p.Limit, func(r domain.RequestRecord) domain.Position {
		return domain.Position{CreatedAt: r.ID.MadeAt(), ID: r.ID}
	})
	return list("Requests listed.", web.Each(found, showRequest), shown), nil
}

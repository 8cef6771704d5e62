package httpapi

import (
	"crypto/sha256"
	"strings"
	"time"

	"waybill/domain"
)

// told is the outcome of a call.
type told struct {
	failure  *domain.Error // nil: it succeeded
	location string        // of what was created; empty: nothing
	replayed bool
}

// keyDigestLength is enough to tell one Idempotency-Key from the others of a day.
const keyDigestLength = 8

// maxFieldName bounds the name of a field, which a caller may have made up.
const maxFieldName = 120

// record puts a call into the request log. Like a line of log it has an allow-list:
// no body, no name, no phone number, no address, and no key, wherever a caller may
// have put it.
func (a *API) record(c *call, route string, status int, took time.Duration) {
	if a.Recorder == nil {
		return
	}
	of := c.grant.Caller()
	r := domain.RequestRecord{
		ID: domain.ID(c.requestID.Drawn), ClientID: withoutSecrets(c.requestID.Theirs), Environment: a.Environment,
		BusinessID: of.Tenant().BusinessID, ApplicationID: of.Tenant().ApplicationID, KeyID: of.Key.ID,
		Route: knownMethod(c.Request.Method) + " " + described(route), DeliveryID: c.delivery(), Status: status, Took: took,
		Replayed: c.told.replayed,
		Network:  domain.ClientNetwork(c.clientIP()), Agent: agentOf(c.Request.UserAgent()),
	}
	if e := c.told.failure; e != nil {
		r.Code = e.Code
		for _, f := range e.Fields[:min(len(e.Fields), domain.MaxRequestFields)] {
			if name := withoutSecrets(strings.ReplaceAll(f.Field, ",", "_")); name != "" {
				r.Fields = append(r.Fields, name[:min(len(name), maxFieldName)])
			}
		}
	}
	if c.key != "" {
		digest := sha256.Sum256([]byte(c.key))
		r.KeyDigest = digest[:keyDigestLength]
	}
	a.Recorder.Note(r)
}

// described is a route as the description of the API writes it: {id} for gin's :id.
func described(route string) string {
	if !strings.Contains(route, ":") {
		return route
	}
	parts := strings.Split(route, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// delivery is the one that a call is about: it is in the path, or was booked.
func (c *call) delivery() domain.ID {
	id, err := domain.ParseID(domain.PrefixDelivery, string(c.id))
	if err != nil {
		id, _ = domain.ParseID(domain.PrefixDelivery, c.told.location[strings.LastIndexByte(c.told.location, '/')+1:])
	}
	return id
}

// agentOf is the beginning of the client's User-Agent, as much as is kept.
func agentOf(header string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, header[:min(len(header), domain.MaxRequestAgent)])
	return withoutSecrets(plain)
}

// withoutSecrets is empty for a text that holds a secret of ours, or a part of one.
func withoutSecrets(text string) string {
	if domain.HoldsSecret(text) {
		return ""
	}
	return text
}

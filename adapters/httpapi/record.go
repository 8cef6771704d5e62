package httpapi

import (
	"crypto/sha256"
	"strings"
	"time"

	"waybill/domain"
)

// outcome is the result of a request, for the request log.
type outcome struct {
	failure  *domain.Error // nil: it succeeded
	location string        // of the created resource; empty: nothing was created
	replayed bool
}

// keyDigestLength is long enough to distinguish the Idempotency-Keys of a day.
const keyDigestLength = 8

// maxFieldName limits the length of a field name, which a client may have invented.
const maxFieldName = 120

// record writes a request to the request log. Like the log line it has an allow-list: no body,
// no name, no phone number, no address, and no key, wherever a client may have put it.
func (a *API) record(c *call, route string, status int, took time.Duration) {
	if a.Recorder == nil {
		return
	}
	of := c.grant.Caller()
	r := domain.RequestRecord{
		ID: domain.ID(c.requestID.Drawn), ClientID: withoutSecrets(c.requestID.Theirs), Environment: a.Environment,
		BusinessID: of.Tenant().BusinessID, ApplicationID: of.Tenant().ApplicationID, KeyID: of.Key.ID,
		Route: knownMethod(c.Request.Method) + " " + described(route), DeliveryID: c.delivery(), Status: status, Took: took,
		Replayed: c.outcome.replayed,
		Network:  domain.ClientNetwork(c.clientIP()), Agent: agentOf(c.Request.UserAgent()),
	}
	if e := c.outcome.failure; e != nil {
		r.Code = e.Code
		for _, f := range e.Fields[:min(len(e.Fields), domain.MaxRequestFields)] {
			r.Fields = appendField(r.Fields, f.Field, f.Code)
		}
		if field, ok := e.Details["field"].(string); ok && e.Code == domain.CodeInvalidRequest {
			meant, _ := e.Details["suggestion"].(string)
			if meant != "" {
				meant = "meant:" + meant
			}
			r.Fields = appendField(r.Fields, field, meant)
		}
	}
	if c.key != "" {
		digest := sha256.Sum256([]byte(c.key))
		r.KeyDigest = digest[:keyDigestLength]
	}
	a.Recorder.Note(r)
}

// appendField adds a field that an error is about. Its name may be one that the client invented.
func appendField(fields []string, name, code string) []string {
	name = withoutSecrets(strings.NewReplacer(",", "_", ":", "_").Replace(name))
	if name == "" {
		return fields
	}
	name = name[:min(len(name), maxFieldName)]
	if code != "" {
		name += ":" + code
	}
	return append(fields, name)
}

// described returns a route as in the OpenAPI description: {id} for gin's :id.
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

// delivery returns the ID of the delivery in the path, or of the one that was booked.
func (c *call) delivery() domain.ID {
	id, err := domain.ParseID(domain.PrefixDelivery, string(c.id))
	if err != nil {
		id, _ = domain.ParseID(domain.PrefixDelivery, c.outcome.location[strings.LastIndexByte(c.outcome.location, '/')+1:])
	}
	return id
}

// agentOf returns the beginning of the client's User-Agent, as much as is stored.
func agentOf(header string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, header[:min(len(header), domain.MaxRequestAgent)])
	return withoutSecrets(plain)
}

// withoutSecrets returns "" for a text that contains one of our secrets or a part of one.
func withoutSecrets(text string) string {
	if domain.HoldsSecret(text) {
		return ""
	}
	return text
}

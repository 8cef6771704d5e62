package httpapi

import (
	"fmt"
	"maps"

	"waybill/adapters/web"
	"waybill/domain"
)

// remedies maps an error code to the API request that fixes it. The use cases report what
// happened and know no routes.
var remedies = map[string]string{
	domain.CodeExternalIDConflict:       "Read it with GET /deliveries/{id}, or send another external_id.",
	domain.CodeSimulationRunning:        "Stop it first: DELETE /test-helpers/deliveries/{id}/simulation.",
	domain.CodePickupLocationNotFound:   "GET /pickup-locations lists those there are.",
	domain.CodePickupLocationLimit:      "GET /pickup-locations?active=false lists those that are switched off; PATCH /pickup-locations/{id} changes one.",
	domain.CodePickupLocationInactive:   "Switch it on with PATCH /pickup-locations/{id} or send another one.",
	domain.CodePickupLocationIncomplete: "Complete it with PATCH /pickup-locations/{id}.",
	domain.CodeWebhookEndpointLimit:     "Each running waybill listen counts as one. Delete one, or end a waybill listen, first.",
}

// ofTheKey builds the messages of errors about the Idempotency-Key. Only this API knows that
// name.
var ofTheKey = map[string]func(*domain.Error) string{
	domain.CodeIdempotencyConflict: func(e *domain.Error) string {
		return fmt.Sprintf("This Idempotency-Key was used at %s for a different request. Use a new key for a new request.",
			e.Details["first_used_at"])
	},
	domain.CodeIdempotencyInProgress: func(*domain.Error) string {
		return "The first request with this Idempotency-Key has not finished. Wait, then send the identical request again."
	},
}

// withRemedies returns the error with the remedy of its code, and of the code of each item of a
// bulk.
func withRemedies(e *domain.Error) *domain.Error {
	if message, known := ofTheKey[e.Code]; known {
		changed := *e // copy: the error may be shared
		changed.Message = message(e)
		return &changed
	}
	items, ofBulk := e.Details["errors"].([]map[string]any)
	if remedies[e.Code] == "" && !ofBulk {
		return e
	}
	changed := *e // copy: the error may be shared
	changed.Message = withRemedy(e.Code, e.Message)
	if ofBulk {
		changed.Details = maps.Clone(e.Details)
		changed.Details["errors"] = web.Each(items, func(item map[string]any) map[string]any {
			item = maps.Clone(item)
			item["message"] = withRemedy(item["code"].(string), item["message"].(string))
			return item
		})
	}
	return &changed
}

func withRemedy(code, message string) string {
	if remedy := remedies[code]; remedy != "" {
		return message + " " + remedy
	}
	return message
}

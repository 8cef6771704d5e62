package pages

import (
	"strconv"
	"strings"
	"time"

	"waybill/domain"
)

// ActionTexts maps audit actions to the text that pages show.
var ActionTexts = map[domain.Action]string{
	domain.ActionBusinessCreate: "Business created", domain.ActionBusinessUpdate: "Business changed",
	domain.ActionBusinessDisable: "Account switched off", domain.ActionBusinessEnable: "Account switched on",
	domain.ActionViewBegin: "Portal seen as you see it: began", domain.ActionViewEnd: "Portal seen as you see it: ended",
	domain.ActionApplicationCreate: "Application created", domain.ActionApplicationRename: "Application renamed",
	domain.ActionApplicationDisable: "Application disabled", domain.ActionApplicationEnable: "Application enabled",
	domain.ActionKeyCreate: "Key created", domain.ActionKeyRotate: "Key rotated", domain.ActionKeyRevoke: "Key revoked",
	domain.ActionPickupCreate: "Pickup location created", domain.ActionPickupUpdate: "Pickup location changed",
	domain.ActionPickupImport:    "Pickup locations imported",
	domain.ActionDeliveryAdvance: "Delivery moved by the delivery company",
	domain.ActionDeliveryCancel:  "Delivery cancelled", domain.ActionDeliveryMove: "Sandbox delivery moved",
	domain.ActionDeliverySimulate: "Simulation started", domain.ActionDeliveryStop: "Simulation stopped",
	domain.ActionDeliveryBook:   "Sample delivery booked",
	domain.ActionWebhookResend:  "Webhooks sent again",
	domain.ActionEndpointCreate: "Webhook endpoint created", domain.ActionEndpointUpdate: "Webhook endpoint changed",
	domain.ActionEndpointRotate: "Webhook secret rotated", domain.ActionEndpointDelete: "Webhook endpoint deleted",
	domain.ActionEndpointTest: "Test event sent", domain.ActionEndpointRecover: "Webhooks recovered", domain.ActionInboxOpen: "Sandbox inbox opened",
	domain.ActionPersonInvite: "Person invited", domain.ActionPersonLink: "Sign-in link made",
	domain.ActionPersonAccept: "Invitation accepted",
	domain.ActionPersonRole:   "Role changed", domain.ActionPersonRemove: "Person removed", domain.ActionPersonSignIn: "Signed in",
	domain.ActionPersonRefused: "Attempts refused", domain.ActionPersonRename: "Own name changed",
	domain.ActionPersonPassword: "Password set", domain.ActionPersonEndSessions: "Sessions ended",
	domain.ActionPasskeyAdd: "Passkey added", domain.ActionPasskeyRename: "Passkey renamed", domain.ActionPasskeyRemove: "Passkey removed",
}

// auditDetails lists the details that pages show, in this order.
var auditDetails = []string{"name", "role", "before", "environment", "scopes", "successor", "method", "changed", "status", "from", "to",
	"scenario", "reason_code", "ended", "reason", "because", "until", "outcome", "count", "since"}

// constants lists the details whose values are API constants. Pages show them as words.
var constants = map[string]bool{"outcome": true, "from": true, "to": true, "status": true, "reason_code": true, "scenario": true}

// ActionText returns the text of an entry's action, or the action itself if it has no text.
func ActionText(e domain.AuditEntry) string {
	switch e.Details["enabled"] {
	case "true":
		return "Webhook endpoint resumed"
	case "false":
		return "Webhook endpoint paused"
	}
	if text := ActionTexts[e.Action]; text != "" {
		return text
	}
	return string(e.Action)
}

// AuditDetails returns the texts that pages show after an entry's action and record.
func AuditDetails(e domain.AuditEntry) (details []string) {
	if overlap, err := time.ParseDuration(e.Details["overlap"]); err == nil {
		text := "the old secret signs for " + strings.TrimPrefix(Until(overlap), "in ") + " more"
		if overlap == 0 {
			text = "the old secret ended at once"
		}
		details = append(details, text)
	}
	for _, name := range auditDetails {
		if value := strings.ReplaceAll(e.Details[name], ",", ", "); value != "" {
			if constants[name] {
				value = Spaced(value)
			}
			details = append(details, strings.ReplaceAll(name, "_", " ")+" "+value)
		}
	}
	return details
}

// Until returns the time until a moment as text, such as "in 5 min".
func Until(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return "in " + strconv.Itoa(int(d.Seconds())) + " s"
	case d < 2*time.Hour:
		return "in " + strconv.Itoa(int((d+30*time.Second)/time.Minute)) + " min"
	}
	return "in " + strconv.Itoa(int((d+30*time.Minute)/time.Hour)) + " h"
}

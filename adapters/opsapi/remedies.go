package opsapi

import "waybill/domain"

// withRemedy returns the error with what an operator does about it. The use cases report what
// happened, and know no commands and settings.
func withRemedy(e *domain.Error) *domain.Error {
	remedy := ""
	switch e.Code {
	case domain.CodeIdempotencyConflict:
		remedy = "Use a new Idempotency-Key for a new request."
	case domain.CodeIdempotencyInProgress:
		remedy = "It goes on by itself. Wait, then send the identical request again for its answer."
	case domain.CodeOperatorTokenRevoked, domain.CodeOperatorTokenExpired:
		remedy = "Have a new one made: waybill operator create."
	case domain.CodeOperatorKindRefused:
		remedy = "Have one made: waybill operator create --kind KIND."
	case domain.CodeInvalidOperatorToken:
		switch e.Details["reason"] {
		case "missing":
			remedy = "Send Authorization: Bearer " + domain.OperatorTokenPrefix + "..., made with waybill operator create."
		case "unknown":
			remedy = "waybill operator list shows those there are."
		}
	case domain.CodeKeyPepperMismatch:
		remedy = "Set WAYBILL_KEY_PEPPER to that one, or add that one to WAYBILL_KEY_PEPPER_PREVIOUS."
	case domain.CodeSecretKeyMismatch:
		remedy = "Set WAYBILL_SECRET_KEY to that one, or add that one to WAYBILL_SECRET_KEY_PREVIOUS."
	}
	if remedy == "" {
		return e
	}
	changed := *e // copy: the error may be shared
	changed.Message += " " + remedy
	return &changed
}

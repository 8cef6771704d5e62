package opsapi

import "waybill/domain"

// worded is an error with what an operator does about it: the use cases say what
// happened, and know of no commands and settings.
func worded(e *domain.Error) *domain.Error {
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
	said := *e // an error may be shared
	said.Message += " " + remedy
	return &said
}

package httpapi

import (
	"net/http"

	"waybill/domain"
)

// Kinds that only HTTP knows, beyond those of the domain.
const (
	kindNoMethod domain.Kind = 100 + iota
	kindTooLarge
	kindUnsupported
)

const (
	codeMethodNotAllowed     = "METHOD_NOT_ALLOWED"
	codePayloadTooLarge      = "PAYLOAD_TOO_LARGE"
	codeUnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE"
)

var (
	errNoRoute = &domain.Error{Kind: domain.KindNotFound, Code: domain.CodeNotFound,
		Message: "There is nothing at this address. GET /v1/openapi.json lists what there is."}
	errNoMethod = &domain.Error{Kind: kindNoMethod, Code: codeMethodNotAllowed,
		Message: "This address does not take this method. The Allow header lists those it takes."}
)

// statusOf is the one map from kinds to HTTP.
func statusOf(k domain.Kind) int {
	switch k {
	case domain.KindMalformed:
		return http.StatusBadRequest
	case domain.KindUnauthenticated:
		return http.StatusUnauthorized
	case domain.KindForbidden:
		return http.StatusForbidden
	case domain.KindNotFound:
		return http.StatusNotFound
	case kindNoMethod:
		return http.StatusMethodNotAllowed
	case domain.KindConflict:
		return http.StatusConflict
	case kindTooLarge:
		return http.StatusRequestEntityTooLarge
	case kindUnsupported:
		return http.StatusUnsupportedMediaType
	case domain.KindInvalid:
		return http.StatusUnprocessableEntity
	case domain.KindLimited:
		return http.StatusTooManyRequests
	case domain.KindUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

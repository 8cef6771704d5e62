package views

import (
	"net/http"

	"waybill/domain"
)

// Status is the one map from kinds of errors to HTTP. A kind that the domain does
// not know is a fault of ours.
func Status(k domain.Kind) int {
	switch k {
	case domain.KindMalformed:
		return http.StatusBadRequest
	case domain.KindUnauthenticated:
		return http.StatusUnauthorized
	case domain.KindForbidden:
		return http.StatusForbidden
	case domain.KindNotFound:
		return http.StatusNotFound
	case domain.KindConflict:
		return http.StatusConflict
	case domain.KindGone:
		return http.StatusGone
	case domain.KindInvalid:
		return http.StatusUnprocessableEntity
	case domain.KindLimited:
		return http.StatusTooManyRequests
	case domain.KindUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

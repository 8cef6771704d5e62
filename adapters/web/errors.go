package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"waybill/adapters/web/strictjson"
	"waybill/domain"
	"waybill/ports"
)

// The kinds of errors that only HTTP knows, in addition to those of the domain.
const (
	KindNoMethod domain.Kind = 100 + iota
	KindTooLarge
	KindUnsupported
)

// The codes of errors that only HTTP knows.
const (
	CodeMethodNotAllowed     = "METHOD_NOT_ALLOWED"
	CodePayloadTooLarge      = "PAYLOAD_TOO_LARGE"
	CodeUnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE"
)

// Status maps a kind of error to the HTTP status. An unknown kind is an internal error.
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
	case KindNoMethod:
		return http.StatusMethodNotAllowed
	case KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case KindUnsupported:
		return http.StatusUnsupportedMediaType
	}
	return http.StatusInternalServerError
}

// ErrorOf converts an error for an HTTP response. A *domain.Error stays unchanged unless it is
// internal. An unavailable database, or a deadline that passed during a wait, becomes
// SERVICE_UNAVAILABLE, wherever it is in the chain. Everything else is an internal error.
func ErrorOf(err error) *domain.Error {
	var e *domain.Error
	judged := errors.As(err, &e)
	switch {
	case judged && e.Kind != domain.KindInternal:
		return e
	case ports.StorageUnavailable(err):
		return domain.ServiceUnavailable(err)
	case judged:
		return e
	}
	return domain.Internal(err)
}

// NoMethod returns the 405. allow is the Allow header of the response.
func NoMethod(method, allow string) *domain.Error {
	return &domain.Error{Kind: KindNoMethod, Code: CodeMethodNotAllowed,
		Message: "This address does not take " + Shown(method) + ". Send one of the Allow header: " + allow + "."}
}

// tooLarge returns the 413 of a body that exceeds so many bytes.
func tooLarge(most int64) error {
	size := fmt.Sprintf("%d KiB", most>>10)
	if most >= 1<<20 {
		size = fmt.Sprintf("%d MiB", most>>20)
	}
	return &domain.Error{Kind: KindTooLarge, Code: CodePayloadTooLarge,
		Message: "The body is larger than " + size + ", the most this call takes. Send less in one request."}
}

func unsupported(message string) error {
	return &domain.Error{Kind: KindUnsupported, Code: CodeUnsupportedMediaType, Message: message}
}

// malformed returns a 400. details may be nil.
func malformed(message string, details map[string]any) *domain.Error {
	return &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeInvalidRequest, Message: message, Details: details}
}

// Shown returns a text of the client as messages may repeat it: short, printable, and without a
// secret that ended up in the wrong place.
func Shown(text string) string {
	for _, prefix := range []string{domain.KeyPrefix(domain.Live), domain.KeyPrefix(domain.Sandbox), domain.OperatorTokenPrefix} {
		if strings.Contains(text, prefix) {
			return prefix + "..."
		}
	}
	return strictjson.Shown(text)
}

// ItIs returns the end of a message, with the value that was sent.
func ItIs(sent string) string { return `; it is "` + Shown(sent) + `"` }

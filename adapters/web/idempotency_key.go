package web

import (
	"fmt"
	"net/http"

	"waybill/domain"
)

// IdempotencyKey reads the Idempotency-Key header. It returns "" when the header is optional
// and missing.
func IdempotencyKey(h http.Header, required bool) (string, error) {
	headers := h.Values("Idempotency-Key")
	invalid := func(code, message string) error {
		return domain.Invalid(domain.FieldError{Field: "Idempotency-Key", Code: code, Message: message})
	}
	switch {
	case len(headers) > 1:
		return "", invalid(domain.FieldInvalidFormat, fmt.Sprintf("the header was sent %d times; send it once", len(headers)))
	case len(headers) == 0 || headers[0] == "":
		if !required {
			return "", nil
		}
		return "", &domain.Error{Kind: domain.KindMalformed, Code: domain.CodeIdempotencyKeyRequired,
			Message: fmt.Sprintf("This call creates a record and needs an Idempotency-Key header of %d to %d characters. Send a fresh UUID, and "+
				"the same one when you retry.", domain.MinIdempotencyKey, domain.MaxIdempotencyKey)}
	}
	key := headers[0]
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return "", invalid(domain.FieldInvalidFormat,
				fmt.Sprintf("the header may hold printable ASCII characters only; byte %d is 0x%02x. A UUID will do", i+1, key[i]))
		}
	}
	switch {
	case len(key) < domain.MinIdempotencyKey:
		return "", invalid(domain.FieldTooShort, fmt.Sprintf("the header needs %d to %d characters and has %d%s. A UUID will do",
			domain.MinIdempotencyKey, domain.MaxIdempotencyKey, len(key), ItIs(key)))
	case len(key) > domain.MaxIdempotencyKey:
		return "", invalid(domain.FieldTooLong, fmt.Sprintf("the header may have %d characters and has %d. A UUID will do",
			domain.MaxIdempotencyKey, len(key)))
	}
	if fault := domain.SecretFault(key); fault != "" { // keys are stored
		return "", invalid(domain.FieldInvalidFormat, fault+". A UUID will do")
	}
	return key, nil
}

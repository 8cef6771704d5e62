package views

import (
	"errors"

	"waybill/domain"
	"waybill/ports"
)

// Failure is the one reading of errors at an edge of HTTP. What the inner layers
// have judged stays as it is; a database that is not available, and a deadline
// that passed while something was waited for, is SERVICE_UNAVAILABLE, wherever in
// the chain it stands; everything else is a defect of ours.
func Failure(err error) *domain.Error {
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

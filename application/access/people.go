package access

import (
	"context"

	"waybill/domain"
)

// AdmitPerson charges a business for one use of the API's use cases by a person of it. That counts
// as one request, in the same allowance as those of its keys. The error is the 429.
func (a *Admission) AdmitPerson(ctx context.Context, b domain.Business, e domain.Environment) error {
	of := domain.Credential{Business: b, Key: domain.APIKey{Environment: e}}
	allowance, err := a.limiter.Take(ctx, a.businessBucket(&of))
	switch {
	case err != nil:
		return domain.Internal(err)
	case !allowance.Admitted:
		return limited(allowance)
	}
	return nil
}

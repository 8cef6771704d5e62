package webhooks

import (
	"fmt"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// newSecret draws a secret for an endpoint: as its receiver configures it, and
// as it is stored.
func newSecret(s ports.Sealer, ids ports.Identifiers, endpoint domain.ID) (shown string, sealed []byte, err error) {
	secret := ids.SigningSecret()
	if sealed, err = s.Seal(string(endpoint), secret[:]); err != nil {
		return "", nil, fmt.Errorf("webhooks: seal a signing secret: %w", err)
	}
	return domain.FormatSigningSecret(secret[:]), sealed, nil
}

// openAll are the secrets that sign now, the newest first.
func openAll(s ports.Sealer, e domain.WebhookEndpoint, now time.Time) ([][]byte, error) {
	var secrets [][]byte
	for _, active := range e.ActiveSecrets(now) {
		secret, err := s.Open(string(e.ID), active.Sealed)
		if err != nil {
			return nil, fmt.Errorf("webhooks: open a signing secret: %w", err)
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// answerPurpose binds a sealed answer to the record it lies in.
func answerPurpose(r idempotency.Request) string {
	return "answer/" + string(r.Tenant.ApplicationID) + "/" + string(r.Tenant.Environment) + "/" + r.Key
}

// sealAnswer hides the body of an answer that a secret is in: it is stored
// under the Idempotency-Key, and replayed.
func sealAnswer(s ports.Sealer, r idempotency.Request, a domain.Answer) (domain.Answer, error) {
	sealed, err := s.Seal(answerPurpose(r), a.Body)
	if err != nil {
		return domain.Answer{}, fmt.Errorf("webhooks: seal an answer: %w", err)
	}
	a.Body = sealed
	return a, nil
}

// confidential opens what sealAnswer hid, of a first answer and of a replay.
func confidential(s ports.Sealer, r idempotency.Request) func(idempotency.Result, error) (idempotency.Result, error) {
	return func(result idempotency.Result, err error) (idempotency.Result, error) {
		if err != nil {
			return idempotency.Result{}, err
		}
		if result.Answer.Body, err = s.Open(answerPurpose(r), result.Answer.Body); err != nil {
			return idempotency.Result{}, fmt.Errorf("webhooks: open a stored answer: %w", err)
		}
		return result, nil
	}
}

package webhooks

import (
	"fmt"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// sealSecret returns the secret of an endpoint in the form for receivers, and sealed for storage.
func sealSecret(s ports.Sealer, endpoint domain.ID, secret [domain.SigningSecretBytes]byte) (shown string, sealed []byte, err error) {
	if sealed, err = s.Seal(string(endpoint), secret[:]); err != nil {
		return "", nil, fmt.Errorf("seal a signing secret: %w", err)
	}
	return domain.FormatSigningSecret(secret[:]), sealed, nil
}

// listenerSecret returns the secret for all listeners of an application, whose programs keep it
// over restarts. Under another key of the server it is another one: a secret that survived the
// change of a leaked key would still be known to the thief. An existing listener keeps its own.
func listenerSecret(s ports.Sealer, t domain.Tenant) ([domain.SigningSecretBytes]byte, error) {
	secret, err := s.Derive("listener/" + string(t.ApplicationID) + "/" + string(t.Environment))
	if err != nil {
		return secret, fmt.Errorf("derive the secret of listeners: %w", err)
	}
	return secret, nil
}

// OpenSecrets returns the secrets that sign now, the newest first. An older one that cannot be
// opened is left out. So after a change of the server's key a rotation brings webhooks back at
// once, not only at the end of the overlap.
func OpenSecrets(s ports.Sealer, e domain.WebhookEndpoint, now time.Time) ([][]byte, error) {
	var secrets [][]byte
	for i, active := range e.ActiveSecrets(now) {
		secret, err := s.Open(string(e.ID), active.Sealed)
		switch {
		case err == nil:
			secrets = append(secrets, secret)
		case i == 0:
			return nil, fmt.Errorf("open a signing secret: %w", err)
		}
	}
	return secrets, nil
}

// answerPurpose binds a sealed answer to its record.
func answerPurpose(r idempotency.Request) string {
	return "answer/" + string(r.Tenant.ApplicationID) + "/" + string(r.Tenant.Environment) + "/" + r.Key
}

// sealAnswer encrypts the body of an answer that contains a secret. The answer is stored under the
// Idempotency-Key, and replayed.
func sealAnswer(s ports.Sealer, r idempotency.Request, a domain.Answer) (domain.Answer, error) {
	sealed, err := s.Seal(answerPurpose(r), a.Body)
	if err != nil {
		return domain.Answer{}, fmt.Errorf("seal an answer: %w", err)
	}
	a.Body = sealed
	return a, nil
}

// confidential decrypts what sealAnswer encrypted, of a first answer and of a replay.
func confidential(s ports.Sealer, r idempotency.Request) func(idempotency.Result, error) (idempotency.Result, error) {
	return func(result idempotency.Result, err error) (idempotency.Result, error) {
		if err != nil {
			return idempotency.Result{}, err
		}
		if result.Answer.Body, err = s.Open(answerPurpose(r), result.Answer.Body); err != nil {
			return idempotency.Result{}, fmt.Errorf("open a stored answer: %w", err)
		}
		return result, nil
	}
}

// OpenedSecret is a current or former secret of an endpoint.
type OpenedSecret struct {
	Bytes     []byte
	ExpiresAt *time.Time // nil: the current one
}

// ListenerSecret returns the secret of new listeners of an application, including its inbox.
func (w *Webhooks) ListenerSecret(t domain.Tenant) ([]byte, error) {
	secret, err := listenerSecret(w.sealer, t)
	return secret[:], err
}

// Secrets returns the secrets of an endpoint for comparison, the newest first. It includes the one
// before the last rotation, even where it has ended, and leaves out what cannot be opened.
func (w *Webhooks) Secrets(e domain.WebhookEndpoint) (opened []OpenedSecret) {
	for _, s := range e.Secrets {
		if secret, err := w.sealer.Open(string(e.ID), s.Sealed); err == nil {
			opened = append(opened, OpenedSecret{Bytes: secret, ExpiresAt: s.ExpiresAt})
		}
	}
	return opened
}

package settings

import (
	"waybill/adapters/cli/term"
	"waybill/configs"
	"waybill/domain"
)

// PepperRefused turns the error of a refused pepper into a StartError, and leaves any other
// error unchanged. It says where the pepper is set, never the pepper.
func PepperRefused(err error, c *configs.Config) error {
	switch {
	case domain.HasCode(err, domain.CodeKeyPepperMismatch):
		what := "WAYBILL_KEY_PEPPER is not the one this database's keys were made with"
		if len(c.KeyPepperPrevious) > 0 {
			what += ", nor is any of WAYBILL_KEY_PEPPER_PREVIOUS"
		}
		return &term.StartError{
			What:    what,
			UsedFor: "API keys, which are all refused under another one (now from " + c.Source("key_pepper") + ")",
			Fix: "set it to that one, or to change it add that one to WAYBILL_KEY_PEPPER_PREVIOUS; where it is lost, " +
				"delete the rows of the table key_pepper and make every key anew",
		}
	case domain.HasCode(err, domain.CodeKeyPepperInUse):
		return &term.StartError{
			What:    term.Message(err),
			UsedFor: "API keys and operator tokens, which would be refused without it",
			Fix:     "put it back into WAYBILL_KEY_PEPPER_PREVIOUS until they have been used, or revoke them: waybill key list --old-pepper",
		}
	}
	return err
}

// SecretKeyRefused does the same for a refused secret key.
func SecretKeyRefused(err error, c *configs.Config) error {
	if !domain.HasCode(err, domain.CodeSecretKeyMismatch) {
		return err
	}
	what := "WAYBILL_SECRET_KEY is not the one this database's signing secrets were sealed under"
	if len(c.SecretKeyPrevious) > 0 {
		what += ", nor is any of WAYBILL_SECRET_KEY_PREVIOUS"
	}
	return &term.StartError{
		What:    what,
		UsedFor: "webhooks, of which none can be signed (now from " + c.Source("secret_key") + ")",
		Fix: "set it to that one, or to change it add that one to WAYBILL_SECRET_KEY_PREVIOUS; where it is lost, " +
			"delete the row of the table secret_key_check and rotate the secret of every endpoint",
	}
}

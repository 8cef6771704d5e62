// Package passkeys implements WebAuthn with github.com/go-webauthn/webauthn, for the pages of
// one host.
//
// A passkey has to be discoverable, so that a sign-in needs no email address. The device has to
// verify the person, so that a passkey needs no password in addition. The model of the device
// does not matter: attestation is not requested. Extension outputs that were not requested are
// ignored: some password managers send them, and nothing here reads any.
package passkeys

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Passkeys = (*Party)(nil)

// Party is the relying party of one host. It is safe for concurrent use.
type Party struct {
	host      string
	library   *webauthn.WebAuthn
	pointless error // why passkeys are not possible at the address; nil: they are
}

// New creates the relying party of the pages below an address.
func New(base string) (*Party, error) {
	host, err := domain.PasskeyHost(base)
	if err != nil {
		return &Party{pointless: err}, nil
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	library, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: "Waybill", RPOrigins: []string{domain.WebOrigin(u)},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
		Timeouts: webauthn.TimeoutsConfig{
			Login:        webauthn.TimeoutConfig{Timeout: domain.CeremonyLifetime, TimeoutUVD: domain.CeremonyLifetime},
			Registration: webauthn.TimeoutConfig{Timeout: domain.CeremonyLifetime, TimeoutUVD: domain.CeremonyLifetime},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("passkeys of %s: %w", base, err)
	}
	return &Party{host: host, library: library}, nil
}

// Host returns the host that passkeys are made for.
func (p *Party) Host() (string, error) { return p.host, p.pointless }

// user adapts a person to the library. The handle is the ID, which tells a device nothing about
// the person.
type user struct {
	person domain.Person
	known  []webauthn.Credential
}

func (u user) WebAuthnID() []byte                         { return []byte(u.person.ID) }
func (u user) WebAuthnName() string                       { return string(u.person.Email) }
func (u user) WebAuthnDisplayName() string                { return u.person.Name }
func (u user) WebAuthnCredentials() []webauthn.Credential { return u.known }

func credential(k domain.Passkey) webauthn.Credential {
	return webauthn.Credential{
		ID: k.CredentialID, PublicKey: k.PublicKey,
		Flags:         webauthn.CredentialFlags{UserPresent: true, UserVerified: true, BackupEligible: k.Syncs},
		Authenticator: webauthn.Authenticator{SignCount: k.SignCount},
	}
}

func descriptors(passkeys []domain.Passkey) []protocol.CredentialDescriptor {
	list := make([]protocol.CredentialDescriptor, 0, len(passkeys))
	for _, k := range passkeys {
		list = append(list, protocol.CredentialDescriptor{Type: protocol.PublicKeyCredentialType, CredentialID: k.CredentialID})
	}
	return list
}

// CreationOptions returns the options that request a new passkey.
func (p *Party) CreationOptions(challenge [32]byte, person domain.Person, known []domain.Passkey) ([]byte, error) {
	if p.pointless != nil {
		return nil, p.pointless
	}
	options, _, err := p.library.BeginRegistration(user{person: person}, webauthn.WithExclusions(descriptors(known)),
		func(o *protocol.PublicKeyCredentialCreationOptions) error { o.Challenge = challenge[:]; return nil })
	if err != nil {
		return nil, fmt.Errorf("options of a new passkey: %w", err)
	}
	return json.Marshal(options.Response)
}

// RequestOptions returns the options that request one of the passkeys, or any.
func (p *Party) RequestOptions(challenge [32]byte, allowed []domain.Passkey) ([]byte, error) {
	if p.pointless != nil {
		return nil, p.pointless
	}
	options, _, err := p.library.BeginDiscoverableLogin(
		webauthn.WithAllowedCredentials(descriptors(allowed)), webauthn.WithChallenge(challenge[:]))
	if err != nil {
		return nil, fmt.Errorf("options of a sign-in by passkey: %w", err)
	}
	return json.Marshal(options.Response)
}

// session returns what the library stores of a ceremony.
func (p *Party) session(challenge [32]byte, person domain.ID) webauthn.SessionData {
	return webauthn.SessionData{
		Challenge: base64.RawURLEncoding.EncodeToString(challenge[:]), RelyingPartyID: p.host, UserID: []byte(person),
		UserVerification: protocol.VerificationRequired, CredParams: webauthn.CredentialParametersDefault(),
	}
}

// Created returns the new passkey of a response.
func (p *Party) Created(challenge [32]byte, person domain.Person, answer []byte) (domain.Passkey, error) {
	if p.pointless != nil {
		return domain.Passkey{}, p.pointless
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return domain.Passkey{}, refused(err)
	}
	made, err := p.library.CreateCredential(user{person: person}, p.session(challenge, person.ID), parsed)
	if err != nil {
		return domain.Passkey{}, refused(err)
	}
	if n := len(made.ID); n < 1 || n > domain.MaxCredentialID {
		return domain.Passkey{}, fmt.Errorf("%w: the name of the credential has %d bytes", ports.ErrPasskeyRefused, n)
	}
	return domain.Passkey{
		PersonID: person.ID, Host: p.host, CredentialID: made.ID, PublicKey: made.PublicKey,
		SignCount: made.Authenticator.SignCount, Syncs: made.Flags.BackupEligible,
	}, nil
}

// Names returns what a response claims: the passkey and the person.
func (p *Party) Names(answer []byte) ([]byte, domain.ID, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return nil, "", refused(err)
	}
	return parsed.RawID, domain.ID(parsed.Response.UserHandle), nil
}

// Verify checks a response against a passkey.
func (p *Party) Verify(challenge [32]byte, answer []byte, k domain.Passkey) (uint32, error) {
	if p.pointless != nil {
		return 0, p.pointless
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return 0, refused(err)
	}
	owner := user{person: domain.Person{ID: k.PersonID}, known: []webauthn.Credential{credential(k)}}
	if _, err := p.library.ValidateLogin(owner, p.session(challenge, k.PersonID), parsed); err != nil {
		return 0, refused(err)
	}
	return parsed.Response.AuthenticatorData.Counter, nil
}

// refused keeps the library's message for the log.
func refused(err error) error {
	var e *protocol.Error
	if errors.As(err, &e) && e.DevInfo != "" {
		return fmt.Errorf("%w: %s: %s", ports.ErrPasskeyRefused, e.Details, e.DevInfo)
	}
	return fmt.Errorf("%w: %w", ports.ErrPasskeyRefused, err)
}

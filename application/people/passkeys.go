package people

import (
	"context"
	"encoding/binary"
	"errors"

	"waybill/domain"
	"waybill/ports"
)

// Passkeys signs people in by a key on their device. Each use takes two calls: one for a challenge,
// and one with the browser's answer.
//
// A challenge within a session is stored until it is answered, right or wrong, and works once.
// Anybody may request the challenge of a sign-in, so it is not stored: it is derived from its ID
// and the pepper of the server. It has no limit by address either, with which one person could lock
// out a whole office. A successful sign-in stores the ID, so that no answer works twice.
type Passkeys struct {
	access *Access
	party  ports.Passkeys
	digest ports.KeyDigester
}

// NewPasskeys returns the use cases of passkeys.
func NewPasskeys(a *Access, p ports.Passkeys, d ports.KeyDigester) *Passkeys {
	return &Passkeys{access: a, party: p, digest: d}
}

// Prompt holds what a browser is asked.
type Prompt struct {
	Ceremony domain.ID // the browser sends it back with the answer
	Options  []byte    // JSON of WebAuthn
}

// Host returns the host that passkeys are made for, or PASSKEYS_UNAVAILABLE with the reason.
func (k *Passkeys) Host() (string, error) { return k.party.Host() }

// List returns the passkeys of a person, oldest first, but none in a session of one business only.
func (k *Passkeys) List(ctx context.Context, p domain.Principal) ([]domain.Passkey, error) {
	if p.Session.OneBusiness {
		return nil, nil
	}
	return k.access.storage.Read().Passkeys.OfPerson(ctx, p.Person.ID)
}

// ask stores a challenge for a browser, or for one session.
func (k *Passkeys) ask(
	ctx context.Context, purpose domain.CeremonyPurpose, session domain.ID, options func(challenge [32]byte) ([]byte, error),
) (Prompt, error) {
	now := k.access.clock.Now()
	c := domain.Ceremony{
		ID: k.access.ids.ID(domain.PrefixCeremony), Purpose: purpose, SessionID: session, Challenge: k.access.ids.SigningSecret(),
		CreatedAt: now, ExpiresAt: now.Add(domain.CeremonyLifetime),
	}
	json, err := options(c.Challenge)
	if err != nil {
		return Prompt{}, err
	}
	err = k.access.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error { return tx.Ceremonies.Insert(ctx, c) })
	return Prompt{Ceremony: c.ID, Options: json}, err
}

// answered uses a challenge up, before its answer is checked.
func (k *Passkeys) answered(ctx context.Context, purpose domain.CeremonyPurpose, session, id domain.ID) (c domain.Ceremony, err error) {
	c, err = k.access.takeCeremony(ctx, id)
	if errors.Is(err, domain.ErrNotFound) || err == nil && !c.Open(purpose, session, k.access.clock.Now()) {
		return c, domain.CeremonyOver()
	}
	return c, err
}

// takeCeremony uses up a ceremony that was stored when it began. One of a sign-in is stored when it
// ends, and stays, so that it does not end a second time.
func (a *Access) takeCeremony(ctx context.Context, id domain.ID) (c domain.Ceremony, err error) {
	err = a.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		c, err = tx.Ceremonies.Take(ctx, id)
		if err == nil && (c.Purpose == domain.CeremonySignIn || c.Purpose == domain.CeremonyOIDCSignIn) {
			return domain.ErrNotFound
		}
		return err
	})
	return c, err
}

// AskToAdd starts adding a passkey. It requires what Access.SetPassword requires.
func (k *Passkeys) AskToAdd(ctx context.Context, p domain.Principal) (Prompt, error) {
	if err := k.access.MayChange(ctx, p); err != nil {
		return Prompt{}, err
	}
	known, err := k.List(ctx, p)
	if err != nil {
		return Prompt{}, err
	}
	if len(known) >= domain.MaxPasskeys {
		return Prompt{}, domain.TooManyPasskeys()
	}
	return k.ask(ctx, domain.CeremonyAdd, p.Session.ID, func(challenge [32]byte) ([]byte, error) {
		return k.party.CreationOptions(challenge, p.Person, known)
	})
}

// Add stores the passkey of an answer to AskToAdd in the same session. It requires what AskToAdd
// requires. It returns PASSKEY_UNUSABLE for an answer that proves nothing. The person gets a mail.
func (k *Passkeys) Add(
	ctx context.Context, p domain.Principal, requestID string, id domain.ID, answer []byte, name string,
) (made domain.Passkey, err error) {
	if err := k.access.MayChange(ctx, p); err != nil {
		return made, err
	}
	if name, err = domain.PasskeyName(name); err != nil {
		return made, err
	}
	ceremony, err := k.answered(ctx, domain.CeremonyAdd, p.Session.ID, id)
	if err != nil {
		return made, err
	}
	made, err = k.party.Created(ceremony.Challenge, p.Person, answer)
	if errors.Is(err, ports.ErrPasskeyRefused) {
		return made, domain.PasskeyUnusable(err)
	}
	if err != nil {
		return made, err
	}
	made.ID, made.PersonID, made.Name, made.CreatedAt = k.access.ids.ID(domain.PrefixPasskey), p.Person.ID, name, k.access.clock.Now()
	err = k.access.log.Change(ctx, p.Actor(requestID), func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if err := k.hold(ctx, tx, p); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := k.access.mayChange(ctx, tx.Persons, tx.Passkeys, p); err != nil {
			return domain.AuditRecord{}, err
		}
		known, err := tx.Passkeys.OfPerson(ctx, p.Person.ID)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if len(known) >= domain.MaxPasskeys {
			return domain.AuditRecord{}, domain.TooManyPasskeys()
		}
		if err := tx.Passkeys.Insert(ctx, made); err != nil {
			return domain.AuditRecord{}, err
		}
		return passkeyRecord(domain.ActionPasskeyAdd, p, made), k.tell(ctx, tx, domain.MailPasskeyAdded, p, made)
	})
	return made, err
}

// hold locks the person of a session, and checks that the session still works.
func (k *Passkeys) hold(ctx context.Context, tx ports.Stores, p domain.Principal) error {
	if _, err := tx.Persons.Lock(ctx, p.Person.ID); err != nil {
		return err
	}
	return k.access.stillIn(ctx, tx, p)
}

// Rename renames one of the person's own passkeys. It requires a fresh sign-in.
func (k *Passkeys) Rename(ctx context.Context, p domain.Principal, requestID string, id domain.ID, name string) error {
	name, err := domain.PasskeyName(name)
	if err != nil {
		return err
	}
	return k.change(ctx, p, requestID, id, func(ctx context.Context, tx ports.Stores, found domain.Passkey) (domain.AuditRecord, error) {
		if found.Name == name {
			return domain.AuditRecord{}, nil
		}
		record := passkeyRecord(domain.ActionPasskeyRename, p, found)
		record.Details["name"], record.Details["before"] = name, found.Name
		return record, tx.Passkeys.Rename(ctx, p.Person.ID, id, name)
	})
}

// Remove removes one of the person's own passkeys. It ends all other sessions and unused links,
// since a thief of the device may have used it. It requires a fresh sign-in. The person gets a
// mail.
func (k *Passkeys) Remove(ctx context.Context, p domain.Principal, requestID string, id domain.ID) error {
	return k.change(ctx, p, requestID, id, func(ctx context.Context, tx ports.Stores, found domain.Passkey) (domain.AuditRecord, error) {
		if err := tx.Passkeys.Remove(ctx, p.Person.ID, id); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := k.access.endElsewhere(ctx, tx, p); err != nil {
			return domain.AuditRecord{}, err
		}
		return passkeyRecord(domain.ActionPasskeyRemove, p, found), k.tell(ctx, tx, domain.MailPasskeyRemoved, p, found)
	})
}

// tell queues a mail to the person about a passkey.
func (k *Passkeys) tell(ctx context.Context, tx ports.Stores, kind domain.MailKind, p domain.Principal, of domain.Passkey) error {
	n := domain.AccountNotice(kind, p.Session, of.ID, k.access.clock.Now())
	n.Facts[domain.FactName] = of.Name
	return tx.Mails.Tell(ctx, n)
}

func (k *Passkeys) change(ctx context.Context, p domain.Principal, requestID string, id domain.ID,
	do func(context.Context, ports.Stores, domain.Passkey) (domain.AuditRecord, error),
) error {
	if err := p.Allows(domain.ActOwnAccount, k.access.clock.Now()); err != nil {
		return err
	}
	return k.access.log.Change(ctx, p.Actor(requestID), func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if err := k.hold(ctx, tx, p); err != nil {
			return domain.AuditRecord{}, err
		}
		known, err := tx.Passkeys.OfPerson(ctx, p.Person.ID)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		for _, found := range known {
			if found.ID == id {
				return do(ctx, tx, found)
			}
		}
		return domain.AuditRecord{}, domain.ErrNotFound
	})
}

// AskToSignIn starts a sign-in without naming a person: the device names one.
func (k *Passkeys) AskToSignIn() (Prompt, error) {
	ceremony := k.access.datedCeremony()
	options, err := k.party.RequestOptions(k.digest.Digest(challengeOf(ceremony)), nil)
	return Prompt{Ceremony: ceremony, Options: options}, err
}

// datedCeremony returns the ID of a ceremony that is not stored before it ends. The time in it is
// that of the clock that checks the answer, maybe in another process.
func (a *Access) datedCeremony() domain.ID {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(a.clock.Now().UnixMilli())<<16) //nolint:gosec // after 1970
	random := a.ids.SigningSecret()
	copy(id[6:], random[:])
	return domain.MakeID(domain.PrefixCeremony, id)
}

// challengeOf returns the text whose digest is the challenge of a sign-in.
func challengeOf(id domain.ID) string { return "waybill sign-in by passkey " + string(id) }

// signInCeremony returns the ceremony of a sign-in as it is stored once it is answered, or
// CEREMONY_OVER.
func (k *Passkeys) signInCeremony(id domain.ID) (domain.Ceremony, error) {
	id, err := domain.ParseID(domain.PrefixCeremony, string(id))
	made := id.MadeAt()
	c := domain.Ceremony{ID: id, Purpose: domain.CeremonySignIn, CreatedAt: made, ExpiresAt: made.Add(domain.CeremonyLifetime)}
	if err != nil || !c.Open(domain.CeremonySignIn, "", k.access.clock.Now()) {
		return c, domain.CeremonyOver()
	}
	c.Challenge = k.digest.Digest(challengeOf(id))
	return c, nil
}

// spend stores that the ceremony of a sign-in has ended. It returns over if it had ended before.
func spend(ctx context.Context, tx ports.Stores, c domain.Ceremony, over *domain.Error) error {
	err := tx.Ceremonies.Insert(ctx, c)
	if errors.Is(err, ports.ErrIDTaken) {
		return over
	}
	return err
}

// SignIn signs a person in by the answer to AskToSignIn, to the business that places prefers.
// Unknown, removed, disabled, of another site and signed wrongly get the same error.
func (k *Passkeys) SignIn(ctx context.Context, b Browser, site domain.Site, id domain.ID, answer []byte) (entered Entered, err error) {
	_, claimed, _ := k.party.Names(answer) // an unreadable answer is refused below
	counted, err := k.access.passkeyGuesses(ctx, b, site, claimed)
	if err != nil {
		return entered, err
	}
	err = k.access.attempt(ctx, counted, func() error {
		ceremony, err := k.signInCeremony(id)
		if err != nil {
			return err
		}
		used, count, err := k.verify(ctx, ceremony, answer)
		if err != nil {
			return err
		}
		person, err := k.access.storage.Read().Persons.Get(ctx, used.PersonID)
		if err != nil {
			return err
		}
		place, err := k.access.place(ctx, site, person)
		if errors.Is(err, domain.ErrNotFound) || err == nil && claimed != person.ID {
			return domain.PasskeyRefused(err)
		}
		if err == nil {
			place, err = k.access.preferEnabled(ctx, place)
		}
		if err != nil {
			return err
		}
		by := domain.AuditActor{ID: person.ID, Name: person.Name, BusinessID: place.BusinessID, RequestID: b.RequestID}
		change := func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
			now, err := tx.Persons.Lock(ctx, person.ID)
			if err != nil {
				return domain.AuditRecord{}, err
			}
			member, err := tx.Memberships.Member(ctx, place.BusinessID, person.ID)
			if errors.Is(err, domain.ErrNotFound) || now.State != domain.PersonActive {
				return domain.AuditRecord{}, domain.PasskeyRefused(err) // changed while the passkey was checked
			}
			if err != nil {
				return domain.AuditRecord{}, err
			}
			if err := spend(ctx, tx, ceremony, domain.CeremonyOver()); err != nil {
				return domain.AuditRecord{}, err
			}
			if err := k.count(ctx, tx, used, count); err != nil {
				return domain.AuditRecord{}, err
			}
			member.Person = now
			err = k.access.begin(ctx, tx, &entered, member, domain.SignInByPasskey, k.access.clock.Now(), b)
			return signInRecord(domain.ActionPersonSignIn, entered.Principal), err
		}
		return k.access.succeed(ctx, signedIn(bySelf, site, person.ID), func() error { return k.access.log.Change(ctx, by, change) })
	})
	return entered, refusedTo(claimed, err)
}

// Accept accepts an invitation by the answer to AskToSignIn, with a passkey of the account
// that was invited.
func (k *Passkeys) Accept(ctx context.Context, b Browser, secret string, id domain.ID, answer []byte) (entered Entered, err error) {
	link, err := k.access.Look(ctx, b, secret)
	if err != nil {
		return entered, err
	}
	_, claimed, _ := k.party.Names(answer) // an unreadable answer is refused below
	counted, err := k.access.passkeyGuesses(ctx, b, link.Site(), claimed)
	if err != nil {
		return entered, err
	}
	err = k.access.attempt(ctx, counted, func() error {
		ceremony, err := k.signInCeremony(id)
		if err != nil {
			return err
		}
		used, count, err := k.verify(ctx, ceremony, answer)
		if err != nil {
			return err
		}
		if used.PersonID != link.PersonID || claimed != used.PersonID {
			return domain.PasskeyRefused(errors.New("the passkey is of another account than the one that was invited"))
		}
		holds := func(ctx context.Context, tx ports.Stores, _ domain.Person) error {
			if err := spend(ctx, tx, ceremony, domain.CeremonyOver()); err != nil {
				return err
			}
			return k.count(ctx, tx, used, count)
		}
		return k.access.succeed(ctx, signedIn(bySelf, link.Site(), used.PersonID), func() error {
			entered, err = k.access.enter(ctx, b, link, &proof{method: domain.SignInByPasskey, holds: holds})
			return err
		})
	})
	if claimed == link.PersonID {
		return entered, refusedLink(link, err)
	}
	return entered, refusedTo(claimed, err)
}

// AskToConfirm starts making the current session fresh.
func (k *Passkeys) AskToConfirm(ctx context.Context, p domain.Principal) (Prompt, error) {
	if err := p.OwnSignIn(); err != nil {
		return Prompt{}, err
	}
	known, err := k.List(ctx, p)
	if err != nil {
		return Prompt{}, err
	}
	if len(known) == 0 {
		return Prompt{}, domain.ErrNotFound
	}
	return k.ask(ctx, domain.CeremonyConfirm, p.Session.ID, func(challenge [32]byte) ([]byte, error) {
		return k.party.RequestOptions(challenge, known)
	})
}

// ConfirmByPasskey makes the session fresh by the answer to AskToConfirm in the same session, with
// the person's own passkey.
func (k *Passkeys) ConfirmByPasskey(ctx context.Context, b Browser, p domain.Principal, id domain.ID, answer []byte) error {
	if err := p.OwnSignIn(); err != nil {
		return err
	}
	return k.access.attempt(ctx, confirmGuesses(p), func() error {
		ceremony, err := k.answered(ctx, domain.CeremonyConfirm, p.Session.ID, id)
		if err != nil {
			return err
		}
		used, count, err := k.verify(ctx, ceremony, answer)
		if err != nil {
			return err
		}
		if used.PersonID != p.Person.ID {
			return domain.PasskeyRefused(errors.New("the passkey is another person's"))
		}
		change := func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
			if err := k.hold(ctx, tx, p); err != nil {
				return domain.AuditRecord{}, err
			}
			if err := k.count(ctx, tx, used, count); err != nil {
				return domain.AuditRecord{}, err
			}
			p.Session.Method = domain.SignInByPasskey
			return signInRecord(domain.ActionPersonSignIn, p), tx.Sessions.SignedIn(ctx, p.Session.ID, p.Session.Method, k.access.clock.Now())
		}
		return k.access.succeed(ctx, signedIn(confirmed, p.Site(), p.Person.ID), func() error {
			return k.access.log.Change(ctx, p.Actor(b.RequestID), change)
		})
	})
}

// verify finds the passkey that answered a challenge, with the use count in the answer. The
// challenge of a sign-in may have been made with a previous pepper.
func (k *Passkeys) verify(ctx context.Context, c domain.Ceremony, answer []byte) (used domain.Passkey, count uint32, err error) {
	credentialID, _, err := k.party.Names(answer)
	if err != nil {
		return used, 0, domain.PasskeyRefused(err)
	}
	used, err = k.access.storage.Read().Passkeys.FindByCredential(ctx, credentialID)
	if errors.Is(err, domain.ErrNotFound) {
		return used, 0, domain.PasskeyRefused(err)
	}
	if err != nil {
		return used, 0, err
	}
	challenges := [][32]byte{c.Challenge}
	if c.Purpose == domain.CeremonySignIn {
		challenges = append(challenges, k.digest.Previous(challengeOf(c.ID))...)
	}
	for _, challenge := range challenges {
		if count, err = k.party.Verify(challenge, answer, used); !errors.Is(err, ports.ErrPasskeyRefused) {
			return used, count, err
		}
	}
	return used, 0, domain.PasskeyRefused(err)
}

// count stores the use. A count that has not grown belongs to a copy of the key. A missing passkey
// was removed in the meantime.
func (k *Passkeys) count(ctx context.Context, tx ports.Stores, used domain.Passkey, count uint32) error {
	err := tx.Passkeys.Used(ctx, used.ID, count, k.access.clock.Now())
	if errors.Is(err, domain.ErrNotFound) {
		return domain.PasskeyRefused(errors.New("the count of uses has not grown, or the passkey was removed"))
	}
	return err
}

func passkeyRecord(action domain.Action, p domain.Principal, k domain.Passkey) domain.AuditRecord {
	return domain.AuditRecord{
		Action: action, Target: k.ID, BusinessID: p.Session.BusinessID, Details: map[string]string{"name": k.Name,
			"person_id": string(p.Person.ID)},
	}
}

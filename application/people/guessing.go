package people

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// These limits apply to failed sign-ins.
var (
	// guessesAtPerson limits guesses at one person from one address, or in one browser in which
	// that person has signed in before.
	guessesAtPerson = domain.RateLimit{Limit: 10, Window: 15 * time.Minute}
	// guessesFromEverywhere, guessesFromNetwork and guessesFromAddress limit passwords: at one
	// person from all addresses, at one person from a network of many addresses, and at all persons
	// from one address. Beyond the latter two a person has only guessesInCrowd left at an address,
	// but never fewer: all people of an office share one address, and strangers share a network.
	// Browsers in which the person has signed in have their own count from everywhere, and none by
	// network or address.
	guessesFromEverywhere = domain.RateLimit{Limit: 100, Window: time.Hour}
	guessesFromNetwork    = domain.RateLimit{Limit: 30, Window: time.Hour}
	guessesFromAddress    = domain.RateLimit{Limit: 100, Window: 15 * time.Minute}
	guessesInCrowd        = domain.RateLimit{Limit: 2, Window: 15 * time.Minute}
	// confirmsOfSession and confirmsOfPerson limit confirmations within a session.
	confirmsOfSession = domain.RateLimit{Limit: 10, Window: 15 * time.Minute}
	confirmsOfPerson  = domain.RateLimit{Limit: 50, Window: time.Hour}
	// unknownLinks limits links that do not exist, by address.
	unknownLinks = domain.RateLimit{Limit: 30, Window: 15 * time.Minute}
)

// These limits apply to one person's successful sign-ins and to links.
var (
	signInsPerPerson = domain.RateLimit{Limit: 20, Window: time.Hour}
	linksPerPerson   = domain.RateLimit{Limit: 5, Window: 15 * time.Minute} // by email: nobody may fill a mailbox
	linksPerAddress  = domain.RateLimit{Limit: 30, Window: 15 * time.Minute}
	linksPerBrowsers = domain.RateLimit{Limit: 15, Window: 15 * time.Minute} // of a person, from all browsers that are known
	linksInCrowd     = domain.RateLimit{Limit: 1, Window: 15 * time.Minute}  // by person, where the address is beyond linksPerAddress
)

// attempts holds the buckets that count an attempt to sign in.
type attempts struct {
	buckets []ports.Bucket
	// crowds are the buckets of an address, which may be that of an office, and of its network.
	// While one of them is full, instead counts, for one person at the address.
	crowds  []ports.Bucket
	instead ports.Bucket
	known   bool // the person has signed in by this browser before
}

// attempt counts an attempt before it is made, and gives it back unless the guess was wrong. So
// there are never more wrong guesses than the limits allow, however many arrive at once.
func (a *Access) attempt(ctx context.Context, counted attempts, try func() error) error {
	charged, err := a.charge(ctx, counted)
	if err != nil {
		return err
	}
	err = try()
	for _, guess := range []string{domain.CodeSignInRefused, domain.CodePasskeyRefused, domain.CodeCeremonyOver} {
		if domain.HasCode(err, guess) {
			return err
		}
	}
	// If this fails, the attempt stays counted: the session exists.
	_ = a.limiter.GiveBack(context.WithoutCancel(ctx), charged...)
	return err
}

// charge counts an attempt and returns the buckets that it used, or TOO_MANY_SIGN_INS.
func (a *Access) charge(ctx context.Context, counted attempts) ([]ports.Bucket, error) {
	charged := slices.Concat(counted.buckets, counted.crowds)
	allowance, err := a.limiter.Take(ctx, charged...)
	crowded := func(b ports.Bucket) bool { return b.Scope == allowance.Scope }
	if err == nil && !allowance.Admitted && slices.ContainsFunc(counted.crowds, crowded) {
		charged = append(slices.Clone(counted.buckets), counted.instead)
		allowance, err = a.limiter.Take(ctx, charged...)
	}
	if err != nil {
		return nil, domain.Internal(err)
	}
	if !allowance.Admitted {
		return nil, tooManySignIns(allowance)
	}
	return charged, nil
}

func tooManySignIns(a ports.Allowance) *domain.Error {
	return &domain.Error{Kind: domain.KindLimited, Code: domain.CodeTooManySignIns, RetryAfter: a.RetryAfter,
		Message: "Too many attempts to sign in. Wait a few minutes, or use a passkey or a sign-in link."}
}

// at returns the name of a bucket at a site. Each site has its own buckets. Anybody may try at one
// site what only people of the other site could do, and must not lock them out there.
func at(site domain.Site, name string) string { return string(site) + " " + name }

// passwordGuesses returns the buckets of a sign-in by password. email counts whether that person
// exists or not.
func (a *Access) passwordGuesses(ctx context.Context, b Browser, site domain.Site, person domain.ID, email string) (attempts, error) {
	known, err := a.known(ctx, b, person)
	email = at(site, digestOf(email))
	if err != nil || known {
		// All browsers of the person together have a limit too. Somebody who was shown a link of
		// the person, such as an owner who invited them, may have made some.
		return attempts{known: known, buckets: []ports.Bucket{
			{Scope: "password", Name: email + " " + digestOf(b.Mark), Limit: guessesAtPerson},
			{Scope: "password_browsers", Name: email, Limit: guessesFromEverywhere},
		}}, err
	}
	here := email + " " + b.Address
	return attempts{
		buckets: []ports.Bucket{
			{Scope: "password", Name: here, Limit: guessesAtPerson},
			{Scope: "password_person", Name: email, Limit: guessesFromEverywhere},
		},
		crowds: []ports.Bucket{
			{Scope: "password_network", Name: email + " " + domain.ClientGroup(b.Address), Limit: guessesFromNetwork},
			{Scope: "password_address", Name: at(site, b.Address), Limit: guessesFromAddress},
		},
		instead: ports.Bucket{Scope: "password_crowd", Name: here, Limit: guessesInCrowd},
	}, nil
}

// passkeyGuesses returns the buckets of a sign-in by passkey. The browser's answer names the
// person, and anybody may have written it until its signature is checked. A signature cannot be
// guessed. So no bucket counts all addresses, or all persons of one.
func (a *Access) passkeyGuesses(ctx context.Context, b Browser, site domain.Site, claimed domain.ID) (attempts, error) {
	if _, err := domain.ParseID(domain.PrefixPerson, string(claimed)); err != nil {
		claimed = ""
	}
	known, err := a.known(ctx, b, claimed)
	from := b.Address
	if known {
		from = digestOf(b.Mark)
	}
	return attempts{known: known, buckets: []ports.Bucket{
		{Scope: "passkey", Name: at(site, string(claimed)+" "+from), Limit: guessesAtPerson},
	}}, err
}

// confirmGuesses returns the buckets of a confirmation within a session.
func confirmGuesses(p domain.Principal) attempts {
	return attempts{buckets: []ports.Bucket{
		{Scope: "confirm_session", Name: string(p.Session.ID), Limit: confirmsOfSession},
		{Scope: "confirm_person", Name: at(p.Site(), string(p.Person.ID)), Limit: confirmsOfPerson},
	}}
}

// hashing returns the queue in which a password is hashed. Neither strangers nor other people of a
// network delay a browser that is known to be the person's. Without a membership of the site, which
// is a zero one, the person is a stranger there.
func (a attempts) hashing(b Browser, m domain.Membership) ports.Caller {
	if a.known && m.PersonID != "" {
		return member(m.Site(), m.BusinessID, m.PersonID)
	}
	return ports.Caller{Line: domain.ClientGroup(b.Address), Member: b.Address}
}

// member returns the queue of a person who is known to belong to a business, or to the staff.
func member(site domain.Site, business, person domain.ID) ports.Caller {
	return ports.Caller{Known: true, Line: at(site, string(business)), Member: string(person)}
}

// known reports whether a person has signed in by the browser before.
func (a *Access) known(ctx context.Context, b Browser, person domain.ID) (bool, error) {
	if b.Mark == "" || person == "" {
		return false, nil
	}
	return a.storage.Read().Devices.Known(ctx, person, domain.BearerDigest(b.Mark))
}

// unknownLink counts a link that does not exist, unless a page of another site made the browser
// open it. Existing links always work, however many others were tried: nobody guesses 32 random
// bytes.
func (a *Access) unknownLink(ctx context.Context, b Browser, err error) error {
	if b.Foreign || !domain.HasCode(err, domain.CodeLinkUnknown) {
		return err
	}
	bucket := ports.Bucket{Scope: "unknown_link", Name: b.Address, Limit: unknownLinks}
	if _, limited := a.charge(ctx, attempts{buckets: []ports.Bucket{bucket}}); limited != nil {
		return limited
	}
	return err
}

// signedIn returns the bucket of a person's successful sign-ins at a site. The person's own methods
// count together. Links count separately, since others can make them.
func signedIn(scope string, site domain.Site, person domain.ID) ports.Bucket {
	return ports.Bucket{Scope: scope, Name: at(site, string(person)), Limit: signInsPerPerson}
}

const (
	bySelf    = "signed_in"
	byLink    = "signed_in_by_link"
	byPortal  = "signed_in_by_portal_link" // made by an operator
	confirmed = "confirmed"
)

// byLinkTo returns the bucket of a link. Links of an operator are counted by business. The website
// of a business makes as many as its visitors request, and locks nobody out of another business.
func byLinkTo(link domain.Link) ports.Bucket {
	if !link.OneBusiness {
		return signedIn(byLink, link.Site(), link.PersonID)
	}
	return ports.Bucket{Scope: byPortal, Name: string(link.PersonID) + " " + string(link.BusinessID), Limit: signInsPerPerson}
}

// succeed counts a sign-in of a person who proved who they are, and gives it back if do fails.
func (a *Access) succeed(ctx context.Context, bucket ports.Bucket, do func() error) error {
	allowance, err := a.limiter.Take(ctx, bucket)
	if err != nil {
		return domain.Internal(err)
	}
	if !allowance.Admitted {
		return signedInTooOften(allowance)
	}
	if err = do(); err != nil {
		_ = a.limiter.GiveBack(context.WithoutCancel(ctx), bucket) // if this fails, it counts
	}
	return err
}

// maySignIn returns TOO_MANY_SIGN_INS before hashing a password that would be refused in any case.
// It counts nothing: nobody has proved to be the person yet.
func (a *Access) maySignIn(ctx context.Context, site domain.Site, person domain.ID) error {
	allowance, err := a.limiter.Peek(ctx, signedIn(bySelf, site, person))
	if err != nil {
		return domain.Internal(err)
	}
	if !allowance.Admitted {
		return signedInTooOften(allowance)
	}
	return nil
}

func signedInTooOften(a ports.Allowance) *domain.Error {
	return &domain.Error{Kind: domain.KindLimited, Code: domain.CodeTooManySignIns, RetryAfter: a.RetryAfter,
		Message: "This account signed in 20 times within an hour. Continue in one of its sessions, or wait."}
}

// digestOf returns the name of a bucket: the limiter stores no email addresses and no secrets.
func digestOf(text string) string {
	digest := domain.BearerDigest(text)
	return hex.EncodeToString(digest[:16])
}

// namedBy returns the email address by which a sign-in is counted, even a malformed one.
func namedBy(folded domain.Email, typed string) string {
	if folded == "" {
		return "malformed " + strings.ToLower(typed)
	}
	return string(folded)
}

// Refused is an error of a sign-in that names the person concerned, for the log. It does not prove
// that the person sent the request.
type Refused struct {
	Person domain.ID
	// Site and Business are the target of a link. Without a site it was no link. Only the audit log
	// of that business, or of the staff, records it.
	Site     domain.Site
	Business domain.ID
	Err      error
}

// Error returns the message of the wrapped error.
func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns the wrapped error.
func (r *Refused) Unwrap() error { return r.Err }

// refusedTo adds the person of a refused sign-in to the error, where one is known.
func refusedTo(person domain.ID, err error) error { return refused(Refused{Person: person, Err: err}) }

// refusedLink adds the person of a refused link, and where the link leads, to the error.
func refusedLink(link domain.Link, err error) error {
	return refused(Refused{Person: link.PersonID, Site: link.Site(), Business: link.BusinessID, Err: err})
}

func refused(r Refused) error {
	var e *domain.Error
	if r.Person == "" || r.Person == unknownPerson || !errors.As(r.Err, &e) || e.Kind == domain.KindInternal {
		return r.Err
	}
	return &r
}

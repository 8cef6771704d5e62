// Package people lets people in: Directory keeps who belongs to a business or to the
// staff of the delivery company, Access signs them in and keeps their sessions, Passkeys
// sign them in by a device. What a role may do is the table in domain/permissions.go; an
// edge asks domain.Principal.Allows before it calls a use case for a person.
//
// Sessions are looked up with each page and not remembered: people turn pages by the
// second, and so a session that was ended, a membership that was removed and a person
// who was disabled are out of every process at once. To remember them for two seconds
// and to announce changes, as tenancy does for keys, was rejected: it would save one
// read by a unique index. An open connection checks again every second.
//
// # One account, several businesses
//
// A person has one account, and an owner of any business can invite any address, be
// shown the link and open it: such an owner may have set the password of another
// person's account. Three rules keep that within the owner's own business. A membership
// gives no right before its own invitation was used. Where that is used for an account
// that was active elsewhere, its password, its passkeys, its sessions and its other
// links end with it. And an owner is not shown a link of a person who belongs to
// another business or to the staff: Issued.MailOnly.
//
// # The link of an operator
//
// The company's own site lets its customers in by Directory.OpenPortal, and may know no more
// of a customer than an address that was typed there. So the link and its session are marked
// (domain.Session.OneBusiness): they open that business alone, accept no invitation, and
// reach nothing of the account of the person who has the address.
//
// # Guessing
//
// Who fails locks as little as possible, and nobody guesses without a bound. The limits are in
// guessing.go:
//
//   - Failures at a person count at one address. In a browser in which the person has
//     signed in before they count for that browser, so that nobody at the same address locks
//     it out. Passwords and passkeys are counted apart.
//   - Passwords also have a bound for one person from all addresses (a botnet), and one for
//     all persons from one address (password spraying). Where one of these is full, new
//     browsers wait: those of that person, or those at that address. Browsers in which the
//     person has signed in before, passkeys and links still let in. Email addresses that
//     nobody has are counted alike.
//   - Confirming within a session counts for the session and its person. Nobody without a
//     session of the person has a part in it.
//   - Links that do not exist are counted by address, and only where the person's own browser
//     asked: any web page can make it ask for images. A link that exists is never refused for
//     what others tried. Its 32 random bytes are the bound.
//   - Sign-ins that succeed are bounded by person, so that nobody with one account keeps the
//     processor and the tables busy. Sign-in links are counted apart from the other ways:
//     others can make links for a person.
//   - Passwords are checked one or two at a time, and addresses take turns: ports.Passwords.
//
// The counters are those of ports.RateLimiter, which bounds their memory. Their names hold
// digests, and no email addresses.
//
// Refusals keeps what was refused in the audit log.
package people

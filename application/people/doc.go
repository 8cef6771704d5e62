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
// A person has one account. An owner of any business can invite any address, and where no
// emails are sent is shown the link and can open it: that owner may have opened the account
// of another person and set its password. These rules keep it within the owner's business.
//
//   - Where emails are sent, links go to the mailbox alone: Issued.MailOnly.
//   - The answer to an invitation does not say whether the address has an account. The name
//     that was typed belongs to the invitation until that is accepted: domain.NewMember.
//   - A membership gives no right before its own invitation was accepted. The link accepts it
//     only for an account that was never opened. Any other account has to be signed in to, by
//     password, by passkey, in a session of its own or by a link that nobody else was shown.
//     Nothing of that account changes: domain.Link.TakesSignIn.
//   - A link for signing in that another person is shown opens the one business and not the
//     account, as the link of an operator below.
//   - domain.Person.EmailProven is set once the person comes by a link that nobody else was
//     shown, or by the identity provider. What was set in the account before ends then, for
//     another one may have set it. An account without it keeps nobody from the console.
//
// To end password and passkeys with each invitation that is accepted was rejected: any
// customer could take them from any person by one email.
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

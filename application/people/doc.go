// Package people lets people in and writes to them. Directory keeps who belongs to a business
// or to the staff of the delivery company, Access signs them in and keeps their sessions,
// Passkeys sign them in by a device, and MailSender sends what they are told.
//
// What a role may do is the table in domain/permissions.go; an
// edge asks domain.Principal.Allows before it calls a use case for a person.
//
// Sessions are looked up with each page and not remembered: people turn pages by the
// second, and so a session that was ended, a membership that was removed and a person
// who was disabled are out of every process at once. To remember them for two seconds
// and to announce changes, as package access does for keys, was rejected: it would save one
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
//   - Each site counts by itself. Anybody may ask at the console for sign-in links of a
//     customer's person, to whom none is sent there, and guess at the portal the password of
//     staff. Neither locks anybody out of the site at which they can come in.
//   - Failures at a person count at one address. In a browser in which the person has
//     signed in before they count for that browser, so that nobody at the same address locks
//     it out. Passwords and passkeys are counted apart.
//   - Passwords also have a bound for one person from all addresses (a botnet). Where it is
//     full, new browsers of that person wait. Browsers in which the person has signed in
//     before, passkeys and links still let in.
//   - Passwords and links have a bound for all persons from one address (password spraying).
//     An office has one address, so nobody is shut out where that is full: each person there
//     has two passwords and one link left. Email addresses that nobody has are counted alike.
//   - The challenge of a passkey has no bound, since nothing is stored for it: see Passkeys.
//   - Confirming within a session counts for the session and its person. Nobody without a
//     session of the person has a part in it.
//   - Links that do not exist are counted by address, for both sites together, and only where
//     the person's own browser asked: any web page can make it ask for images. A link that
//     exists is never refused for what others tried. Its 32 random bytes are the bound.
//   - Sign-ins that succeed are bounded by person, so that nobody with one account keeps the
//     processor and the tables busy. Sign-in links are counted apart from the other ways:
//     others can make links for a person.
//   - Passwords are checked one or two at a time, and networks take turns. Sessions and browsers
//     in which the person has signed in have turns of their own: ports.Passwords.
//
// The counters are those of ports.RateLimiter, which bounds their memory. Their names hold
// digests, and no email addresses.
//
// Refusals keeps what was refused in the audit log.
//
// # Mails
//
// The outbox holds mails to people about their sign-ins, keys and webhook endpoints. A use
// case that has something to tell calls
// ports.MailStore.Tell in the transaction of its change; the MailSender of any worker does
// the rest, tries again with growing pauses, and gives up when a mail is of no use any
// more. TellExpiring and TellFailing tell of what is to come: keys that expire soon, and
// endpoints that will be disabled.
//
//   - The outbox holds the kind of a mail and the IDs of what it is about, and no text.
//     A link is made when its mail is sent: its digest is stored, its secret is in this
//     process and in the mail alone. To keep the secret in the outbox until it is sent,
//     sealed or not, was rejected: a stolen table, or one of its backups, would open
//     accounts, and a link that waited for a mail server would be half over.
//   - So each attempt carries a link of its own. A server that failed may have taken the
//     mail all the same, and so links of earlier attempts work on; the first one that is
//     used ends the others.
//   - The recipient is checked twice: when the mail is made, and when it is sent. A
//     person who left meanwhile is told nothing, but for what lets them in: the account is
//     theirs.
//   - Mails that people cause are bounded by budgets of the business, see domain.MailBudget.
//     They are counted in the outbox itself, under a lock of the transaction that tells, so
//     that all processes count together. A limiter in Redis was rejected: it admits all where
//     Redis is away. Notices beyond a budget are joined into a summary of the hour by the
//     clock. The summary reads the audit log when it is sent, so that nothing else is stored.
//   - The number of an attempt is its lease. A sender that loses its lease may have sent
//     the mail: only then is it sent twice, and under the same Message-ID.
//   - A mail server that is gone holds up nothing else: mails wait, links are on screens
//     and in the answers of commands.
package people

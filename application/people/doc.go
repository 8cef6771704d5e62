// Package people signs people in and sends them mails. Directory manages who belongs to a business
// or to the staff of the delivery company. Access signs them in and manages their sessions.
// Passkeys signs them in by a device, and MailSender sends their mails.
//
// The table in domain/permissions.go says what a role may do. Each page or handler asks
// domain.Principal.Allows before it calls a use case for a person.
//
// Sessions are looked up for each page and not cached, since people open pages only every few
// seconds. So an ended session, a removed membership and a disabled person lose access in every
// process at once. Caching them for two seconds and announcing changes, as package access does for
// keys, was rejected: it would save one read by a unique index. An open connection checks again
// every second.
//
// # One account, several businesses
//
// A person has one account. An owner of any business can invite any address. Where no emails are
// sent, that owner sees the link and can open it. So they may have opened the account of another
// person and set its password. These rules keep the owner within their own business.
//
//   - Where emails are sent, links go only to the mailbox: Issued.MailOnly.
//   - The response to an invitation does not reveal whether the address has an account. The name
//     that was typed belongs to the invitation until that is accepted: domain.NewMember.
//   - A membership gives no right before its own invitation was accepted. The link accepts it only
//     for an account that was never opened. Any other account requires a sign-in: by password, by
//     passkey, in its own session or by a link that nobody else was shown. Nothing of that account
//     changes: domain.Link.TakesSignIn.
//   - A sign-in link that is asked for at the sign-in page is the person's own: domain.LinkAsked.
//     No act of an owner ends it. It leads where every other sign-in leads: past businesses that
//     are disabled or signed the person out just now, if there is another one.
//   - A sign-in link that another person is shown opens only the one business and not the account,
//     like the link of an operator below.
//   - domain.Person.EmailProven is set once the person comes by a link that nobody else was shown,
//     or by the identity provider. Every way in from before ends then: password, passkeys,
//     sessions, known browsers and connected identities. Somebody else may have set them.
//     Memberships stay: whoever invited the address meant the person who reads its mail. An account
//     without it keeps nobody out of the console.
//
// Turning those memberships into invitations again was rejected: one customer's invitation would
// take the only owner from another. Ending password and passkeys with each accepted invitation was rejected: any customer could take
// them from any person by one email.
//
// # The link of an operator
//
// The company's own site signs its customers in by Directory.OpenPortal. It may know no more of a
// customer than an address that was typed there. So the link and its session are marked
// (domain.Session.OneBusiness). They open only that business, accept no invitation, and give no
// access to the account of the person who has the address.
//
// # Guessing
//
// A failed sign-in locks as little as possible, and nobody can guess without a limit. The limits
// are in guessing.go:
//
//   - Each site counts separately. Anybody may request sign-in links at the console for a
//     customer's person, who gets none there, and guess the password of staff at the portal.
//     Neither locks anybody out of the site where they can sign in.
//   - Failures at a person count for one address. In a browser in which the person has signed in
//     before they count for that browser. So nobody at the same address locks it out. Passwords and
//     passkeys are counted separately.
//   - Passwords also have a limit for one person from all addresses (a botnet). Where it is
//     reached, new browsers of that person wait. Browsers in which the person has signed in before,
//     passkeys and links still work.
//   - Passwords and links have a limit for all persons from one address (password spraying). An
//     office has one address, so nobody is locked out where it is reached: each person there has
//     two passwords and one link left. Passwords at one person also have one for a network of many
//     addresses, beyond which two are left at each of them. Email addresses without an account are counted in the same
//     way.
//   - The challenge of a passkey has no limit, since nothing is stored for it: see Passkeys.
//   - Confirmations within a session count for the session and its person. Nobody without a session
//     of the person can cause any.
//   - Links that do not exist are counted by address, for both sites together. Requests caused by
//     another site's page do not count: any page can make a browser load images. What others tried
//     never blocks an existing link. Its 32 random bytes are protection enough.
//   - Successful sign-ins are limited by person, so that nobody with one account keeps the
//     processor and the tables busy. Sign-in links are counted separately from other methods, since
//     others can make links for a person.
//   - Passwords are checked one or two at a time, and networks take turns. Sessions, and browsers
//     in which the person has signed in, have their own queue: ports.Passwords.
//
// ports.RateLimiter holds the counters and limits their memory. Their names hold digests, and no
// email addresses.
//
// Refusals records refused attempts in the audit log.
//
// # Mails
//
// The outbox holds mails to people about their sign-ins, keys and webhook endpoints. A use case
// calls ports.MailStore.Tell in the transaction of its change. The MailSender of any worker does
// the rest: it retries with growing pauses, and gives up when a mail is of no use any more.
// TellExpiring and TellFailing announce what will happen: keys that expire soon, and endpoints that
// will be disabled.
//
//   - The outbox holds the kind of a mail and the IDs of its subjects, and no text. A link is made
//     when its mail is sent. Its digest is stored. Its secret is only in this process and in the
//     mail. Keeping the secret in the outbox until the mail is sent, sealed or not, was rejected. A
//     stolen table, or one of its backups, would open accounts. A link that waited for a mail
//     server would have used up half its time.
//   - So each attempt carries its own link. A server that failed may still have accepted the mail,
//     and so links of earlier attempts stay valid. The first one that is used ends the others.
//   - The recipient is checked twice: when the mail is queued, and when it is sent. A person who
//     left in the meantime gets no mail, except about their credentials: the account is theirs.
//   - Mails that people cause are limited by budgets of the business, see domain.MailBudget. They
//     are counted in the outbox itself, under a lock of the transaction that queues them, so that
//     all processes count together. A limiter in Redis was rejected: it admits all while Redis is
//     unavailable. Notices beyond a budget are joined into an hourly summary. It reads the audit
//     log when it is sent, so that nothing else is stored.
//   - The number of an attempt is its lease. A sender that loses its lease may have sent the mail.
//     Only then is it sent twice, with the same Message-ID.
//   - An unavailable mail server delays nothing else: mails wait, and links are on screens and in
//     the output of commands.
package people

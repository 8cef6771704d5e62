// Package mails sends what the outbox holds: mails to people about their sign-ins, keys
// and webhook endpoints. A use case that has something to tell calls
// ports.MailStore.Tell in the transaction of its change; the Sender of any worker does
// the rest, tries again with growing pauses, and gives up when a mail is of no use any
// more. TellExpiring and TellFailing tell of what is to come: keys that expire soon, and
// endpoints that will be disabled.
//
// Decisions that bind it:
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
package mails

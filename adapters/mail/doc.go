// Package mail writes the emails that people get, and sends them.
//
// # Texts
//
// Renderer renders emails: content.go has the text of each kind, and mail.txt and mail.html are the
// layout, as plain text and as HTML. A subject begins with what happened. An email loads nothing,
// not even the logo of the company, and its only personal address is the sign-in link.
//
// # Without a mail server
//
// LogMailer writes emails to the log where no mail server is set. In development the line has the
// subject and the sign-in link. Elsewhere a log is no place for these, and links come from pages
// and commands.
//
// # SMTP
//
// SMTPMailer sends emails through an SMTP server.
//
// smtps:// means TLS from the first byte. smtp:// means STARTTLS, and nothing is sent without it:
// emails have links that sign people in. There are two exceptions: a server on this machine, and
// one whose address ends in ?starttls=optional, such as a relay in a private network. A password is
// sent unencrypted only to a server on this machine. Certificates are checked against those of the
// system.
//
// Each email has its own connection. There are few emails, and a connection that broke unnoticed
// would cost more than a handshake. Each step has a deadline, and so have all steps together, so no
// slow server holds a sender.
//
// Under TLS the password is sent by PLAIN or LOGIN where the server offers them. Servers offer
// NTLM, GSSAPI or SCRAM to accounts that cannot use them, and then refuse them.
//
// A sender in an international domain is written in its ASCII form (xn--...) in EHLO, MAIL FROM and
// the header, because many servers accept nothing else. SMTPUTF8 is never used. Recipients are
// always ASCII, see domain.ParseEmail.
package mail

// Package mail writes the mails that people get, and sends them.
//
// # Letters
//
// Renderer makes the text of mails: for each kind what is said, in content.go,
// and one layout for all of them, as plain text and as HTML. A mail loads nothing from
// anywhere, and no address in it identifies the reader but the link for signing in.
//
// # Without a mail server
//
// LogMailer writes mails to the log, where no mail server is set. In development
// their subject is there and the link that lets in, ready to be opened; elsewhere a log is
// no place for these, and links come from screens and commands.
//
// # SMTP
//
// SMTPMailer sends mails through an SMTP server.
//
// smtps:// is TLS from the first byte; smtp:// is STARTTLS, without which nothing is
// sent: mails carry links that let people in. Two exceptions: a server on this machine,
// and one whose address ends in ?starttls=optional, such as a relay in a private
// network. A password goes to neither of them in the clear unless the server is on this
// machine. Certificates are checked against those of the system.
//
// Each mail has a connection of its own: there are few, and a connection that died
// without a word in the meantime would cost more than a handshake. Every step has a
// deadline and all of them together have one too, so that neither a server that says
// nothing nor one that says a byte at a time holds a sender.
//
// Under TLS the password goes by PLAIN or LOGIN where the server offers them: servers offer
// NTLM, GSSAPI or SCRAM to accounts that cannot use them, and refuse them then.
//
// A sender in a domain of other letters is written in its ASCII form (xn--...), in EHLO, in
// MAIL FROM and in the header: many servers take nothing else. SMTPUTF8 is never used.
// Recipients are ASCII already, see domain.ParseEmail.
package mail

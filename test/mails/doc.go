// Package mails tries mails from their cause to the mail server: who is told, what waits
// for a server that is gone, and where the secret of a link may be.
package mails

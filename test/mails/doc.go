// Package mails tests mails from their cause to the mail server: their recipients, what
// waits for a server that is gone, and where the secret of a link may be.
package mails

// Package oidc asks a company's identity provider who signs in, by OpenID Connect:
// the authorization code flow with PKCE, by github.com/coreos/go-oidc and
// golang.org/x/oauth2.
//
// The provider is looked up when the first person needs it and not when the program
// starts, once at a time and with a deadline; a failure is told to all who asked for two
// seconds and then it is tried again. What was found is looked up again after an hour,
// and goes on to be used while that fails. New signing keys are fetched when a token is
// signed by one.
//
// A token is believed where its signature is by a key of the provider and an algorithm
// with a public key, and issuer, audience, authorized party, time and nonce are right.
// Clocks may differ by a minute. Where a token has no address or no groups, the userinfo
// of the same subject is asked for them.
package oidc

// Package oidc signs people in through a company's identity provider with OpenID Connect: the
// authorization code flow with PKCE, by github.com/coreos/go-oidc and golang.org/x/oauth2.
//
// The package discovers the provider when the first person signs in and not when the program
// starts, once at a time and with a deadline. It returns a failure to all callers for two
// seconds and then tries again. It refreshes the result after an hour, and keeps using the old
// one while that fails. It fetches new signing keys when a token is signed by one.
//
// A token is valid if it is signed by a key of the provider with a public-key algorithm, and
// issuer, audience, authorized party, time and nonce are right. Clocks may differ by a minute.
// If a token has no address or no groups, the package asks the userinfo endpoint for the same
// subject.
package oidc

package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.IdentityProvider = (*Provider)(nil)

const (
	lookupKept    = time.Hour
	failureKept   = 2 * time.Second
	clocksDiffer  = time.Minute
	maxAnswer     = 1 << 20
	answerTimeout = 5 * time.Second
)

// Config holds the settings of the provider and of this client.
type Config struct {
	Issuer       string // exactly as the provider spells it
	ClientID     string
	ClientSecret string
	RedirectURL  string // to which the provider redirects browsers
	GroupsClaim  string // the claim with the groups of an account; a path has dots, such as realm_access.roles
}

// Provider is a client of one identity provider.
type Provider struct {
	config Config
	clock  ports.Clock
	client *http.Client

	inBody  atomic.Bool   // the provider expects the client secret in the body
	looking chan struct{} // holds one value during a discovery
	mu      sync.Mutex
	found   *found
	failure error
	at      time.Time // of the last result, or of the failure
}

// found is the provider as it described itself.
type found struct {
	provider *oidc.Provider
	oauth    oauth2.Config
	verifier *oidc.IDTokenVerifier
}

// New creates the client. It sends no request yet.
func New(c Config, clock ports.Clock) *Provider {
	return &Provider{config: c, clock: clock, client: newClient(), looking: make(chan struct{}, 1)}
}

// Begin returns the address of the provider's sign-in page.
func (p *Provider) Begin(ctx context.Context, r ports.IdentityRequest) (string, error) {
	f, err := p.lookup(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(r.Nonce), oauth2.S256ChallengeOption(r.Verifier),
		oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(r.MaxAge.Seconds())))}
	if r.MaxAge == 0 {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	return f.oauth.AuthCodeURL(r.State, options...), nil
}

// Check discovers the provider and redeems an invalid code, which signs nobody in: a provider
// checks the client before the code.
func (p *Provider) Check(ctx context.Context) error {
	f, err := p.lookup(ctx)
	if err != nil {
		return err
	}
	_, err = p.redeem(oidc.ClientContext(ctx, p.client), f, "checked-by-waybill-doctor", oauth2.GenerateVerifier())
	if errors.Is(err, ports.ErrIdentityUnproven) {
		return nil
	}
	return err
}

// redeem sends the client secret in the header and, if the provider does not accept that, in
// the body. The library does so too, but returns the second response alone: then an invalid
// code would look like a wrong secret.
func (p *Provider) redeem(ctx context.Context, f *found, code, verifier string) (token *oauth2.Token, err error) {
	styles := []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams}
	if p.inBody.Load() {
		slices.Reverse(styles)
	}
	for _, style := range styles {
		config, before := f.oauth, err
		config.Endpoint.AuthStyle = style
		token, err = config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
		var answer *oauth2.RetrieveError
		if err == nil {
			p.inBody.Store(style == oauth2.AuthStyleInParams)
			return token, nil
		}
		if err = notRedeemed(err); errors.Is(err, ports.ErrIdentityUnproven) || !errors.As(err, &answer) {
			return nil, err
		}
		if errors.Is(before, ports.ErrIdentityClientRefused) && answer.Response != nil && answer.Response.StatusCode < http.StatusInternalServerError {
			err = before
		}
	}
	return nil, err
}

// Finish redeems a code and returns the identity.
func (p *Provider) Finish(ctx context.Context, r ports.IdentityRequest, code string) (domain.Identity, error) {
	f, err := p.lookup(ctx)
	if err != nil {
		return domain.Identity{}, err
	}
	if code == "" {
		return domain.Identity{}, unproven(errors.New("there is no code"))
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.redeem(ctx, f, code, r.Verifier)
	if err != nil {
		return domain.Identity{}, err
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return domain.Identity{}, unavailable(errors.New("the answer to a code has no id_token"))
	}
	verified, err := f.verifier.Verify(ctx, raw)
	if err != nil {
		return domain.Identity{}, unproven(err)
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(r.Nonce)) != 1 {
		return domain.Identity{}, unproven(errors.New("the nonce of the token is another one"))
	}
	stated, err := p.claims(verified.Claims)
	if err != nil {
		return domain.Identity{}, unproven(err)
	}
	if party := stated.authorizedParty; party != "" && party != p.config.ClientID || party == "" && len(verified.Audience) > 1 {
		return domain.Identity{}, unproven(fmt.Errorf("the token is for the client %q", party))
	}
	if (stated.email == "" || stated.groups == nil) && f.provider.UserInfoEndpoint() != "" {
		more, err := p.userInfo(ctx, f, token, verified.Subject)
		if err != nil {
			return domain.Identity{}, err
		}
		stated.fill(more)
	}
	return domain.Identity{
		Issuer: verified.Issuer, Subject: verified.Subject, Email: stated.email, EmailVerified: stated.verified, Name: stated.name,
		Groups: stated.groups, GroupsLeftOut: stated.groupsLeftOut, AuthenticatedAt: stated.authenticatedAt,
	}, nil
}

// userInfo requests what a token leaves out.
func (p *Provider) userInfo(ctx context.Context, f *found, token *oauth2.Token, subject string) (claims, error) {
	info, err := f.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return claims{}, unavailable(err)
	}
	if info.Subject != subject {
		return claims{}, unproven(errors.New("the userinfo is of another account"))
	}
	stated, err := p.claims(info.Claims)
	if err != nil {
		return claims{}, unavailable(err)
	}
	return stated, nil
}

// lookup returns the provider's description. It refreshes one older than lookupKept, and
// returns the old one while the provider does not respond.
func (p *Provider) lookup(ctx context.Context) (*found, error) {
	if f, known, err := p.known(); known {
		return f, err
	}
	select {
	case p.looking <- struct{}{}:
		defer func() { <-p.looking }()
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	}
	if f, known, err := p.known(); known { // by the caller we waited for
		return f, err
	}
	f, err := p.discover()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at, p.failure = time.Now(), err
	if err == nil {
		p.found = f
	}
	if p.found == nil {
		return nil, p.failure
	}
	return p.found, nil
}

// known returns the last result while it is valid.
func (p *Provider) known() (f *found, known bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure != nil {
		known = time.Since(p.at) < failureKept
	} else {
		known = p.found != nil && time.Since(p.at) < lookupKept
	}
	if p.found != nil {
		return p.found, known, nil
	}
	return nil, known, p.failure
}

// discover fetches the provider's description. It continues when its first caller gives up:
// others wait for it too.
func (p *Provider) discover() (*found, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.Background(), p.client), answerTimeout)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, p.config.Issuer)
	if err != nil {
		return nil, unavailable(err)
	}
	var described struct {
		Scopes []string `json:"scopes_supported"`
		Keys   string   `json:"jwks_uri"`
	}
	if err := provider.Claims(&described); err != nil {
		return nil, unavailable(err)
	}
	endpoint := provider.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, described.Keys} {
		if err := p.sameCare(address); err != nil {
			return nil, unavailable(err)
		}
	}
	f := &found{provider: provider, oauth: oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: endpoint, RedirectURL: p.config.RedirectURL,
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}}
	if slices.Contains(described.Scopes, "groups") { // others refuse an unknown scope
		f.oauth.Scopes = append(f.oauth.Scopes, "groups")
	}
	f.verifier = provider.Verifier(&oidc.Config{
		ClientID: p.config.ClientID, Now: func() time.Time { return p.clock.Now().Add(-clocksDiffer) },
	})
	return f, nil
}

// sameCare refuses an address that is less protected than the issuer's.
func (p *Provider) sameCare(address string) error {
	issuer, err := url.Parse(p.config.Issuer)
	if err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != issuer.Scheme {
		return fmt.Errorf("it describes itself by the address %q", address)
	}
	return nil
}

// notRedeemed distinguishes an invalid code, a client that the provider refuses, and a failure
// of the provider.
func notRedeemed(err error) error {
	var e *oauth2.RetrieveError
	switch {
	case !errors.As(err, &e):
	case e.ErrorCode == "invalid_grant":
		return unproven(err)
	case e.ErrorCode == "invalid_client" || e.ErrorCode == "unauthorized_client" ||
		e.Response != nil && e.Response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%w: %w", ports.ErrIdentityClientRefused, err)
	}
	return unavailable(err)
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", ports.ErrIdentityUnavailable, err) }

func unproven(err error) error { return fmt.Errorf("%w: %w", ports.ErrIdentityUnproven, err) }

package tenancy

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Limits are the request limits of admission.
type Limits struct {
	PerKey      domain.RateLimit
	PerBusiness domain.RateLimit // unless the business has its own
	PerAddress  domain.RateLimit // failed authentications of one client address
}

// Admission decides whether a request is let in, and on whose behalf.
type Admission struct {
	keys    *keyCache
	flights *flights
	limiter ports.RateLimiter
	digest  ports.KeyDigester
	clock   ports.Clock
	limits  Limits
}

// NewAdmission makes the gate every request passes first.
func NewAdmission(s ports.Storage, l ports.RateLimiter, d ports.KeyDigester, c ports.Clock, limits Limits) *Admission {
	return &Admission{keys: newKeyCache(s, c), flights: newFlights(), limiter: l, digest: d, clock: c, limits: limits}
}

// Knock is what admission looks at of a request.
type Knock struct {
	Environment domain.Environment // of the host that was called
	Address     string             // of the client
	Key         string             // empty: none was sent
	Malformed   bool               // something was sent that is no bearer token
	Elsewhere   string             // base address of the other environment, for who took the wrong host
}

// Grant is the outcome. Allowance is told about the bucket that bites first,
// also when the request is refused.
type Grant struct {
	Credential domain.Credential
	Allowance  ports.Allowance
	charged    []ports.Bucket
}

// Admit lets a request in or answers 401 or 429. Only failures count against
// the client's address; a key that worked in the last minutes is served even
// where its address is locked out, so that a neighbour behind the same
// address cannot shut it out.
func (a *Admission) Admit(ctx context.Context, k Knock) (Grant, error) {
	credential, err := a.identify(ctx, k)
	if err != nil {
		return a.failed(ctx, k, err)
	}
	buckets := a.buckets(credential)
	allowance, err := a.limiter.Take(ctx, buckets...)
	grant := Grant{Credential: credential, Allowance: allowance, charged: buckets}
	if err != nil {
		return grant, domain.Internal(err)
	}
	if !allowance.Admitted {
		return grant, limited(allowance)
	}
	return grant, nil
}

// GiveBack returns what a request was charged, for an answer that does not count.
func (a *Admission) GiveBack(ctx context.Context, g *Grant) error {
	if err := a.limiter.GiveBack(ctx, g.charged...); err != nil {
		return err
	}
	if g.Allowance.Remaining < g.Allowance.Limit.Limit {
		g.Allowance.Remaining++
	}
	return nil
}

// Stranger is what a client is told that has not shown a key.
func (a *Admission) Stranger(ctx context.Context, address string) (ports.Allowance, error) {
	return a.limiter.Peek(ctx, a.addressBucket(address))
}

// LimitsOf is what applies to a credential.
func (a *Admission) LimitsOf(c *domain.Credential) (perKey, perBusiness domain.RateLimit) {
	perBusiness = a.limits.PerBusiness
	if c.Business.RateLimit != nil {
		perBusiness = *c.Business.RateLimit
	}
	return a.limits.PerKey, perBusiness
}

func (a *Admission) buckets(c domain.Credential) []ports.Bucket {
	perKey, perBusiness := a.LimitsOf(&c)
	return []ports.Bucket{
		{Scope: "key", Name: string(c.Key.ID), Limit: perKey},
		// Load tests in the sandbox must not use up the live allowance.
		{Scope: "business", Name: string(c.Business.ID) + "/" + string(c.Key.Environment), Limit: perBusiness},
	}
}

func (a *Admission) addressBucket(address string) ports.Bucket {
	return ports.Bucket{Scope: "address", Name: address, Limit: a.limits.PerAddress}
}

// identify goes from the cheapest check to the dearest: form, checksum,
// environment, then memory, and the database only for an address in good standing.
func (a *Admission) identify(ctx context.Context, k Knock) (domain.Credential, error) {
	none := domain.Credential{}
	switch {
	case k.Malformed:
		return none, badKey("malformed", "The Authorization header is not of the form: Bearer "+domain.KeyPrefix(k.Environment)+"... with exactly one space.")
	case k.Key == "":
		return none, badKey("missing", "No API key. Send Authorization: Bearer "+domain.KeyPrefix(k.Environment)+"...")
	}
	environment, ok := domain.ParseAPIKey(k.Key)
	switch {
	case !ok && !strings.HasPrefix(k.Key, domain.KeyPrefix(domain.Live)) && !strings.HasPrefix(k.Key, domain.KeyPrefix(domain.Sandbox)):
		return none, badKey("malformed", "This is no key of ours: one for this host begins with "+domain.KeyPrefix(k.Environment)+".")
	case !ok:
		return none, badKey("malformed", "The key is mistyped or cut off: its checksum does not match. Copy it again, whole.")
	}
	if environment != k.Environment {
		return none, mismatch(environment, k)
	}
	digest := a.digest.Digest(k.Key)
	if !a.keys.trusts(digest) {
		allowance, err := a.limiter.Peek(ctx, a.addressBucket(k.Address))
		if err != nil {
			return none, domain.Internal(err)
		}
		if !allowance.Admitted {
			return none, limited(allowance)
		}
	}
	credential, err := a.keys.find(ctx, digest)
	if errors.Is(err, domain.ErrNotFound) {
		return none, domain.UnknownAPIKey(k.Key[len(k.Key)-4:])
	}
	if err != nil {
		return none, err
	}
	return credential, credential.Usable(a.clock.Now())
}

// failed counts a failure against the address and turns it into a 429 once
// the address has had too many. Failures of our own are not the client's.
func (a *Admission) failed(ctx context.Context, k Knock, cause error) (Grant, error) {
	var e *domain.Error
	if !errors.As(cause, &e) || e.Kind != domain.KindUnauthenticated {
		allowance, err := a.Stranger(ctx, k.Address)
		if err != nil {
			return Grant{}, domain.Internal(err)
		}
		return Grant{Allowance: allowance}, cause
	}
	allowance, err := a.limiter.Take(ctx, a.addressBucket(k.Address))
	if err != nil {
		return Grant{}, domain.Internal(err)
	}
	if !allowance.Admitted {
		cause = limited(allowance)
	}
	return Grant{Allowance: allowance}, cause
}

func badKey(reason, message string) *domain.Error {
	return &domain.Error{Kind: domain.KindUnauthenticated, Code: domain.CodeInvalidAPIKey,
		Message: message, Details: map[string]any{"reason": reason}}
}

func mismatch(key domain.Environment, k Knock) *domain.Error {
	return &domain.Error{
		Kind: domain.KindUnauthenticated, Code: domain.CodeEnvironmentMismatch,
		Message: "This is a " + string(key) + " key on the " + string(k.Environment) + " host. Use a " +
			domain.KeyPrefix(k.Environment) + " key here, or call " + k.Elsewhere + ".",
		Details: map[string]any{"key_environment": string(key), "host_environment": string(k.Environment)},
	}
}

func limited(a ports.Allowance) *domain.Error {
	seconds := int(a.Limit.Window.Seconds())
	span := "in " + strconv.Itoa(seconds) + " s"
	if a.Limit.Window == time.Minute {
		span = "a minute"
	}
	spent := map[string]string{
		"key":      "requests " + span + " for this key",
		"business": "requests " + span + " for this business",
		"address":  "failed authentications " + span + " from this address",
	}[a.Scope]
	// Whole seconds, so that the text and the header say the same. What is
	// below a millisecond has passed before the answer arrives.
	wait := max(time.Second, (a.RetryAfter - time.Millisecond + time.Second - 1).Truncate(time.Second))
	return &domain.Error{
		Kind: domain.KindLimited, Code: domain.CodeRateLimitExceeded,
		Message: strconv.Itoa(a.Limit.Limit) + " " + spent + " are used up. Try again in " + strconv.Itoa(int(wait.Seconds())) + " s.",
		Details: map[string]any{
			"scope": a.Scope, "limit": a.Limit.Limit, "window_seconds": seconds,
		},
		RetryAfter: wait,
	}
}

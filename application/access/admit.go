package access

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"waybill/application/lookups"
	"waybill/domain"
	"waybill/ports"
)

const (
	// unmodifiedShare is the number of free 304 responses for each request that a key has in a
	// window.
	unmodifiedShare = 10
	// mostDoubtful limits the keys and tokens from addresses with too many failures that one lookup takes.
	mostDoubtful = 1000
)

// Limits holds the request limits of admission.
type Limits struct {
	PerKey      domain.RateLimit
	PerBusiness domain.RateLimit // unless the business has its own
	PerAddress  domain.RateLimit // failed authentications of one client address
}

// Admission decides whether a request is admitted, and for which customer.
type Admission struct {
	keys           *keyCache
	unknownCallers *unknownCallers
	doubtful       *lookups.Lookups[[32]byte] // keys from addresses that failed too often
	uses           *keyUses
	inFlight       *permits
	lists          *permits // included in those in flight
	bulks          *permits // not included in those in flight: running or waiting
	bulkTurns      *permits // of these, the running ones
	limiter        ports.RateLimiter
	digest         ports.KeyDigester
	clock          ports.Clock
	limits         Limits
}

// NewAdmission returns the check that every request passes first.
func NewAdmission(s ports.Storage, l ports.RateLimiter, d ports.KeyDigester, c ports.Clock, limits Limits) *Admission {
	return &Admission{
		keys: newKeyCache(s, d, c), unknownCallers: newUnknownCallers(), uses: newKeyUses(s), inFlight: newPermits(MaxInFlight, 0),
		lists: newPermits(MaxLists, ListPatience), bulks: newPermits(MaxBulks+MaxWaitingBulks, 0),
		bulkTurns: newPermits(MaxBulks, BulkPatience),
		doubtful: lookups.New(mostDoubtful, func(ctx context.Context, of [][32]byte) ([][32]byte, error) {
			return s.Read().Tenancy.Known(ctx, of)
		}),
		limiter: l, digest: d, clock: c, limits: limits,
	}
}

// Credentials holds what admission reads from a request.
type Credentials struct {
	Environment domain.Environment // of the host that was called
	Address     string             // of the client
	Key         string             // empty: none was sent
	Malformed   bool               // something was sent that is not a bearer token
	Elsewhere   string             // base address of the other environment, for callers that used the wrong host
}

// Grant holds the outcome. Allowance is that of the bucket nearest to its limit, also when the
// request is refused.
type Grant struct {
	Credential domain.Credential
	// Refused is the credential of a known key that does not work; nil: the key works, or is
	// unknown. It gives no access and is only for the request log.
	Refused   *domain.Credential
	Allowance ports.Allowance
	charged   []ports.Bucket
}

// Caller returns the tenant and key of the request, admitted or not, or an empty credential.
func (g *Grant) Caller() *domain.Credential {
	if g.Refused != nil {
		return g.Refused
	}
	return &g.Credential
}

// Admit admits a request or returns 401 or 429. Only failures count against the client's address.
// Beyond its limit only credentials are refused that fail the checksum or belong to no key: a valid
// key works from any address.
func (a *Admission) Admit(ctx context.Context, c Credentials) (Grant, error) {
	credential, refusal, err := a.identify(ctx, c)
	if err != nil {
		return refusal.of(credential), err
	}
	a.uses.note(credential.Key.ID, a.clock.Now())
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

// Confirm returns nil while the key of an admitted request still works. A body may arrive slowly,
// and a key that was revoked in the meantime must not change anything.
func (a *Admission) Confirm(ctx context.Context, c Credentials) error {
	_, _, err := a.identify(ctx, c)
	return err
}

// of adds the credential of the refused key to a refusal.
func (g Grant) of(c domain.Credential) Grant {
	if c.Key.ID != "" {
		g.Refused = &c
	}
	return g
}

// Recognize identifies the caller of a path that does not exist, only for the request log. A valid
// key is not charged. An invalid one counts against its address as on any call, so that guessing
// keys costs as much here.
func (a *Admission) Recognize(ctx context.Context, c Credentials) Grant {
	if _, err := a.read(c); err != nil {
		return Grant{} // the checksum fails, so the text names no key
	}
	credential, refusal, err := a.identify(ctx, c)
	if err != nil {
		return refusal.of(credential)
	}
	a.uses.note(credential.Key.ID, a.clock.Now())
	return Grant{Credential: credential}
}

// Forget invalidates the cached keys of an application, or all keys if the ID is empty.
// ports.Invalidations call it.
func (a *Admission) Forget(application domain.ID) { a.keys.forget(application) }

// GiveBack returns what a request was charged, for a response that does not count. It works after
// the client has disconnected too, so that the client is not charged when it comes back.
func (a *Admission) GiveBack(ctx context.Context, g *Grant) error {
	if err := a.limiter.GiveBack(context.WithoutCancel(ctx), g.charged...); err != nil {
		return err
	}
	if g.Allowance.Remaining < g.Allowance.Limit.Limit {
		g.Allowance.Remaining++
	}
	return nil
}

// GiveBackUnmodified gives back a 304 response to a tag that the client was given. In a window, at
// most unmodifiedShare times the limit of the key is free. Responses beyond that stay charged.
func (a *Admission) GiveBackUnmodified(ctx context.Context, g *Grant) error {
	perKey, _ := a.LimitsOf(&g.Credential)
	allowance, err := a.limiter.Take(context.WithoutCancel(ctx), ports.Bucket{
		Scope: "unmodified", Name: string(g.Credential.Key.ID),
		Limit: domain.RateLimit{Limit: min(perKey.Limit*unmodifiedShare, domain.MaxRateLimit), Window: perKey.Window},
	})
	if err != nil || !allowance.Admitted {
		return err
	}
	return a.GiveBack(ctx, g)
}

// Spent sets a grant as if the limit of its key had just been used up, and returns the error for
// it.
func (a *Admission) Spent(g *Grant) *domain.Error {
	perKey, _ := a.LimitsOf(&g.Credential)
	g.Allowance = ports.Allowance{
		Scope: "key", Limit: perKey, Reset: time.Second, RetryAfter: time.Second,
	}
	return limited(g.Allowance)
}

// Anonymous returns the allowance of a client without a key, by its address.
func (a *Admission) Anonymous(ctx context.Context, address string) (ports.Allowance, error) {
	return a.limiter.Peek(ctx, a.addressBucket(address))
}

// LimitsOf returns the limits that apply to a credential.
func (a *Admission) LimitsOf(c *domain.Credential) (perKey, perBusiness domain.RateLimit) {
	perBusiness = a.limits.PerBusiness
	if c.Business.RateLimit != nil {
		perBusiness = *c.Business.RateLimit
	}
	return a.limits.PerKey, perBusiness
}

func (a *Admission) buckets(c domain.Credential) []ports.Bucket {
	perKey, _ := a.LimitsOf(&c)
	return []ports.Bucket{{Scope: "key", Name: string(c.Key.ID), Limit: perKey}, a.businessBucket(&c)}
}

// businessBucket returns the bucket of a business in one environment: load tests in the sandbox
// must not use up the live allowance.
func (a *Admission) businessBucket(c *domain.Credential) ports.Bucket {
	_, perBusiness := a.LimitsOf(c)
	return ports.Bucket{Scope: "business", Name: string(c.Business.ID) + "/" + string(c.Key.Environment), Limit: perBusiness}
}

func (a *Admission) addressBucket(address string) ports.Bucket {
	return ports.Bucket{Scope: "address", Name: address, Limit: a.limits.PerAddress}
}

// identify checks in order of cost: form, checksum, environment, cache, and then the database, at
// once for an address with few failures. On failure the grant has the allowance of the address. The
// credential is then that of a known key that does not work, or empty.
func (a *Admission) identify(ctx context.Context, c Credentials) (domain.Credential, Grant, error) {
	digest, err := a.read(c)
	if domain.HasCode(err, domain.CodeEnvironmentMismatch) {
		return a.refuseMisplaced(ctx, c, err)
	}
	if err != nil {
		return a.refuse(ctx, c, err)
	}
	if !a.keys.trusts(digest) {
		leave, err := a.unknownCallers.enter(ctx, digest)
		if err != nil {
			return a.refuse(ctx, c, err)
		}
		defer leave()
		if !a.keys.trusts(digest) { // unless a concurrent request has found it
			return a.introduce(ctx, c, digest)
		}
	}
	credential, err := a.open(ctx, c, digest)
	if err != nil {
		_, refusal, err := a.refuse(ctx, c, err)
		return credential, refusal, err
	}
	return credential, Grant{}, nil
}

// refuseMisplaced refuses a key of the other environment. It looks the key up, so that its owner
// finds the call in the request log, while the address has few failures.
func (a *Admission) refuseMisplaced(ctx context.Context, c Credentials, mismatch error) (domain.Credential, Grant, error) {
	none, refusal, err := a.refuse(ctx, c, mismatch)
	if !refusal.Allowance.Admitted || !domain.HasCode(err, domain.CodeEnvironmentMismatch) {
		return none, refusal, err
	}
	credential, failed := a.keys.find(ctx, c.Key, a.digest.Digest(c.Key))
	if failed != nil { // unknown, or not now: the refusal is the same
		return none, refusal, err
	}
	return credential, refusal, err
}

// read checks the form, checksum and environment of a key, without cache or database.
func (a *Admission) read(c Credentials) (digest [32]byte, err error) {
	switch {
	case c.Malformed:
		return digest, badKey("malformed", "The Authorization header is not of the form: Bearer "+domain.KeyPrefix(c.Environment)+
			"... with exactly one space.")
	case c.Key == "":
		return digest, badKey("missing", "No API key. Send Authorization: Bearer "+domain.KeyPrefix(c.Environment)+"...")
	}
	environment, ok := domain.ParseAPIKey(c.Key)
	switch {
	case !ok && !strings.HasPrefix(c.Key, domain.KeyPrefix(domain.Live)) && !strings.HasPrefix(c.Key, domain.KeyPrefix(domain.Sandbox)):
		return digest, badKey("malformed", "This is no key of ours: one for this host begins with "+domain.KeyPrefix(c.Environment)+".")
	case !ok:
		return digest, badKey("malformed", "The key is mistyped or cut off: its checksum does not match. Copy it again, whole.")
	case environment != c.Environment:
		return digest, mismatch(environment, c)
	}
	return a.digest.Digest(c.Key), nil
}

// introduce looks up a key that did not work lately. It charges the address first and gives that
// back for a valid key. So failing single lookups never exceed the limit of the address, however
// many are sent at once.
func (a *Admission) introduce(ctx context.Context, c Credentials, digest [32]byte) (domain.Credential, Grant, error) {
	bucket := a.addressBucket(c.Address)
	allowance, err := a.limiter.Take(ctx, bucket)
	switch {
	case err != nil:
		return domain.Credential{}, Grant{}, domain.Internal(err)
	case !allowance.Admitted:
		credential, err := a.doubt(ctx, c, digest, allowance)
		return credential, Grant{Allowance: allowance}, err
	}
	credential, err := a.open(ctx, c, digest)
	if unauthenticated(err) {
		return credential, Grant{Allowance: allowance}, err
	}
	// Also if the storage failed: that is not the client's failure.
	grant := Grant{Allowance: allowance, charged: []ports.Bucket{bucket}}
	if back := a.GiveBack(ctx, &grant); back != nil {
		return domain.Credential{}, Grant{}, domain.Internal(errors.Join(err, back))
	}
	return credential, Grant{Allowance: grant.Allowance}, err
}

// doubt looks up a key from an address with too many failures. All such keys are looked up
// together, at a fixed rate. More guesses cost no more, and no existing key is refused because of
// them.
func (a *Admission) doubt(ctx context.Context, c Credentials, digest [32]byte, spent ports.Allowance) (none domain.Credential, _ error) {
	known, err := exists(ctx, a.doubtful, digestsOf(a.digest, c.Key))
	switch {
	case err != nil:
		return none, err
	case known:
		return a.open(ctx, c, digest)
	}
	return none, limited(spent)
}

// exists reports whether a secret is stored under one of its digests. It looks it up together with
// others.
func exists(ctx context.Context, doubtful *lookups.Lookups[[32]byte], digests [][32]byte) (known bool, err error) {
	for _, of := range digests {
		known, err = doubtful.Exists(ctx, of)
		switch {
		case errors.Is(err, lookups.ErrCrowded):
			return false, domain.ServiceUnavailable(err)
		case err != nil || known:
			return known, err
		}
	}
	return false, nil
}

// open finds the credential of a key and checks that it works now. If it does not, the error comes
// with the credential.
func (a *Admission) open(ctx context.Context, c Credentials, digest [32]byte) (domain.Credential, error) {
	credential, err := a.keys.find(ctx, c.Key, digest)
	if errors.Is(err, domain.ErrNotFound) {
		return credential, domain.UnknownAPIKey(c.Key[len(c.Key)-4:])
	}
	if err != nil {
		return credential, err
	}
	if err := credential.Usable(a.clock.Now()); err != nil {
		return credential, err
	}
	if key := credential.Key; key.Digest != digest {
		a.uses.found(FoundDigest{ID: key.ID, Stored: key.Digest, Current: digest, Pepper: key.Pepper})
	}
	return credential, nil
}

// refuse counts a failure against the address and turns a guess into a 429 once the address has had
// too many. Failures of the service do not count.
func (a *Admission) refuse(ctx context.Context, c Credentials, cause error) (none domain.Credential, _ Grant, _ error) {
	if !unauthenticated(cause) {
		allowance, err := a.Anonymous(ctx, c.Address)
		if err != nil {
			return none, Grant{}, domain.Internal(err)
		}
		return none, Grant{Allowance: allowance}, cause
	}
	allowance, err := a.limiter.Take(ctx, a.addressBucket(c.Address))
	if err != nil {
		return none, Grant{}, domain.Internal(err)
	}
	if !allowance.Admitted && guessed(cause) {
		cause = limited(allowance)
	}
	return none, Grant{Allowance: allowance}, cause
}

// guessed reports whether a key may be invented. A revoked key, or one of the other environment,
// gets its own error even beyond the limit.
func guessed(err error) bool { return domain.HasCode(err, domain.CodeInvalidAPIKey) }

func unauthenticated(err error) bool {
	var e *domain.Error
	return errors.As(err, &e) && e.Kind == domain.KindUnauthenticated
}

func badKey(reason, message string) *domain.Error {
	return &domain.Error{Kind: domain.KindUnauthenticated, Code: domain.CodeInvalidAPIKey,
		Message: message, Details: map[string]any{"reason": reason}}
}

func mismatch(key domain.Environment, c Credentials) *domain.Error {
	return &domain.Error{
		Kind: domain.KindUnauthenticated, Code: domain.CodeEnvironmentMismatch,
		Message: "This is a " + string(key) + " key on the " + string(c.Environment) + " host. Use a " +
			domain.KeyPrefix(c.Environment) + " key here, or call " + c.Elsewhere + ".",
		Details: map[string]any{"key_environment": string(key), "host_environment": string(c.Environment)},
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
	// Whole seconds, so that the text and the header agree. Less than a microsecond passes before
	// the response is sent.
	wait := max(time.Second, (a.RetryAfter - time.Microsecond + time.Second - 1).Truncate(time.Second))
	return &domain.Error{
		Kind: domain.KindLimited, Code: domain.CodeRateLimitExceeded,
		Message: strconv.Itoa(a.Limit.Limit) + " " + spent + " are used up. Try again in " + strconv.Itoa(int(wait.Seconds())) + " s.",
		Details: map[string]any{
			"scope": a.Scope, "limit": a.Limit.Limit, "window_seconds": seconds,
		},
		RetryAfter: wait,
	}
}

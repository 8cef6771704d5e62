package access

import (
	"context"
	"strings"
	"sync"
	"time"

	"waybill/application/lookups"
	"waybill/domain"
	"waybill/ports"
)

const (
	// touchEvery is the precision of a token's time of last use.
	touchEvery = time.Minute
	// maxTrusted limits the tokens that are trusted behind a locked-out address.
	maxTrusted = 1000
)

// FailedOperators limits the failed authentications of one client address at the operations API.
type FailedOperators domain.RateLimit

// Operators admits operators to the operations API. Each request reads its token from the database:
// operators are few, and a revoked token stops at once.
type Operators struct {
	storage  ports.Storage
	limiter  ports.RateLimiter
	digest   ports.KeyDigester
	clock    ports.Clock
	failed   domain.RateLimit
	doubtful *lookups.Lookups[[32]byte] // tokens from addresses that failed too often

	mu      sync.Mutex
	trusted map[[32]byte]time.Time // when it worked last
}

// NewOperators returns the use cases of operator tokens.
func NewOperators(s ports.Storage, l ports.RateLimiter, d ports.KeyDigester, c ports.Clock, failed FailedOperators) *Operators {
	return &Operators{
		storage: s, limiter: l, digest: d, clock: c,
		failed: domain.RateLimit(failed), trusted: map[[32]byte]time.Time{},
		doubtful: lookups.New(mostDoubtful, func(ctx context.Context, _ [][32]byte) (known [][32]byte, err error) {
			tokens, err := s.Read().Operators.List(ctx) // they are few
			for _, t := range tokens {
				if t.Usable(c.Now()) == nil {
					known = append(known, t.Digest)
				}
			}
			return known, err
		}),
	}
}

// OperatorCredentials holds what admission reads from a request to the operations API.
type OperatorCredentials struct {
	Address   string // of the client
	Token     string // empty: none was sent
	Malformed bool   // something was sent that is not a bearer token
	RequestID string
	// Kinds lists the kinds of operators that may make the call. Admins may make any.
	Kinds []domain.OperatorKind
}

// Identify returns the operator of a call. It returns 401, 429, or 403 for a token of another kind,
// together with the owner of the refused token, if known. Only failures of the token count against
// the client's address. Beyond its limit every token that works is still admitted.
func (o *Operators) Identify(ctx context.Context, c OperatorCredentials) (domain.AuditActor, error) {
	token, err := o.authenticate(ctx, c)
	if err == nil {
		err = token.Allows(c.Kinds...)
	}
	return domain.AuditActor{ID: token.ID, Name: token.Name, RequestID: c.RequestID}, err
}

func (o *Operators) authenticate(ctx context.Context, c OperatorCredentials) (domain.OperatorToken, error) {
	digest, err := o.read(c)
	if err == nil && o.trusts(digest) {
		token, err := o.find(ctx, c, digest)
		if unauthenticated(err) {
			o.distrust(digest)
			return token, o.charge(ctx, c, err)
		}
		if err == nil {
			o.trust(digest) // again: an active operator stays trusted
		}
		return token, err
	}
	if err != nil {
		return domain.OperatorToken{}, o.charge(ctx, c, err)
	}
	// Charged before the lookup and given back after a successful one. So failing lookups never
	// exceed the limit of the address, however many are sent at once.
	refused := o.charge(ctx, c, nil)
	switch {
	case domain.HasCode(refused, domain.CodeRateLimitExceeded):
		return o.doubt(ctx, c, digest, refused)
	case refused != nil:
		return domain.OperatorToken{}, refused
	}
	token, err := o.find(ctx, c, digest)
	if unauthenticated(err) {
		return token, err
	}
	if back := o.limiter.GiveBack(context.WithoutCancel(ctx), o.bucket(c)); back != nil && err == nil {
		return token, domain.Internal(back)
	}
	if err == nil {
		o.trust(digest)
	}
	return token, err
}

// doubt looks up a token from an address with too many failures, together with all others of the
// kind. A token that worked in the last minutes does not wait for that.
func (o *Operators) doubt(ctx context.Context, c OperatorCredentials, digest [32]byte, spent error) (domain.OperatorToken, error) {
	known, err := exists(ctx, o.doubtful, digestsOf(o.digest, c.Token))
	switch {
	case err != nil:
		return domain.OperatorToken{}, err
	case !known:
		return domain.OperatorToken{}, spent
	}
	token, err := o.find(ctx, c, digest)
	if err == nil {
		o.trust(digest)
	}
	return token, err
}

func (o *Operators) bucket(c OperatorCredentials) ports.Bucket {
	return ports.Bucket{Scope: "operator_address", Name: c.Address, Limit: o.failed}
}

// charge counts a failure and returns it, or 429 if there were too many.
func (o *Operators) charge(ctx context.Context, c OperatorCredentials, failure error) error {
	allowance, err := o.limiter.Take(ctx, o.bucket(c))
	switch {
	case err != nil:
		return domain.Internal(err)
	case !allowance.Admitted:
		allowance.Scope = "address"
		return limited(allowance)
	}
	return failure
}

// read checks the form and checksum of a token, without the database.
func (o *Operators) read(c OperatorCredentials) (digest [32]byte, err error) {
	switch {
	case c.Malformed:
		return digest, badToken("malformed", "The Authorization header is not of the form: Bearer "+domain.OperatorTokenPrefix+
			"... with exactly one space.")
	case c.Token == "":
		return digest, badToken("missing", "No operator token.")
	case !strings.HasPrefix(c.Token, domain.OperatorTokenPrefix):
		return digest, badToken("malformed", "This is no operator token: one begins with "+domain.OperatorTokenPrefix+
			". Keys of customers open the public API only.")
	case !domain.SoundOperatorToken(c.Token):
		return digest, badToken("malformed", "The token is mistyped or cut off: its checksum does not match. Copy it again, whole.")
	}
	return o.digest.Digest(c.Token), nil
}

func badToken(reason, message string) error {
	return &domain.Error{Kind: domain.KindUnauthenticated, Code: domain.CodeInvalidOperatorToken, Message: message,
		Details: map[string]any{"reason": reason}}
}

func (o *Operators) find(ctx context.Context, c OperatorCredentials, digest [32]byte) (domain.OperatorToken, error) {
	token, err := o.storage.Read().Operators.FindByDigest(ctx, append([][32]byte{digest}, o.digest.Previous(c.Token)...)...)
	if domain.HasCode(err, domain.CodeNotFound) {
		return domain.OperatorToken{}, badToken("unknown", "Unknown operator token ending "+c.Token[len(c.Token)-4:]+".")
	}
	if err != nil {
		return domain.OperatorToken{}, domain.Internal(err)
	}
	now := o.clock.Now()
	if err := token.Usable(now); err != nil {
		return token, err
	}
	if token.LastUsedAt == nil || now.Sub(*token.LastUsedAt) >= touchEvery {
		err = o.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			if token.Digest != digest {
				found := FoundDigest{ID: token.ID, Stored: token.Digest, Current: digest, Pepper: token.Pepper}
				changes, err := Redigestible(ctx, tx, o.digest, []FoundDigest{found})
				if err != nil {
					return err
				}
				for _, change := range changes {
					if err := tx.Operators.Redigest(ctx, change); err != nil {
						return err
					}
				}
			}
			return tx.Operators.Touch(ctx, token.ID, now)
		})
		if err != nil {
			return domain.OperatorToken{}, domain.Internal(err)
		}
	}
	return token, nil
}

func (o *Operators) trusts(digest [32]byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, known := o.trusted[digest]
	return known && o.clock.Now().Sub(at) < trustedFor
}

func (o *Operators) trust(digest [32]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.trusted[digest]; !known && len(o.trusted) >= maxTrusted {
		clear(o.trusted) // the next request makes them trusted again
	}
	o.trusted[digest] = o.clock.Now()
}

func (o *Operators) distrust(digest [32]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.trusted, digest)
}

package crypto

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"waybill/adapters/turns"
	"waybill/ports"
)

var _ ports.Passwords = (*PasswordHasher)(nil)

const (
	saltSize = 16
	hashSize = 32
)

// These limits apply to the cost of a stored hash: a row must not take a process down.
const (
	maxMemory      = 1 << 20 // KiB
	maxPasses      = 64
	maxParallelism = 64
)

// PasswordParameters sets the cost of a hash.
type PasswordParameters struct {
	Memory      uint32 // KiB
	Passes      uint32
	Parallelism uint8
}

// PasswordHasher hashes and verifies passwords. It is safe for concurrent use.
type PasswordHasher struct {
	parameters PasswordParameters
	patience   time.Duration
	known      *turns.Turns // of known callers
	strangers  *turns.Turns
}

// NewPasswordHasher returns a hasher with the parameters of the package comment.
func NewPasswordHasher() *PasswordHasher {
	return newHasher(PasswordParameters{Memory: 19 * 1024, Passes: 2, Parallelism: 1}, atOnce(runtime.GOMAXPROCS(0)), 5*time.Second)
}

// atOnce returns how many hashes of strangers run at a time with that many processors. The same
// number runs for known callers.
func atOnce(processors int) int { return min(2, max(1, processors/2)) }

func newHasher(p PasswordParameters, places int, patience time.Duration) *PasswordHasher {
	return &PasswordHasher{parameters: p, patience: patience, known: turns.New(places, places), strangers: turns.New(places, places)}
}

// Hash hashes a password with a new salt.
func (h *PasswordHasher) Hash(ctx context.Context, c ports.Caller, password string) (string, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	key, err := h.derive(ctx, c, password, salt, h.parameters, hashSize)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.parameters.Memory, h.parameters.Passes,
		h.parameters.Parallelism,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key)), nil
}

// Verify checks a password against a hash. It takes as long for an empty hash.
func (h *PasswordHasher) Verify(ctx context.Context, c ports.Caller, hash, password string) (matches, outdated bool, err error) {
	if hash == "" {
		_, err := h.derive(ctx, c, password, make([]byte, saltSize), h.parameters, hashSize)
		return false, false, err
	}
	p, salt, want, err := parse(hash)
	if err != nil {
		return false, false, err
	}
	got, err := h.derive(ctx, c, password, salt, p, uint32(len(want))) //nolint:gosec // of a few bytes, see parse
	if err != nil {
		return false, false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, p != h.parameters || len(salt) != saltSize || len(want) != hashSize, nil
}

// derive waits for its turn and hashes the password in NFKC, since keyboards write the same letter
// in several ways.
func (h *PasswordHasher) derive(ctx context.Context, c ports.Caller, password string, salt []byte, p PasswordParameters, size uint32) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.patience, ports.ErrPasswordsBusy)
	defer cancel()
	places := h.strangers
	if c.Known {
		places = h.known
	}
	if err := places.Take(ctx, c.Line, c.Member); err != nil {
		return nil, err
	}
	defer places.Give(c.Line)
	return argon2.IDKey([]byte(norm.NFKC.String(password)), salt, p.Passes, p.Memory, p.Parallelism, size), nil
}

var errMalformed = errors.New("a stored hash is not in the PHC format of Argon2id version 19")

func parse(hash string) (p PasswordParameters, salt, key []byte, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return p, nil, nil, errMalformed
	}
	if n, err := fmt.Sscanf(parts[3]+"\n", "m=%d,t=%d,p=%d\n", &p.Memory, &p.Passes, &p.Parallelism); err != nil || n != 3 {
		return p, nil, nil, errMalformed
	}
	salt, errSalt := base64.RawStdEncoding.DecodeString(parts[4])
	key, errKey := base64.RawStdEncoding.DecodeString(parts[5])
	if errSalt != nil || errKey != nil || len(salt) < 8 || len(salt) > 64 || len(key) < 16 || len(key) > 64 ||
		p.Passes < 1 || p.Passes > maxPasses || p.Parallelism < 1 || p.Parallelism > maxParallelism || p.Memory < 8*uint32(p.Parallelism) ||
		p.Memory > maxMemory {
		return p, nil, nil, errMalformed
	}
	return p, salt, key, nil
}

package stage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"sync"

	"waybill/domain"
)

// Log keeps what is written. It may be read while many write.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Digester is enough of one: equal for equal secrets only, and with one pepper.
type Digester struct{}

// Digest is the plain SHA-256.
func (Digester) Digest(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

// Previous has none: the pepper was never changed.
func (Digester) Previous(string) [][32]byte { return nil }

// Unheard are announcements that reach no other process.
type Unheard struct{}

// Announce does nothing.
func (Unheard) Announce(context.Context, domain.ID) {}

// Listen hears nothing.
func (Unheard) Listen(context.Context, func(domain.ID)) {}

package access

import (
	"context"
	"errors"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// foundFor is how long a found key is cached, counted from before the lookup. So a key that was
	// revoked in the meantime stops within two seconds, even if the announcement is lost.
	foundFor = 1500 * time.Millisecond
	// missingFor is how long an unknown key is not looked up again.
	missingFor = time.Second
	// trustedFor is how long a key that worked is trusted behind a locked-out address.
	trustedFor = 10 * time.Minute
	// maxCached limits the memory that unknown callers can fill.
	maxCached = 10_000
)

// keyCache saves the database a lookup per request.
type keyCache struct {
	storage ports.Storage
	digest  ports.KeyDigester
	clock   ports.Clock

	mu      sync.RWMutex
	entries map[[32]byte]*cachedKey // an entry never changes
	// forgotten counts the calls of forget. A lookup that began before the last of them may be
	// outdated.
	forgotten uint64
}

type cachedKey struct {
	credential domain.Credential
	missing    bool
	stale      bool // only good for trust
	at         time.Time
}

func newKeyCache(s ports.Storage, d ports.KeyDigester, c ports.Clock) *keyCache {
	return &keyCache{storage: s, digest: d, clock: c, entries: make(map[[32]byte]*cachedKey)}
}

// find returns a cached result while it is fresh. The cache uses the digest with the current
// pepper. Otherwise it looks up all digests of the secret at once. The caller still has to check
// what changes with time, such as the expiry.
func (k *keyCache) find(ctx context.Context, secret string, digest [32]byte) (domain.Credential, error) {
	now := k.clock.Now()
	k.mu.RLock()
	entry, known := k.entries[digest]
	begun := k.forgotten
	k.mu.RUnlock()
	if known && !entry.stale {
		switch age := now.Sub(entry.at); {
		case age < 0: // the clock was set back: the age of the entry is unknown
		case entry.missing && age < missingFor:
			return domain.Credential{}, domain.ErrNotFound
		case !entry.missing && age < foundFor:
			return entry.credential, nil
		}
	}
	credential, err := k.storage.Read().Tenancy.Credential(ctx, append([][32]byte{digest}, k.digest.Previous(secret)...)...)
	missing := errors.Is(err, domain.ErrNotFound)
	if err == nil || missing {
		k.remember(digest, &cachedKey{credential: credential, missing: missing, at: now}, begun)
	}
	return credential, err
}

// trusts reports whether the key worked in the last minutes.
func (k *keyCache) trusts(digest [32]byte) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	entry, known := k.entries[digest]
	return known && !entry.missing && k.clock.Now().Sub(entry.at) < trustedFor
}

// forget makes the next request with a key of the application look it up again; an empty ID means
// every key. Unknown keys are looked up again too, since their application is not known. Trust
// stays: it gives no access.
func (k *keyCache) forget(application domain.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgotten++
	for digest, entry := range k.entries {
		switch {
		case entry.missing:
			delete(k.entries, digest)
		case !entry.stale && (application == "" || entry.credential.Application.ID == application):
			stale := *entry
			stale.stale = true
			k.entries[digest] = &stale
		}
	}
}

// remember caches the result of a lookup, unless forget was called since it began. begun is the
// count of calls at that time.
func (k *keyCache) remember(digest [32]byte, entry *cachedKey, begun uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.forgotten != begun {
		return // the result may be older than the announced change
	}
	if _, known := k.entries[digest]; !known && len(k.entries) >= maxCached {
		k.evict(entry.at)
		if entry.missing && len(k.entries) >= maxCached {
			return // guesses never displace customers
		}
		k.evictAny()
	}
	k.entries[digest] = entry
}

// evict drops keys that do not exist and all that are not trusted any more.
func (k *keyCache) evict(now time.Time) {
	for digest, entry := range k.entries {
		if entry.missing || now.Sub(entry.at) >= trustedFor {
			delete(k.entries, digest)
		}
	}
}

// evictAny drops any entry if all of them belong to customers.
func (k *keyCache) evictAny() {
	for digest := range k.entries {
		if len(k.entries) < maxCached {
			return
		}
		delete(k.entries, digest)
	}
}

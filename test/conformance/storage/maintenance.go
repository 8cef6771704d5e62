package storage

import (
	"context"
	"errors"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// testCleaning has a backend of its own: what others left would be cleaned too.
func testCleaning(t *testing.T, b ports.Database) {
	tenant := newTenant(t, b)
	purge := func(t *testing.T, limit, removed int, more bool) {
		t.Helper()
		if n, left, err := b.PurgeExpired(t.Context(), limit); n != removed || left != more || err != nil {
			t.Errorf("purged %d, more %t (%v), want %d, %t", n, left, err, removed, more)
		}
	}
	kept := sample.KeyRecord()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		for range 5 {
			if err := tx.Idempotency.Claim(ctx, tenant, sample.KeyRecord(), -time.Second); err != nil {
				return err
			}
		}
		return tx.Idempotency.Claim(ctx, tenant, kept, time.Hour)
	})
	atWork := sample.KeyRecord(func(r *domain.KeyRecord) { r.Answer = domain.Answer{} })
	var hold ports.BulkHold
	inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
		hold, err = tx.Bulks.Claim(ctx, tenant, atWork, atWork.ClaimID, time.Hour, -time.Second)
		return err
	})

	t.Run("expired keys go, at most limit at a time", func(t *testing.T) {
		purge(t, 2, 2, true)
		purge(t, 2, 2, true)
		purge(t, 2, 1, false)
		purge(t, 2, 0, false)
	})
	t.Run("what can be asked for stays", func(t *testing.T) {
		wantEqual(t, "Find", must(b.Read().Idempotency.Find(t.Context(), tenant, kept.Key))(t), kept)
	})
	t.Run("an expired key under a lease stays for who works under it", func(t *testing.T) {
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Bulks.Extend(ctx, tenant, hold) })
	})
	t.Run("a purge that is called off removes nothing it does not tell", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if n, _, err := b.PurgeExpired(ctx, 10); n != 0 || err == nil {
			t.Errorf("purged %d (%v), want the end of the context", n, err)
		}
	})
	t.Run("links, sessions and challenges go when they expired long enough ago, and no others", func(t *testing.T) {
		p := newPerson()
		addPersons(t, b, p)
		ago := func(d time.Duration) time.Time { return domain.Millis(time.Now().Add(-d)) }
		expiredAt := func(at time.Time) (domain.Link, domain.Session, domain.Ceremony) {
			l := newLink(p.ID, tenant.BusinessID)
			l.ExpiresAt = at
			return l, newSession(p.ID, tenant.BusinessID, func(s *domain.Session) { s.ExpiresAt = at }),
				newCeremony(func(c *domain.Ceremony) { c.ExpiresAt = at })
		}
		insert := func(l domain.Link, s domain.Session, c domain.Ceremony) {
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				return errors.Join(tx.Links.Insert(ctx, l), tx.Sessions.Insert(ctx, s), tx.Ceremonies.Insert(ctx, c))
			})
		}
		for range 3 {
			insert(expiredAt(ago(domain.SessionKept + time.Hour)))
		}
		keptLink, _, _ := expiredAt(ago(domain.LinkKept - time.Hour))
		_, keptSession, keptCeremony := expiredAt(ago(domain.SessionKept - time.Hour))
		keptCeremony.ExpiresAt = ago(-time.Hour)
		ended := ago(time.Hour)
		keptSession.EndedAt = &ended
		insert(keptLink, keptSession, keptCeremony)
		purge(t, 2, 6, true)
		purge(t, 2, 3, false)
		purge(t, 2, 0, false)
		wantEqual(t, "the link", must(b.Read().Links.FindByDigest(t.Context(), keptLink.Digest))(t), keptLink)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			wantError(t, "the challenge", errorOf(tx.Ceremonies.Take(ctx, keptCeremony.ID)), nil)
			return nil
		})
		join(t, b, tenant.BusinessID, p.ID, domain.RoleOwner)
		wantEqual(t, "the session", must(b.Read().Sessions.FindByDigest(t.Context(), keptSession.Digest))(t).Session, keptSession)
	})
	t.Run("many may clean at once", func(t *testing.T) {
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			for range 8 {
				if err := tx.Idempotency.Claim(ctx, tenant, sample.KeyRecord(), -time.Second); err != nil {
					return err
				}
			}
			return nil
		})
		removed := make([]int, 4)
		if err := errors.Join(together(len(removed), func(i int) (err error) {
			removed[i], _, err = b.PurgeExpired(t.Context(), 8)
			return err
		})...); err != nil {
			t.Fatal(err)
		}
		if all := removed[0] + removed[1] + removed[2] + removed[3]; all != 8 {
			t.Errorf("%v were purged, want each of 8 once", removed)
		}
	})
}

func testUpkeep(t *testing.T, b ports.Database) {
	t.Run("statistics of recently created tables are refreshed without any harm", func(t *testing.T) {
		w := sample.BookingWrite(newTenant(t, b))
		book(t, b, w)
		for range 2 {
			if n, err := b.AnalyzeRecentTables(t.Context()); n < 0 || err != nil {
				t.Errorf("analyzed %d (%v)", n, err)
			}
		}
		wantDelivery(t, "Get", must(b.Read().Deliveries.Get(t.Context(), w.Delivery.Tenant, w.Delivery.ID))(t), w.Delivery)
	})

	t.Run("a webhook that is due for long is waited for once the late ones were looked for", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant, healthy)
		look := func() {
			t.Helper()
			if n, err := b.FindLate(t.Context()); n < 0 || err != nil {
				t.Errorf("found %d (%v)", n, err)
			}
		}
		look() // from now on nothing that old is expected
		bookAt(t, b, tenant, time.Now().Add(-48*time.Hour).UTC().Truncate(time.Millisecond))
		look()
		if w := must(b.Outbox().WaitingFor(t.Context(), e.ID, time.Now(), 0))(t); w == nil {
			t.Error("the endpoint does not wait")
		}
	})

	t.Run("nothing holds the feed back while no transaction is open", func(t *testing.T) {
		bookWrite(t, b, sample.BookingWrite(newTenant(t, b)))
		if lag, err := b.FeedLag(t.Context()); lag != 0 || err != nil {
			t.Errorf("the feed is %v behind (%v)", lag, err)
		}
	})
}

func testState(t *testing.T, b ports.Database) {
	t.Run("it answers, and tells what it is", func(t *testing.T) {
		wantError(t, "Ping", b.Ping(t.Context()), nil)
		wantError(t, "Connections", b.Connections(t.Context()), nil)
		product, version, clock, err := b.Server(t.Context())
		if product == "" || version == "" || time.Since(clock).Abs() > time.Minute || err != nil {
			t.Errorf("%q in version %q shows %v (%v)", product, version, clock, err)
		}
	})

	t.Run("it is up to date", func(t *testing.T) {
		if applied, known, err := b.SchemaVersions(t.Context()); applied != known || err != nil {
			t.Errorf("%d of %d steps are made (%v)", applied, known, err)
		}
	})

	t.Run("its name stays the same", func(t *testing.T) {
		name := must(b.Installation(t.Context()))(t)
		if again := must(b.Installation(t.Context()))(t); len(name) < 16 || again != name {
			t.Errorf("it is called %q and then %q, want a name too long to be guessed", name, again)
		}
	})
}

func testStoredClock(t *testing.T, b ports.Database) {
	read := func(wantAhead time.Duration) ports.ClockReading {
		t.Helper()
		r, err := b.ReadClock(t.Context())
		if err != nil || r.Ahead != wantAhead || time.Since(r.Clock).Abs() > time.Minute {
			t.Errorf("it shows %v, ahead by %v (%v), want %v", r.Clock, r.Ahead, err, wantAhead)
		}
		return r
	}
	first := read(0)
	if !first.Seen.IsZero() {
		t.Errorf("a new storage saw its clock at %v", first.Seen)
	}
	keep := func(read ports.ClockReading, at time.Time, ahead time.Duration) {
		t.Helper()
		read.Clock = at
		wantError(t, "KeepClock", b.KeepClock(t.Context(), read, ahead), nil)
	}
	keep(first, first.Clock, time.Hour)
	keep(first, first.Clock.Add(time.Second), 0) // another process, which read before
	second := read(time.Hour)
	if !second.Seen.Equal(domain.Millis(first.Clock)) {
		t.Errorf("it was seen at %v, want %v", second.Seen, first.Clock)
	}
	keep(second, first.Clock.Add(time.Minute), 54*time.Second)
	keep(second, first.Clock.Add(time.Hour), 0)
	if third := read(54 * time.Second); !third.Seen.Equal(domain.Millis(first.Clock.Add(time.Minute))) {
		t.Errorf("it was seen at %v, want a minute after %v", third.Seen, first.Clock)
	}
}

package crypto_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"waybill/adapters/crypto"
	"waybill/domain"
)

// machine is this machine's clock, to the millisecond.
type machine struct{}

func (machine) Now() time.Time { return time.Now().Truncate(time.Millisecond).UTC() }

// set is a clock that shows the time it is set to.
type set struct{ at time.Time }

func (s *set) Now() time.Time { return s.at }

func TestIDsRiseWhileTheClockStandsOrIsSetBack(t *testing.T) {
	t.Parallel()
	clock := &set{at: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)}
	ids, last := crypto.NewIdentifiers(clock), domain.ID("")
	for i := range 10_000 { // more than a millisecond has numbers for
		if i == 5000 {
			clock.at = clock.at.Add(-time.Hour)
		}
		id := ids.ID(domain.PrefixEvent)
		if id <= last {
			t.Fatalf("ID %d is %s, which does not rise above %s", i, id, last)
		}
		last = id
	}
}

func TestAnIDHasTheTimeOfTheClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 2, 3, 4, 5, 6, 789e6, time.UTC)
	u := uuid.MustParse(crypto.NewIdentifiers(&set{at: at}).ID(domain.PrefixEvent).Hex())
	if sec, nsec := u.Time().UnixTime(); !time.Unix(sec, nsec).Equal(at) {
		t.Errorf("the ID says it was made at %v, want %v", time.Unix(sec, nsec).UTC(), at)
	}
}

func TestIDsOfOneProcessRiseAndNeverRepeat(t *testing.T) {
	t.Parallel()
	const goroutines, each = 8, 5000
	ids := crypto.NewIdentifiers(machine{})
	drawn := make([][]domain.ID, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range each {
				drawn[g] = append(drawn[g], ids.ID(domain.PrefixDelivery))
			}
		})
	}
	wg.Wait()

	all := make(map[domain.ID]bool, goroutines*each)
	for g, list := range drawn {
		if !slices.IsSorted(list) {
			t.Errorf("goroutine %d drew IDs that do not rise", g)
		}
		for _, id := range list {
			all[id] = true
		}
	}
	if len(all) != goroutines*each {
		t.Errorf("%d different IDs, want %d", len(all), goroutines*each)
	}
}

func TestAnIDHasItsPrefixAndIsAVersion7UUIDOfNow(t *testing.T) {
	t.Parallel()
	before := time.Now().Truncate(time.Millisecond)
	id, err := domain.ParseID(domain.PrefixEvent, string(crypto.NewIdentifiers(machine{}).ID(domain.PrefixEvent)))
	if err != nil {
		t.Fatal(err)
	}
	u, err := uuid.Parse(id.Hex())
	if err != nil {
		t.Fatal(err)
	}
	if u.Version() != 7 || u.Variant() != uuid.RFC4122 {
		t.Errorf("version %d, variant %v, want 7, RFC4122", u.Version(), u.Variant())
	}
	ms := int64(u[0])<<40 | int64(u[1])<<32 | int64(u[2])<<24 | int64(u[3])<<16 | int64(u[4])<<8 | int64(u[5])
	if made := time.UnixMilli(ms); made.Before(before) || made.After(time.Now().Add(time.Second)) {
		t.Errorf("the ID says it was made at %v", made)
	}
}

// Sixty bits are twelve characters of five bits: each of the twelve places
// must take each of the 32 values.
func TestAReferenceUsesEveryBitOfEveryPlace(t *testing.T) {
	t.Parallel()
	ids := crypto.NewIdentifiers(machine{})
	var seen [14]map[byte]bool
	for i := range seen {
		seen[i] = map[byte]bool{}
	}
	for range 2000 {
		r, ok := domain.ParseReference(string(ids.Reference()))
		if !ok {
			t.Fatalf("%q has not the form of a reference", r)
		}
		for i := range len(r) {
			seen[i][r[i]] = true
		}
	}
	for i, values := range seen {
		want := 32
		if i == 4 || i == 9 {
			want = 1
		}
		if len(values) != want {
			t.Errorf("place %d took %d values, want %d", i, len(values), want)
		}
	}
}

func TestAnAPIKeyParsesForItsEnvironmentAndVariesInEveryPlace(t *testing.T) {
	t.Parallel()
	ids := crypto.NewIdentifiers(machine{})
	for _, env := range []domain.Environment{domain.Live, domain.Sandbox} {
		first := ids.APIKey(env)
		varied := make([]bool, len(first))
		for range 200 {
			key := ids.APIKey(env)
			if got, ok := domain.ParseAPIKey(key); !ok || got != env {
				t.Fatalf("%q parses as %q, %v, want %q", key, got, ok, env)
			}
			for i := range len(key) {
				varied[i] = varied[i] || key[i] != first[i]
			}
		}
		prefix := len(domain.KeyPrefix(env))
		if !strings.HasPrefix(first, domain.KeyPrefix(env)) || slices.Contains(varied[prefix:], false) {
			t.Errorf("%s: a place behind the prefix never varied in 200 keys", env)
		}
	}
}

func BenchmarkID(b *testing.B) {
	ids := crypto.NewIdentifiers(machine{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ids.ID(domain.PrefixDelivery)
		}
	})
}

// Package stage is what the scenes of the use cases' tests are played on: an
// empty SQLite database of the test's own, a clock that is told what to show,
// identifiers that count, and the gate of idempotency on top of them.
//
// It holds what several areas need alike; what one area alone needs stays in
// the scene of its tests. The words are the same everywhere:
//
//   - a stage is what there is before anything happens;
//   - a scene is the use cases of one area on a stage, made by newScene;
//   - a world is a stage on which many processes, failures and time play at once,
//     by seed: test/simulation and the models of an area's jobs;
//   - doubles that need no stage are Log, Digester and Unheard;
//   - Between is a storage of which one port is replaced, to fail or to be watched;
//     Calls stand around all ports, to fail each call once (nth_call.go): Exam makes every
//     call of a use case fail in every way, one at a time, and sends the request again as its
//     caller would. What kills the whole process is the matter of test/faults.
//   - Device is a device with passkeys, for tests without a browser: it answers the options of
//     a page as a browser and a device do together. Each answer may be spoiled.
package stage

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Retention is for how long the gate of a stage remembers.
const Retention = 24 * time.Hour

// Noon is what every clock shows at first.
var Noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// Stage is a world in which nothing has happened yet.
type Stage struct {
	Store *gormstore.Store
	Path  string // of the database
	Clock *Clock // goes on by a millisecond with every look
	IDs   *IDs
}

// New shares nothing with any other stage. It is gone when the test is.
func New(t *testing.T) *Stage {
	t.Helper()
	store, path := openStore(t)
	return &Stage{Store: store, Path: path, Clock: &Clock{Step: time.Millisecond}, IDs: &IDs{}}
}

// Gate remembers in the given storage, which may be a double in front of the
// stage's.
func (s *Stage) Gate(storage ports.Storage) *idempotency.Gate {
	return idempotency.NewGate(storage, s.Clock, s.IDs, slog.New(slog.DiscardHandler), idempotency.Retention(Retention))
}

// Deliveries are the use cases of deliveries with the given dependencies, for
// tests of use cases on top of them.
func (s *Stage) Deliveries(storage ports.Storage, b ports.Bookings, p ports.Pricing, a ports.ServiceArea,
	n ports.Normalizer) *deliveries.Deliveries {
	return deliveries.New(storage, b, s.Gate(storage), deliveries.NewQuotes(storage, p, a), s.Clock, s.IDs, n, Renderer{})
}

// NewTenant stores an application of a business of its own, in the sandbox.
func (s *Stage) NewTenant(t *testing.T) domain.Tenant {
	t.Helper()
	business := domain.Business{ID: s.IDs.ID(domain.PrefixBusiness), Name: "Shop", CreatedAt: s.Clock.Now()}
	s.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.InsertBusiness(ctx, business) })
	return s.NewApplication(t, domain.Tenant{BusinessID: business.ID, Environment: domain.Sandbox})
}

// NewApplication stores another application of the same business.
func (s *Stage) NewApplication(t *testing.T, of domain.Tenant) domain.Tenant {
	t.Helper()
	of.ApplicationID = s.IDs.ID(domain.PrefixApplication)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Tenancy.InsertApplication(ctx, domain.Application{
			ID: of.ApplicationID, BusinessID: of.BusinessID, Name: "App", CreatedAt: s.Clock.Now(),
		})
	})
	return of
}

// Write stores in one transaction, or ends the test.
func (s *Stage) Write(t *testing.T, fn func(context.Context, ports.Stores) error) {
	t.Helper()
	if err := s.Store.InTx(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

// Key is a request under a key; its body counts only as the fingerprint.
func Key(t domain.Tenant, key string, fingerprint byte) idempotency.Request {
	return idempotency.Request{Tenant: t, Key: key, Fingerprint: [32]byte{fingerprint}}
}

// SameAnswer reports whether a caller could not tell the answers apart, but
// for the mark of a replay.
func SameAnswer(a, b idempotency.Result) bool {
	return a.Answer.Status == b.Answer.Status && a.Answer.Location == b.Answer.Location && string(a.Answer.Body) == string(b.Answer.Body)
}

// Clock shows Noon and stands still until it is told to go on; with a Step it
// also goes on by that before every look. It is safe for many at once.
type Clock struct {
	Step time.Duration
	past atomic.Int64 // nanoseconds since Noon
}

// Now is the time shown, after the step.
func (c *Clock) Now() time.Time { return Noon.Add(time.Duration(c.past.Add(int64(c.Step)))) }

// GoOn moves the clock, back too.
func (c *Clock) GoOn(d time.Duration) { c.past.Add(int64(d)) }

// IDs are unique among their like and in order.
type IDs struct{ n atomic.Uint64 }

// ID sorts behind those before it.
func (i *IDs) ID(p domain.Prefix) domain.ID { return domain.MakeID(p, i.next()) }

// Reference is a new one.
func (i *IDs) Reference() domain.Reference { return domain.MakeReference(i.n.Add(1)) }

// APIKey is a new one. A key keeps less than all of each byte, so that numbers
// that lie close together have to be spread over all of them.
func (i *IDs) APIKey(e domain.Environment) string {
	half := i.next()
	return domain.MakeAPIKey(e, sha256.Sum256(half[:]))
}

// SigningSecret is a new one, spread as a key is: operator tokens are made of it.
func (i *IDs) SigningSecret() [32]byte {
	half := i.next()
	return sha256.Sum256(half[:])
}

func (i *IDs) next() (bytes [16]byte) {
	binary.BigEndian.PutUint64(bytes[8:], i.n.Add(1))
	return bytes
}

// FoldCase finds an address again however it is spaced and capitalised. Use
// cases get phone numbers that were normalised before.
type FoldCase struct{}

// PhoneNumber is not for use cases to ask.
func (FoldCase) PhoneNumber(string) (domain.PhoneNumber, bool) { panic("not for use cases") }

// PhonePart finds none.
func (FoldCase) PhonePart(string) (string, bool) { return "", false }

// MatchKey ignores case and spacing.
func (FoldCase) MatchKey(address string) string {
	return strings.ToLower(strings.Join(strings.Fields(address), " "))
}

// migrated is an empty database. Making it once spares every test the migrations.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "waybill")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "waybill.db")
	if err := gormstore.Migrate(context.Background(), "sqlite://"+path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func openStore(t *testing.T) (store *gormstore.Store, path string) {
	t.Helper()
	empty, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "waybill.db")
	if err := os.WriteFile(path, empty, 0o600); err != nil {
		t.Fatal(err)
	}
	// A list waits for longer than the second of the product: a busy machine may need it.
	store, err = gormstore.Open(t.Context(), "sqlite://"+path, gormstore.Options{ListTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store, path
}

// Renderer shows of an event no more than its ID.
type Renderer struct{}

// DeliveryEvent renders an event of a delivery.
func (Renderer) DeliveryEvent(_ *domain.Delivery, e domain.Event) ([]byte, error) {
	return []byte(`{"id":"` + string(e.ID) + `"}`), nil
}

// EndpointEvent renders an event of a webhook endpoint.
func (Renderer) EndpointEvent(_ domain.WebhookEndpoint, id domain.ID, _ domain.EventType, _ time.Time) ([]byte, error) {
	return []byte(`{"id":"` + string(id) + `"}`), nil
}

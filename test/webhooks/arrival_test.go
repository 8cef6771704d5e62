package webhooks_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"waybill/adapters/clock"
	"waybill/adapters/crypto"
	"waybill/adapters/memory"
	"waybill/adapters/storage/gormstore"
	"waybill/adapters/webhooksend"
	"waybill/application/webhooks"
	"waybill/application/webhooks/dispatch"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/sample"
	"waybill/test/stage"
)

const (
	arrivingDeliveries = 12
	arrivingEvents     = 40 // of each
)

// All together: what is committed arrives at every endpoint, whole and signed,
// in order where nothing fails, and at least once where it does.
func TestEveryEventArrivesAtEveryEndpoint(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		url := "sqlite://" + filepath.Join(t.TempDir(), "waybill.db")
		if err := gormstore.Migrate(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		everyEventArrives(t, url)
	})
	t.Run("Postgres", func(t *testing.T) {
		t.Parallel()
		everyEventArrives(t, backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash()))
	})
}

// plainSealer leaves secrets as they are.
type plainSealer struct{}

func (plainSealer) Derive(string) (secret [domain.SigningSecretBytes]byte, err error) {
	return secret, nil
}
func (plainSealer) Seal(_ string, plain []byte) ([]byte, error)  { return plain, nil }
func (plainSealer) Open(_ string, sealed []byte) ([]byte, error) { return sealed, nil }
func (plainSealer) Current([]byte) bool                          { return true }

// application is the receiver, by the endpoint's path.
type application struct {
	secret *standardwebhooks.Webhook

	mu        sync.Mutex
	requests  int
	arrived   map[domain.ID]int   // by event
	sequences map[string][]string // of a delivery, as they came
	wrong     []string
}

func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	if err == nil {
		err = a.secret.Verify(body, r.Header)
	}
	id := domain.ID(r.Header.Get(domain.HeaderWebhookID))
	if err != nil || r.Method != http.MethodPost {
		a.wrong = append(a.wrong, fmt.Sprintf("%s %s: %v", r.Method, id, err))
	}
	// It fails now and then at first, though no webhook more than twice.
	if r.URL.Path == "/unwell" && a.requests < 200 && a.requests%3 == 0 && r.Header.Get(domain.HeaderWebhookAttempt) <= "2" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var delivery, sequence string
	_, _ = fmt.Sscan(string(body), &delivery, &sequence)
	a.arrived[id]++
	a.sequences[delivery] = append(a.sequences[delivery], sequence)
	w.WriteHeader(http.StatusNoContent)
}

func everyEventArrives(t *testing.T, url string) {
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := gormstore.Open(t.Context(), url, gormstore.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := &stage.Stage{Store: store, Clock: &stage.Clock{Step: time.Millisecond}, IDs: &stage.IDs{}}
	tenant := s.NewTenant(t)
	applications := receivers(t, s, tenant)

	queue := memory.NewQueue(memory.QueueOptions{}, log)
	sender := webhooksend.New(webhooksend.Options{AllowPrivate: true})
	defer sender.Close()
	drainer := dispatch.NewDrainer(store.Outbox(), sender, plainSealer{}, stage.Renderer{}, queue, clock.NewSystem(),
		crypto.NewIdentifiers(clock.NewSystem()),
		webhooks.Schedules{domain.Sandbox: {100 * time.Millisecond, time.Second, time.Second}}, dispatch.Observer{}, log)
	notifier := dispatch.NewNotifier(queue, nil, log)
	store.OnFanout(notifier.Notify)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = queue.Run(ctx, drainer.Handlers()) })
	running.Go(func() { notifier.Run(ctx) })
	running.Go(func() { dispatch.NewSweeper(store.Outbox(), queue, clock.NewSystem(), log).Run(ctx) })
	defer func() {
		cancel()
		drainer.Close()
		running.Wait()
	}()

	var happening sync.WaitGroup
	for range arrivingDeliveries {
		happening.Go(func() { live(t, s, tenant) })
	}
	happening.Wait()
	arrived := func() bool {
		for _, a := range applications {
			a.mu.Lock()
			n := len(a.arrived)
			a.mu.Unlock()
			if n < arrivingDeliveries*arrivingEvents {
				return false
			}
		}
		n, _, err := store.Outbox().Backlog(t.Context(), clock.NewSystem().Now().Add(time.Hour))
		return n == 0 && err == nil
	}
	for deadline := time.Now().Add(3 * time.Minute); !arrived() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if !arrived() {
		tellLeft(t, store, tenant)
	}
	for path, a := range applications {
		a.wantAll(t, path)
	}
}

// tellLeft tells of each endpoint how the first webhooks stand that have not succeeded.
func tellLeft(t *testing.T, store *gormstore.Store, tenant domain.Tenant) {
	t.Helper()
	ctx, read := context.WithoutCancel(t.Context()), store.Read().Webhooks
	endpoints, err := read.Endpoints(ctx, tenant, domain.PageRequest{Limit: 10})
	if err != nil {
		t.Error(err)
	}
	for _, e := range endpoints {
		t.Logf("%s: %+v", e.URL, e)
		for _, status := range []domain.WebhookStatus{domain.WebhookPending, domain.WebhookFailed, domain.WebhookHeld} {
			left, err := read.Deliveries(ctx, tenant, e.ID, domain.WebhookDeliveryFilter{Status: status}, domain.PageRequest{Limit: 100})
			if err != nil {
				t.Error(err)
			}
			for _, d := range left[:min(3, len(left))] {
				attempts, err := read.Attempts(ctx, tenant, d.ID)
				t.Logf("%d %s, such as %+v with the attempts %+v, %v", len(left), status, d, attempts, err)
			}
		}
	}
}

// receivers makes three endpoints, each with a secret of its own.
func receivers(t *testing.T, s *stage.Stage, tenant domain.Tenant) map[string]*application {
	applications := map[string]*application{}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for i, path := range []string{"/one", "/other", "/unwell"} {
		secret := fmt.Appendf(nil, "%032d", i)
		verifier, err := standardwebhooks.NewWebhook(domain.FormatSigningSecret(secret))
		if err != nil {
			t.Fatal(err)
		}
		applications[path] = &application{secret: verifier, arrived: map[domain.ID]int{}, sequences: map[string][]string{}}
		mux.Handle(path, applications[path])
		s.Write(t, func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.Webhooks.InsertEndpoint(ctx, domain.WebhookEndpoint{
				ID: s.IDs.ID(domain.PrefixWebhookEndpoint), Tenant: tenant, URL: server.URL + path, EventTypes: []string{"*"},
				Enabled: true, Secrets: []domain.SigningSecret{{Sealed: secret}}, CreatedAt: s.Clock.Now(), UpdatedAt: s.Clock.Now(),
			})
			return err
		})
	}
	return applications
}

// live is what happens to a delivery, which fails again and again: some events
// in each transaction.
func live(t *testing.T, s *stage.Stage, tenant domain.Tenant) {
	published := func(e domain.Event) ports.EventWrite {
		return ports.EventWrite{Event: e, Payload: fmt.Appendf(nil, "%s %d", e.DeliveryID, e.Sequence)}
	}
	w := sample.BookingWrite(tenant)
	// What becomes due long before it is stored is not looked for at once: see gormstore's FindLate.
	w.Event.OccurredAt = domain.Millis(time.Now())
	w.Event = published(w.Event.Event)
	if err := s.Store.Book(t.Context(), w); err != nil {
		t.Error(err)
		return
	}
	change := func(ctx context.Context, tx ports.Stores) error {
		d, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
		var events []ports.EventWrite
		for err == nil && len(events) < 3 {
			next := domain.Assigned
			if d.Status() == next {
				next = domain.Failed
			}
			var e domain.Event
			e, err = d.Move(next, domain.ActorHelper, "", sample.ID(domain.PrefixEvent), domain.Millis(time.Now()))
			events = append(events, published(e))
		}
		if err != nil {
			return err
		}
		return tx.Deliveries.Update(ctx, tenant, d, events...)
	}
	for range (arrivingEvents - 1) / 3 {
		if err := s.Store.InTx(t.Context(), change); err != nil {
			t.Error(err)
			return
		}
	}
}

func (a *application) wantAll(t *testing.T, path string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.wrong) > 0 {
		t.Errorf("%s: %d requests were wrong, such as %s", path, len(a.wrong), a.wrong[0])
	}
	if len(a.arrived) != arrivingDeliveries*arrivingEvents || len(a.sequences) != arrivingDeliveries {
		t.Errorf("%s: %d events of %d deliveries arrived", path, len(a.arrived), len(a.sequences))
	}
	for event, n := range a.arrived {
		if n != 1 {
			t.Errorf("%s: %s arrived %d times", path, event, n)
		}
	}
	for delivery, came := range a.sequences {
		seen := map[string]bool{}
		for i, sequence := range came {
			seen[sequence] = true
			if want := fmt.Sprint(i + 1); path != "/unwell" && sequence != want {
				t.Fatalf("%s: of %s event %s came in place of %s", path, delivery, sequence, want)
			}
		}
		if len(seen) != arrivingEvents {
			t.Errorf("%s: of %s %d events arrived", path, delivery, len(seen))
		}
	}
}

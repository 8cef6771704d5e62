package webhooks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

const (
	// InboxRows is how many of the newest webhooks a watched inbox shows.
	InboxRows = 200
	// FirstInboxRows is how many a single Look shows.
	FirstInboxRows = 20
	// lookLife is how long an inbox receives webhooks after it was opened, or looked at once: long
	// enough to fill in a form on a page that does not update itself.
	lookLife = 15 * time.Minute
	// watchLife is the same after the last watch ended, which is known to be over. It outlasts a
	// change of pages and of processes.
	watchLife = 2 * time.Minute
	// inboxRounds limits how many full batches one Look takes.
	inboxRounds = 5
)

// Inboxes shows people the signed webhooks of an application in the sandbox, as its own receiver
// would get them. An application has one inbox: a listener that takes one place among its
// endpoints, for any number of people and processes. What it takes counts as delivered, so its rows
// are the same for everybody and remain when a process has ended.
type Inboxes struct {
	*Listeners
	audit *audit.Log
	log   *slog.Logger

	mu    sync.Mutex
	polls map[domain.Tenant]*inboxPoll
}

// NewInboxes returns the use cases. Nothing runs in it without a watch.
func NewInboxes(l *Listeners, a *audit.Log, log *slog.Logger) *Inboxes {
	return &Inboxes{Listeners: l, audit: a, log: log, polls: map[domain.Tenant]*inboxPoll{}}
}

// Inbox is the content of an inbox.
type Inbox struct {
	Open     bool              // it receives webhooks now
	Secret   string            // signing secret, as a receiver configures it; empty: the inbox is closed, or only watched
	Webhooks []ReceivedWebhook // newest first
}

// ReceivedWebhook is a webhook as a receiver gets it.
type ReceivedWebhook struct {
	ID         domain.ID // of the webhook delivery
	EventID    domain.ID
	EventType  domain.EventType
	DeliveryID domain.ID // empty for an event of an endpoint
	At         time.Time
	Header     map[string]string
	Body       []byte
}

// Open opens the inbox of an application for a person. It returns WEBHOOK_ENDPOINT_LIMIT where the
// application has no place for it.
func (i *Inboxes) Open(ctx context.Context, by domain.AuditActor, t domain.Tenant) error {
	_, err := i.find(ctx, t, true, lookLife)
	if errors.Is(err, domain.ErrNotFound) {
		err = i.open(ctx, by, t)
	}
	return err
}

// Look returns the newest rows of an inbox. With keep it keeps an open inbox open.
func (i *Inboxes) Look(ctx context.Context, t domain.Tenant, keep bool) (Inbox, error) {
	e, err := i.find(ctx, t, keep, lookLife)
	if errors.Is(err, domain.ErrNotFound) {
		return Inbox{}, nil
	}
	if err != nil {
		return Inbox{}, err
	}
	received, err := i.take(ctx, e, time.Time{}, FirstInboxRows)
	if err != nil {
		return Inbox{}, err
	}
	secrets, err := OpenSecrets(i.sealer, e, i.clock.Now())
	if err != nil {
		return Inbox{}, err
	}
	return Inbox{Open: true, Secret: domain.FormatSigningSecret(secrets[0]), Webhooks: received}, nil
}

// find returns the listener of an inbox, and with keep extends its life. It returns
// domain.ErrNotFound where the inbox is closed.
func (i *Inboxes) find(ctx context.Context, t domain.Tenant, keep bool, life time.Duration) (domain.WebhookEndpoint, error) {
	e, err := inboxOf(ctx, i.storage.Read().Webhooks, t)
	if err == nil && keep {
		e, err = i.outbox.Renew(ctx, e.ID, e.ID.Hex(), life)
	}
	return e, gone(err)
}

// inboxOf returns the oldest listener that is an inbox.
func inboxOf(ctx context.Context, r ports.WebhookReader, t domain.Tenant) (domain.WebhookEndpoint, error) {
	listeners, err := r.Listeners(ctx, t)
	if err != nil {
		return domain.WebhookEndpoint{}, err
	}
	at := slices.IndexFunc(listeners, func(e domain.WebhookEndpoint) bool { return e.Description == domain.InboxDescription })
	if at < 0 {
		return domain.WebhookEndpoint{}, domain.ErrNotFound
	}
	return listeners[at], nil
}

// errOpened means that another call opened the inbox meanwhile.
var errOpened = errors.New("the inbox is open already")

func (i *Inboxes) open(ctx context.Context, by domain.AuditActor, t domain.Tenant) error {
	secret, err := listenerSecret(i.sealer, t)
	if err != nil {
		return err
	}
	now := i.clock.Now()
	e := domain.WebhookEndpoint{
		ID: i.ids.ID(domain.PrefixWebhookEndpoint), Tenant: t, EventTypes: []string{domain.AllEvents}, Enabled: true, Listener: true,
		Description: domain.InboxDescription, CreatedAt: now, UpdatedAt: now,
	}
	_, sealed, err := sealSecret(i.sealer, e.ID, secret)
	if err != nil {
		return err
	}
	e.Secrets = []domain.SigningSecret{{Sealed: sealed}}
	err = i.audit.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		// The insert waits for another call that is storing one.
		stored, err := tx.Webhooks.InsertEndpoint(ctx, e)
		if errors.Is(err, ports.ErrEndpointLimit) {
			err = domain.WebhookEndpointLimit()
		}
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if first, err := inboxOf(ctx, tx.Webhooks, t); err != nil || first.ID != stored.ID {
			return domain.AuditRecord{}, cmp.Or(err, errOpened)
		}
		return domain.AuditRecord{Action: domain.ActionInboxOpen, Target: t.ApplicationID, BusinessID: t.BusinessID,
			Details: map[string]string{"environment": string(t.Environment)}}, nil
	})
	if errors.Is(err, errOpened) {
		return nil
	}
	return err
}

// take marks what is due as delivered, and returns the newest rows of the inbox since then.
func (i *Inboxes) take(ctx context.Context, e domain.WebhookEndpoint, since time.Time, rows int) ([]ReceivedWebhook, error) {
	for range inboxRounds {
		due, err := i.outbox.Due(ctx, e.ID, i.clock.Now(), InboxRows)
		if err != nil {
			return nil, err
		}
		if len(due) == 0 {
			break
		}
		if err := gone(i.outbox.Record(ctx, e.ID, e.ID.Hex(), i.arrived(e, due), domain.WebhookHealth{})); err != nil {
			return nil, err
		}
		if len(due) < InboxRows {
			break
		}
	}
	recent, err := i.storage.Read().Webhooks.Recent(ctx, e.Tenant, e.ID, since, rows)
	if err != nil || len(recent) == 0 {
		return nil, err
	}
	secrets, err := OpenSecrets(i.sealer, e, i.clock.Now())
	if err != nil {
		return nil, err
	}
	received := make([]ReceivedWebhook, len(recent))
	for n, w := range recent {
		received[n] = receivedWebhook(w, secrets)
	}
	return received, nil
}

// receivedWebhook signs a webhook at the time of its event, whenever and wherever it is shown.
func receivedWebhook(w ports.OutgoingWebhook, secrets [][]byte) ReceivedWebhook {
	w.Attempts = 0
	m := Message(domain.WebhookEndpoint{}, secrets, w, w.CreatedAt)
	return ReceivedWebhook{ID: w.ID, EventID: w.EventID, EventType: w.EventType, DeliveryID: w.DeliveryID, At: w.CreatedAt,
		Header: m.Header, Body: m.Body}
}

// arrived returns the outcomes of webhooks that an inbox has taken.
func (i *Inboxes) arrived(e domain.WebhookEndpoint, due []ports.OutgoingWebhook) []ports.WebhookOutcome {
	now := i.clock.Now()
	outcomes := make([]ports.WebhookOutcome, len(due))
	for n := range due {
		d := due[n].WebhookDelivery
		jitter := rand.Float64() //nolint:gosec // spreads retries
		result := domain.WebhookResult{StatusCode: 200, StartedAt: now, Excerpt: "shown in the portal"}
		a := d.Record(i.ids.ID(domain.PrefixWebhookAttempt), result, i.schedules[e.Tenant.Environment], false, jitter, now)
		outcomes[n] = ports.WebhookOutcome{Delivery: d, Attempt: a}
	}
	return outcomes
}

package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// The kinds of webhook jobs. The ID of a notification is an endpoint's.
const (
	JobWebhook JobKind = "webhook"
	// JobWebhookLowPriority is for endpoints with slow responses.
	JobWebhookLowPriority JobKind = "webhook-slow"
)

var (
	// ErrEndpointLimit means that the application has as many endpoints as it may.
	ErrEndpointLimit = errors.New("the limit of webhook endpoints is reached")

	// ErrEndpointLost means that this owner has lost the lease of the endpoint.
	ErrEndpointLost = errors.New("the lease of the webhook endpoint was lost")
)

// EventWrite is an event of a delivery with its published JSON.
type EventWrite struct {
	domain.Event
	Payload []byte
}

// EventRenderer renders the JSON for the feed and webhooks. It is rendered once, in the transaction
// of the event, and never again.
type EventRenderer interface {
	// DeliveryEvent renders the delivery after the event, in at most 20 KB.
	DeliveryEvent(d *domain.Delivery, e domain.Event) ([]byte, error)
	// EndpointEvent renders an event about the endpoint in its current state. The type is
	// domain.EventEndpointTest or domain.EventEndpointDisabled.
	EndpointEvent(w domain.WebhookEndpoint, id domain.ID, of domain.EventType, at time.Time) ([]byte, error)
}

// FeedReader reads the events of an application over all its deliveries.
type FeedReader interface {
	// Events lists up to limit events after a position, nil for the beginning. They come in the
	// order in which they took their place in the feed, and for one delivery by sequence. An event
	// is not listed while an open transaction could still come before it, so a reader that
	// continues from Next misses none. Only transactions that take part in the feed hold it back.
	// Events of endpoints are not listed. Each call reads a limited part of the feed, so a filtered
	// page may be empty and still have More. With CreatedAfter and without a position, reading
	// starts at about that time, since IDs contain it. Where events after the position may be
	// deleted, or the position does not exist, the error is domain.CursorExpired.
	Events(ctx context.Context, t domain.Tenant, f domain.FeedFilter, after *domain.FeedPosition, limit int) (domain.FeedPage, error)
	// OfAll lists the events of all applications of an environment as Events does, in one order.
	OfAll(ctx context.Context, f domain.PlatformFeedFilter, after *domain.FeedPosition, limit int) (domain.PlatformFeedPage, error)
	// Event returns an event of a delivery or of an endpoint by its ID.
	Event(ctx context.Context, t domain.Tenant, id domain.ID) (domain.FeedEvent, error)
}

// WebhookReader reads the endpoints of an application in an environment, and what was sent to them.
// Listeners are not listed.
type WebhookReader interface {
	// AllEndpoints lists the endpoints of all applications by ID, including listeners, for the
	// platform's own operations. It starts after the given one; empty means from the first one on.
	AllEndpoints(ctx context.Context, after domain.ID, limit int) ([]domain.WebhookEndpoint, error)
	Endpoint(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error)
	// Endpoints lists endpoints by (created_at, id) ascending, up to Limit+1.
	Endpoints(ctx context.Context, t domain.Tenant, p domain.PageRequest) ([]domain.WebhookEndpoint, error)
	// Listeners lists the existing listeners of the application, oldest first.
	Listeners(ctx context.Context, t domain.Tenant) ([]domain.WebhookEndpoint, error)
	Delivery(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error)
	// Recent lists webhooks for an endpoint since a time, with their payload, the newest first by
	// (created_at, id), at most limit.
	Recent(ctx context.Context, t domain.Tenant, endpoint domain.ID, since time.Time, limit int) ([]OutgoingWebhook, error)
	// Deliveries lists webhook deliveries by (created_at, id), newest first, up to Limit+1.
	Deliveries(ctx context.Context, t domain.Tenant, endpoint domain.ID, f domain.WebhookDeliveryFilter,
		p domain.PageRequest) ([]domain.WebhookDelivery, error)
	// Attempts lists the last domain.MaxAttemptsListed attempts of a webhook delivery, by number.
	Attempts(ctx context.Context, t domain.Tenant, delivery domain.ID) ([]domain.WebhookAttempt, error)
	// Tests counts the test events made for an endpoint since then.
	Tests(ctx context.Context, endpoint domain.ID, since time.Time) (int, error)
	// EndpointOf finds an endpoint of a business in any application, but no listener.
	EndpointOf(ctx context.Context, business, id domain.ID) (domain.WebhookEndpoint, error)
	// Unhealthy lists endpoints of a business, or of all where that is empty, by ID. These are
	// enabled ones that have failed since then or longer, and those that no caller disabled. It
	// starts after the given one; empty means from the first one on.
	Unhealthy(ctx context.Context, business domain.ID, since time.Time, after domain.ID, limit int) ([]domain.WebhookEndpoint, error)
	// Summary returns how an endpoint has done lately.
	Summary(ctx context.Context, t domain.Tenant, endpoint domain.ID) (domain.WebhookSummary, error)
	// Recoverable counts, up to limit, what Recover would make pending now.
	Recoverable(ctx context.Context, t domain.Tenant, endpoint domain.ID, r domain.Recovery, limit int) (int, error)
}

// WebhookStore changes endpoints and webhook deliveries.
type WebhookStore interface {
	WebhookReader
	// LockEndpoint reads the endpoint and locks its row until the transaction ends.
	LockEndpoint(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error)
	// InsertEndpoint stores the endpoint in a free slot, or returns ErrEndpointLimit or ErrIDTaken.
	InsertEndpoint(ctx context.Context, e domain.WebhookEndpoint) (domain.WebhookEndpoint, error)
	// UpdateEndpoint stores the changes of a locked endpoint. Where this disables it, its pending
	// webhooks become held; if there are many, the rest a little later.
	UpdateEndpoint(ctx context.Context, e domain.WebhookEndpoint) error
	// DeleteEndpoint deletes the endpoint and its pending webhooks. Its log is purged over time.
	DeleteEndpoint(ctx context.Context, t domain.Tenant, id domain.ID) error
	// LockDelivery reads a webhook delivery and locks its row.
	LockDelivery(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error)
	// UpdateDelivery stores the changes of a locked webhook delivery.
	UpdateDelivery(ctx context.Context, d domain.WebhookDelivery) error
	// Recover makes the webhooks of the recovery pending now, with a fresh schedule: at most limit,
	// the oldest first. It returns how many. While some of an earlier recovery are not tried yet,
	// running is true and nothing happens.
	Recover(ctx context.Context, endpoint domain.ID, r domain.Recovery, now time.Time, limit int) (queued int, running bool, err error)
	// PublishTo stores an event of an endpoint and makes it pending for that endpoint only, to be
	// tried once.
	PublishTo(ctx context.Context, e domain.WebhookEndpoint, event domain.FeedEvent) (domain.WebhookDelivery, error)
	// Publish stores an event of an endpoint and makes it pending for all other endpoints of the
	// application that subscribe to it.
	Publish(ctx context.Context, except domain.WebhookEndpoint, event domain.FeedEvent) error
	// AddKeyCheck stores a sealed text that identifies its key, or returns the stored one. Of two
	// concurrent calls the first wins.
	AddKeyCheck(ctx context.Context, sealed []byte) (stored []byte, err error)
	// SetKeyCheck stores the text, whatever was stored.
	SetKeyCheck(ctx context.Context, sealed []byte) error
}

// FanoutListener is called with the endpoints of pending webhooks right after their commit. This
// includes commits with unknown outcome, and an endpoint may come more than once. Disabled
// endpoints have none pending. It must not block. A missed call only costs time:
// WebhookOutbox.Waiting finds the webhooks.
type FanoutListener func(endpoints []domain.ID)

// FanoutNews notifies processes with waiting listeners of fan-outs. It is optional: a listener
// finds missed webhooks a second later.
type FanoutNews interface {
	// Announce notifies the listeners in this process and in others. It gives up within 100
	// milliseconds and reports nothing. Where nobody listens, it may skip announcements for a
	// second.
	Announce(ctx context.Context, endpoints []domain.ID)
	// Listen calls heard for each announcement until ctx ends.
	Listen(ctx context.Context, heard FanoutListener)
}

// WaitingEndpoint is an endpoint that has something due and no owner, from a time on. At that time
// its circuit is closed and its lease is over.
type WaitingEndpoint struct {
	ID   domain.ID
	From time.Time // by the caller's clock; not after its now if it already waits
	Slow bool      // at that time
}

// OutgoingWebhook is a webhook delivery with its payload.
type OutgoingWebhook struct {
	domain.WebhookDelivery
	Payload []byte
}

// SendingReader reads where the sending of webhooks is paused.
type SendingReader interface {
	// Pauses lists the environments in which people have paused the sending.
	Pauses(ctx context.Context) ([]domain.SendingPause, error)
}

// SendingStore pauses and resumes the sending of webhooks.
type SendingStore interface {
	SendingReader
	// Pause stores the pause. Where the environment is paused already, it does nothing and paused
	// is false.
	Pause(ctx context.Context, p domain.SendingPause) (paused bool, err error)
	// Resume ends the pause of an environment and returns it; nil means that there is none. The
	// endpoints that were failing when it began are marked as failing since at, so the pause does
	// not count.
	Resume(ctx context.Context, e domain.Environment, at time.Time) (ended *domain.SendingPause, err error)
}

// WebhookOutbox gives senders the pending webhooks of all applications. Only the holder of an
// endpoint's lease sends to it. Leases use the clock of the database, due times the caller's clock.
type WebhookOutbox interface {
	SendingReader
	// Waiting lists endpoints that wait now, or will within ahead if nothing happens until then.
	// Their owners, a business in an environment each, take turns: first comes from each owner
	// the endpoint whose webhooks have been due longest, then the next one from each. So an owner
	// with more endpoints than the limit hides no other's. It lists no endpoint of a paused
	// environment and no listener.
	Waiting(ctx context.Context, now time.Time, ahead time.Duration, limit int) ([]WaitingEndpoint, error)
	// Lease gives the endpoint to the token for a time, if it is free or already the token's, and
	// reports whether it did. A lease or an open circuit with hours left is from before the clock
	// was set back, and counts as over. An endpoint cannot be leased if it is deleted, its circuit
	// is open or its environment is paused, so notifications of it change nothing. A listener holds
	// its own lease, under its ID without the prefix. This call marks webhooks as held that became
	// pending while their endpoint was being disabled.
	Lease(ctx context.Context, endpoint domain.ID, token string, lasting time.Duration) (e domain.WebhookEndpoint, leased bool, err error)
	// Renew renews the lease and reads the endpoint, or returns ErrEndpointLost.
	Renew(ctx context.Context, endpoint domain.ID, token string, lasting time.Duration) (domain.WebhookEndpoint, error)
	// Release ends the lease. It does nothing where it was lost.
	Release(ctx context.Context, endpoint domain.ID, token string) error
	// Due lists pending and due webhooks of the endpoint, by due time and ID, except those that the
	// caller has already.
	Due(ctx context.Context, endpoint domain.ID, now time.Time, limit int, except ...domain.ID) ([]OutgoingWebhook, error)
	// WaitingFor returns what Waiting would list for one endpoint; nil where it does not wait.
	WaitingFor(ctx context.Context, endpoint domain.ID, now time.Time, ahead time.Duration) (*WaitingEndpoint, error)
	// Record stores the results of attempts and the resulting health of the endpoint, in one
	// transaction, while the lease is the token's. Otherwise it returns ErrEndpointLost. A webhook
	// delivery that was held meanwhile, since the endpoint was disabled, or was resent, stays so
	// unless the attempt succeeded. An attempt that is already recorded changes nothing, so a
	// repetition is safe. An attempt of a deleted webhook delivery is dropped. Where the endpoint
	// recovers, it mails domain.RecoveredNotice.
	Record(ctx context.Context, endpoint domain.ID, token string, of []WebhookOutcome, health domain.WebhookHealth) error
	// Disable disables the endpoint while the lease is the token's. It marks its pending webhooks
	// as held, publishes the event to the other endpoints and mails domain.DisabledNotice.
	Disable(ctx context.Context, e domain.WebhookEndpoint, token string, event domain.FeedEvent) error
	// Backlog counts what is due now for enabled endpoints, without listeners, and returns since
	// when the oldest one is due.
	Backlog(ctx context.Context, now time.Time) (n int, since time.Time, err error)
	// Disabled counts the disabled endpoints.
	Disabled(ctx context.Context) (int, error)
}

// WebhookOutcome is a webhook delivery after an attempt.
type WebhookOutcome struct {
	Delivery domain.WebhookDelivery
	Attempt  domain.WebhookAttempt
}

// WebhookSender makes webhook attempts.
type WebhookSender interface {
	// Send posts the body. It never fails: the result holds any failure. It takes at most 15
	// seconds. It keeps no connection to an address that the rules for targets forbid.
	Send(ctx context.Context, m WebhookMessage) domain.WebhookResult
	// Resolvable returns nil where the host of a URL resolves, now, to allowed addresses, or the
	// reason as domain.WebhookURLBlocked.
	Resolvable(ctx context.Context, url string) error
}

// WebhookMessage is one signed request.
type WebhookMessage struct {
	URL    string
	Owner  string            // no owner waits for the attempts of another one at the same host
	Header map[string]string // by name, besides those of every request
	Body   []byte
}

// Sealer encrypts secrets for storage.
type Sealer interface {
	// Seal encrypts for the purpose, such as an ID. The same text gives another result each time.
	Seal(purpose string, plain []byte) ([]byte, error)
	// Open decrypts. It fails where the purpose differs, the text was changed, or its key is no
	// longer known.
	Open(purpose string, sealed []byte) ([]byte, error)
	// Current reports whether the text was sealed under the key that Seal uses.
	Current(sealed []byte) bool
	// Derive returns a secret for the purpose. It is always the same while the key is the same, and
	// reveals nothing about any other secret. Another key gives another secret: a key is changed
	// because it may have leaked, and every derived secret with it.
	Derive(purpose string) ([32]byte, error)
}

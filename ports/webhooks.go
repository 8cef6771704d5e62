package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// The jobs of webhooks; the ID of a notification is an endpoint's.
const (
	JobWebhook JobKind = "webhook"
	// JobWebhookLowPriority is for endpoints that keep their sender waiting.
	JobWebhookLowPriority JobKind = "webhook-slow"
)

var (
	// ErrEndpointLimit means that the application has as many endpoints as it may.
	ErrEndpointLimit = errors.New("the limit of webhook endpoints is reached")

	// ErrEndpointLost means that the endpoint is not this owner's any more.
	ErrEndpointLost = errors.New("the lease of the webhook endpoint was lost")
)

// EventWrite is an event of a delivery with the JSON that is published.
type EventWrite struct {
	domain.Event
	Payload []byte
}

// EventRenderer makes the JSON that the feed shows and webhooks carry. It is
// rendered once, in the transaction of the event, and never again.
type EventRenderer interface {
	// DeliveryEvent shows the delivery as the event leaves it; at most 20 KB.
	DeliveryEvent(d *domain.Delivery, e domain.Event) ([]byte, error)
	// EndpointEvent is about an endpoint as it is now; type is one of
	// domain.EventEndpointTest and domain.EventEndpointDisabled.
	EndpointEvent(w domain.WebhookEndpoint, id domain.ID, of domain.EventType, at time.Time) ([]byte, error)
}

// FeedReader reads the events of an application over all its deliveries.
type FeedReader interface {
	// Events lists up to limit events behind a position, nil for the beginning, in the
	// order in which they took their place, and of one delivery by sequence. An event
	// that a transaction under way could still come before is not listed yet: so a
	// reader that goes on from Next misses none. Only transactions that take part in
	// the feed hold it back. Events of endpoints are not listed. However long the feed
	// is, a bounded part of it is read, so that a page of a filter may be empty and
	// have More. With CreatedAfter and from the beginning, the feed is read from about
	// there on: IDs tell when events were made. Where events behind the position may
	// be gone, or there is no such position, the error is domain.CursorExpired.
	Events(ctx context.Context, t domain.Tenant, f domain.FeedFilter, after *domain.FeedPosition, limit int) (domain.FeedPage, error)
	// OfAll is Events over all applications of an environment, in one order.
	OfAll(ctx context.Context, f domain.PlatformFeedFilter, after *domain.FeedPosition, limit int) (domain.PlatformFeedPage, error)
	// Event is one of them by its ID, or one of an endpoint.
	Event(ctx context.Context, t domain.Tenant, id domain.ID) (domain.FeedEvent, error)
}

// WebhookReader reads the endpoints of an application in an environment, and
// what was sent to them. Listeners are not listed.
type WebhookReader interface {
	// AllEndpoints lists, for the platform's own operations, those of all
	// applications behind one, by ID; listeners too. Empty: from the first on.
	AllEndpoints(ctx context.Context, after domain.ID, limit int) ([]domain.WebhookEndpoint, error)
	Endpoint(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error)
	// Endpoints goes by (created_at, id) ascending and returns up to Limit+1.
	Endpoints(ctx context.Context, t domain.Tenant, p domain.PageRequest) ([]domain.WebhookEndpoint, error)
	// Listeners lists those of the application that are there, oldest first.
	Listeners(ctx context.Context, t domain.Tenant) ([]domain.WebhookEndpoint, error)
	Delivery(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error)
	// Recent lists what was made for an endpoint since a time, with what is sent: the
	// newest first by (created_at, id), at most limit.
	Recent(ctx context.Context, t domain.Tenant, endpoint domain.ID, since time.Time, limit int) ([]OutgoingWebhook, error)
	// Deliveries goes newest first by (created_at, id) and returns up to Limit+1.
	Deliveries(ctx context.Context, t domain.Tenant, endpoint domain.ID, f domain.WebhookDeliveryFilter,
		p domain.PageRequest) ([]domain.WebhookDelivery, error)
	// Attempts is the log of a webhook delivery, by number: the last
	// domain.MaxAttemptsListed.
	Attempts(ctx context.Context, t domain.Tenant, delivery domain.ID) ([]domain.WebhookAttempt, error)
	// Tests counts the test events made for an endpoint since then.
	Tests(ctx context.Context, endpoint domain.ID, since time.Time) (int, error)
	// EndpointOf finds an endpoint of a business, in whichever application; no listener.
	EndpointOf(ctx context.Context, business, id domain.ID) (domain.WebhookEndpoint, error)
	// Unhealthy lists the endpoints of a business, or of all where that is empty, that
	// are enabled and fail since then or longer, or were disabled by no caller: by ID,
	// behind one of them; empty: from the first one on.
	Unhealthy(ctx context.Context, business domain.ID, since time.Time, after domain.ID, limit int) ([]domain.WebhookEndpoint, error)
	// Summary tells how an endpoint has done lately.
	Summary(ctx context.Context, t domain.Tenant, endpoint domain.ID) (domain.WebhookSummary, error)
	// Recoverable counts, up to limit, what Recover would make pending now.
	Recoverable(ctx context.Context, t domain.Tenant, endpoint domain.ID, r domain.Recovery, limit int) (int, error)
}

// WebhookStore changes them.
type WebhookStore interface {
	WebhookReader
	// LockEndpoint reads the endpoint and holds its row until the transaction ends.
	LockEndpoint(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error)
	// InsertEndpoint stores it in a free slot, or answers ErrEndpointLimit or ErrIDTaken.
	InsertEndpoint(ctx context.Context, e domain.WebhookEndpoint) (domain.WebhookEndpoint, error)
	// UpdateEndpoint stores what changes of a locked one. Where it is disabled
	// by that, what is pending for it is held; of much of it the rest a little later.
	UpdateEndpoint(ctx context.Context, e domain.WebhookEndpoint) error
	// DeleteEndpoint takes it away with what is pending; its log goes with time.
	DeleteEndpoint(ctx context.Context, t domain.Tenant, id domain.ID) error
	// LockDelivery reads a webhook delivery and holds its row.
	LockDelivery(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error)
	// UpdateDelivery stores what changes of a locked one.
	UpdateDelivery(ctx context.Context, d domain.WebhookDelivery) error
	// Recover makes pending, now and with a schedule of its own, what the
	// recovery names: at most limit, the oldest first. It returns how many.
	// While some of an earlier recovery are not tried yet, running is true and
	// nothing happens.
	Recover(ctx context.Context, endpoint domain.ID, r domain.Recovery, now time.Time, limit int) (queued int, running bool, err error)
	// PublishTo stores an event of an endpoint and makes it pending for one
	// endpoint, without any other, to be tried once.
	PublishTo(ctx context.Context, e domain.WebhookEndpoint, event domain.FeedEvent) (domain.WebhookDelivery, error)
	// Publish stores an event of an endpoint and makes it pending for all other
	// endpoints of the application that take it.
	Publish(ctx context.Context, except domain.WebhookEndpoint, event domain.FeedEvent) error
	// AddKeyCheck keeps something that was sealed, by which the key it was sealed
	// under is known again, or returns what is there. Of two at once the first
	// one stays.
	AddKeyCheck(ctx context.Context, sealed []byte) (stored []byte, err error)
	// SetKeyCheck keeps it, whatever was there.
	SetKeyCheck(ctx context.Context, sealed []byte) error
}

// FanoutListener is called with the endpoints of pending webhooks right after their
// commit; also where the outcome of the commit is unknown, and with an endpoint more than
// once. Disabled endpoints have none pending. It must not block. A missed call costs time
// only: WebhookOutbox.Waiting finds the webhooks.
type FanoutListener func(endpoints []domain.ID)

// FanoutNews carry word of fan-outs to processes in which a listener may wait. They
// are a courtesy: a listener finds missed webhooks a second later.
type FanoutNews interface {
	// Announce tells those that listen, in this process and in others. It gives up
	// within 100 milliseconds and reports nothing. Where none listens it may tell
	// none for a second.
	Announce(ctx context.Context, endpoints []domain.ID)
	// Listen calls heard for each announcement until ctx ends.
	Listen(ctx context.Context, heard FanoutListener)
}

// WaitingEndpoint has something due and no owner, from a time on. Its circuit is not open
// then, and no lease lasts.
type WaitingEndpoint struct {
	ID   domain.ID
	From time.Time // by the caller's clock; not after its now, where it waits already
	Slow bool      // at that time
}

// OutgoingWebhook is a webhook delivery with what is sent.
type OutgoingWebhook struct {
	domain.WebhookDelivery
	Payload []byte
}

// SendingReader tells where no webhooks are sent.
type SendingReader interface {
	// Pauses lists the environments in which people have paused the sending.
	Pauses(ctx context.Context) ([]domain.SendingPause, error)
}

// SendingStore pauses and resumes the sending of webhooks.
type SendingStore interface {
	SendingReader
	// Pause keeps the pause, or does nothing where its environment is paused already:
	// that pause stays as it is, and paused is false.
	Pause(ctx context.Context, p domain.SendingPause) (paused bool, err error)
	// Resume ends the pause of an environment and returns it; nil: there is none. The
	// endpoints that were failing when it began fail since at: the pause does not count.
	Resume(ctx context.Context, e domain.Environment, at time.Time) (ended *domain.SendingPause, err error)
}

// WebhookOutbox is the pending webhooks of all applications, as the senders see
// them. Only the holder of an endpoint's lease sends to it. Leases go by the
// clock of the database, due times by the caller's.
type WebhookOutbox interface {
	SendingReader
	// Waiting lists endpoints that wait by now, or will so long after it if nothing happens
	// until then. Their owners, a business in an environment each, take turns: first comes
	// from each owner the endpoint whose webhooks have been due longest, then from each the
	// next one. So an owner with more of them than the limit hides no other's. None of a
	// paused environment, no listener.
	Waiting(ctx context.Context, now time.Time, ahead time.Duration, limit int) ([]WaitingEndpoint, error)
	// Lease gives the endpoint to the token for so long, if it is free or already the
	// token's, and tells whether it did. A lease or an open circuit with hours to go is
	// from before the clock was set back, and counts as over. A deleted endpoint cannot
	// be leased, nor one whose circuit is open or whose environment is paused, so that
	// notifications of it change nothing; a listener holds its own lease, under its ID without the prefix. Webhooks
	// that became pending for one during its disabling are held by this call.
	Lease(ctx context.Context, endpoint domain.ID, token string, lasting time.Duration) (e domain.WebhookEndpoint, leased bool, err error)
	// Renew begins the lease anew and reads the endpoint, or ErrEndpointLost.
	Renew(ctx context.Context, endpoint domain.ID, token string, lasting time.Duration) (domain.WebhookEndpoint, error)
	// Release ends the lease. It does nothing where it was lost.
	Release(ctx context.Context, endpoint domain.ID, token string) error
	// Due lists what is pending and due for the endpoint, by due time and ID, except
	// webhook deliveries that the caller has already.
	Due(ctx context.Context, endpoint domain.ID, now time.Time, limit int, except ...domain.ID) ([]OutgoingWebhook, error)
	// WaitingFor is Waiting for one endpoint; nil where it does not.
	WaitingFor(ctx context.Context, endpoint domain.ID, now time.Time, ahead time.Duration) (*WaitingEndpoint, error)
	// Record stores, in one transaction and while the lease is the token's, how
	// attempts ended and what they say about the endpoint, or ErrEndpointLost.
	// A webhook delivery that was held meanwhile, since the endpoint was disabled,
	// or asked for again, stays so unless the attempt succeeded. An attempt that is
	// recorded already changes nothing, so that a repeat is safe; one at a webhook
	// delivery that is gone is forgotten. People are told of an endpoint that recovers
	// by that: domain.RecoveredNotice.
	Record(ctx context.Context, endpoint domain.ID, token string, of []WebhookOutcome, health domain.WebhookHealth) error
	// Disable, while the lease is the token's, disables the endpoint, holds what
	// is pending for it, publishes the event to the others and tells people:
	// domain.DisabledNotice.
	Disable(ctx context.Context, e domain.WebhookEndpoint, token string, event domain.FeedEvent) error
	// Backlog counts what is due now for enabled endpoints, listeners excepted,
	// and tells since when the oldest is.
	Backlog(ctx context.Context, now time.Time) (n int, since time.Time, err error)
	// Disabled counts the endpoints that are disabled.
	Disabled(ctx context.Context) (int, error)
}

// WebhookOutcome is a webhook delivery after an attempt.
type WebhookOutcome struct {
	Delivery domain.WebhookDelivery
	Attempt  domain.WebhookAttempt
}

// WebhookSender makes one attempt.
type WebhookSender interface {
	// Send posts the body and never fails: a failure is in the result. It takes
	// at most 15 seconds and keeps no connection to an address that the targets'
	// rules forbid.
	Send(ctx context.Context, m WebhookMessage) domain.WebhookResult
	// Resolvable is nil where the host of an address resolves, now, to addresses
	// that may be sent to; or says why not, as domain.WebhookURLBlocked.
	Resolvable(ctx context.Context, url string) error
}

// WebhookMessage is one signed request.
type WebhookMessage struct {
	URL    string
	Owner  string            // whose it is: no owner waits for the attempts of another one at the same host
	Header map[string]string // by name, besides what every request has
	Body   []byte
}

// Sealer keeps secrets unreadable at rest.
type Sealer interface {
	// Seal encrypts for the purpose, such as an ID; the same text gives another
	// result each time.
	Seal(purpose string, plain []byte) ([]byte, error)
	// Open fails where the purpose is another, the text was changed, or the key
	// it was sealed under is not known any more.
	Open(purpose string, sealed []byte) ([]byte, error)
	// Current tells whether Seal would use the key that the text was sealed under.
	Current(sealed []byte) bool
	// Derive makes a secret for the purpose, the same each time while the key is,
	// that tells nothing about any other. Another key makes another one: a key is
	// changed because it may have leaked, and with it every secret derived from
	// it.
	Derive(purpose string) ([32]byte, error)
}

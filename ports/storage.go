package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// Storage is the only way to data.
type Storage interface {
	// Read gives access without a transaction. Nothing in it writes, so a
	// write outside a transaction does not compile.
	Read() Readers

	// InTx runs fn in one transaction and commits when fn returns nil. It runs
	// fn again, a few times, when the database reports a serialization failure or
	// a deadlock, or another transaction holds a row that fn needs, so fn must be
	// safe to repeat. When the answer to
	// the commit is lost, the error is ErrOutcomeUnknown. Where ctx is over already,
	// fn is not run.
	InTx(ctx context.Context, fn func(ctx context.Context, tx Stores) error) error
}

var (
	// ErrOutcomeUnknown means the database may or may not have committed:
	// the connection broke while the commit was under way. Repeating the same
	// work, with the same IDs, finds out.
	ErrOutcomeUnknown = errors.New("the outcome of the commit is unknown")

	// ErrKeyBusy means that another request holds the idempotency key in a
	// transaction that has not ended after all the time a lock may take.
	ErrKeyBusy = errors.New("the idempotency key is locked")

	// ErrIDTaken means that there is a row of the ID, whose ever it is.
	ErrIDTaken = errors.New("the ID is taken")

	// ErrTookTooLong means that a statement was cut off after all the time one may
	// take: the same again, on the same data, would be too.
	ErrTookTooLong = errors.New("the statement took too long")

	// ErrStorageGone means that the database does not answer, or not now: it is
	// gone, read-only, out of connections or out of disk.
	ErrStorageGone = errors.New("the database does not answer")

	// ErrKeyTaken means another request holds the idempotency key: read its
	// record and replay, or tell the conflict.
	ErrKeyTaken = errors.New("the idempotency key is taken")

	// ErrDirectoryChanged means that the recipient or the address about to be
	// created exists by now: look it up and prepare again.
	ErrDirectoryChanged = errors.New("the recipient or address was created meanwhile")

	// ErrReferenceTaken means the random reference clashed: draw another.
	ErrReferenceTaken = errors.New("the delivery reference is taken")

	// ErrBookingLate means that a booking waited so long for others that its
	// created_at is too old to be stored. Nothing was; give it another time.
	ErrBookingLate = errors.New("the booking waited too long")

	// ErrExternalIDTaken means the application has a delivery with this external_id.
	ErrExternalIDTaken = errors.New("the external_id is taken")
)

// StorageUnavailable reports a failure of the database that may be over in a
// moment, or a deadline that passed while something was waited for, and no defect
// of the program: 503 and not 500 at an edge. Only with ErrOutcomeUnknown may
// anything have been stored.
func StorageUnavailable(err error) bool {
	return errors.Is(err, ErrStorageGone) || errors.Is(err, ErrTookTooLong) || errors.Is(err, ErrOutcomeUnknown) ||
		errors.Is(err, ErrBookingLate) ||
		errors.Is(err, context.DeadlineExceeded)
}

// Readers are the reads that need no transaction. A record that does not
// exist, or is not the tenant's, is domain.ErrNotFound.
type Readers struct {
	Idempotency     IdempotencyReader
	Tenancy         TenancyReader
	Recipients      RecipientReader
	PickupLocations PickupLocationReader
	Deliveries      DeliveryReader
	Simulations     SimulationReader
	Webhooks        WebhookReader
	Feed            FeedReader
	Tracking        TrackingReader
	Operators       OperatorReader
	Audit           AuditReader
	Platform        PlatformReader
	Persons         PersonReader
	Memberships     MembershipReader
	Links           LinkReader
	Sessions        SessionReader
	Passkeys        PasskeyReader
	Views           ViewReader
	Identities      ConnectedIdentityReader
	Devices         DeviceReader
	Requests        RequestReader
	Readiness       ReadinessReader
	Reports         ReportReader
	MoveRuns        MoveRunReader
	Sending         SendingReader
	Machinery       MachineryReader
}

// Stores are the reads and writes of one transaction.
type Stores struct {
	Idempotency     IdempotencyStore
	Tenancy         TenancyStore
	Recipients      RecipientStore
	PickupLocations PickupLocationStore
	Deliveries      DeliveryStore
	Bulks           BulkStore
	Simulations     SimulationStore
	Webhooks        WebhookStore
	Operators       OperatorStore
	Audit           AuditStore
	Persons         PersonStore
	Memberships     MembershipStore
	Links           LinkStore
	Sessions        SessionStore
	Passkeys        PasskeyStore
	Views           ViewStore
	Identities      ConnectedIdentityStore
	Ceremonies      CeremonyStore
	Mails           MailStore
	Devices         DeviceStore
	Readiness       ReadinessStore
	MoveRuns        MoveRunStore
	Sending         SendingStore
	Machinery       MachineryStore
}

// IdempotencyReader finds what a key was used for.
type IdempotencyReader interface {
	// Find returns the record of a key that has not expired by the
	// database's clock.
	Find(ctx context.Context, t domain.Tenant, key string) (domain.KeyRecord, error)
}

// IdempotencyStore remembers keys inside the transaction of their effect.
type IdempotencyStore interface {
	// Claim inserts the record, or takes over an expired one; with an empty
	// Answer, Complete must follow in the same transaction. It must be the
	// first statement, so that of two requests with one key the second waits
	// for the first. ErrKeyTaken when an unexpired record is there, ErrKeyBusy
	// when the first takes too long.
	Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, retention time.Duration) error
	// Complete stores the answer of a record claimed in this transaction.
	Complete(ctx context.Context, t domain.Tenant, key string, a domain.Answer) error
}

// RecipientReader reads the directory of a business in an environment.
type RecipientReader interface {
	Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.Recipient, error)
	FindByPhone(ctx context.Context, t domain.Tenant, phone domain.PhoneNumber) (domain.Recipient, error)
	// List goes by (created_at, id) ascending and returns up to Limit+1, so
	// that the caller can tell whether there is more.
	List(ctx context.Context, t domain.Tenant, f domain.RecipientFilter, p domain.PageRequest) ([]domain.Recipient, error)
	GetAddress(ctx context.Context, t domain.Tenant, id domain.ID) (domain.Address, error)
	FindAddress(ctx context.Context, t domain.Tenant, recipient domain.ID, matchKey string) (domain.Address, error)
	// Addresses goes by (created_at, id) ascending; at most
	// domain.MaxAddressesPerRecipient.
	Addresses(ctx context.Context, t domain.Tenant, recipient domain.ID) ([]domain.Address, error)
}

// RecipientStore changes the directory.
type RecipientStore interface {
	RecipientReader
	// Add inserts the recipient, or returns the one that has its phone
	// number; an empty name of that one is filled in. created tells which.
	Add(ctx context.Context, t domain.Tenant, r domain.Recipient) (stored domain.Recipient, created bool, err error)
	// AddAddress inserts the address, or returns the one with its match key.
	// A VALIDATION_ERROR on "address" when the recipient has the most there may be.
	AddAddress(ctx context.Context, t domain.Tenant, a domain.Address) (stored domain.Address, created bool, err error)
}

// PickupLocationReader reads the pickup locations of a business in an environment.
type PickupLocationReader interface {
	Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error)
	// List goes newest first and returns up to Limit+1.
	List(ctx context.Context, t domain.Tenant, f domain.PickupLocationFilter, p domain.PageRequest) ([]domain.PickupLocation, error)
}

// PickupLocationStore changes pickup locations.
type PickupLocationStore interface {
	PickupLocationReader
	// Lock reads the location and holds its row until the transaction ends.
	Lock(ctx context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error)
	Insert(ctx context.Context, t domain.Tenant, p domain.PickupLocation) error
	// InsertAll is Insert for many at once.
	InsertAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error
	Update(ctx context.Context, t domain.Tenant, p domain.PickupLocation) error
	// LockAll is Lock for up to LocationsAtOnce, in the order of their IDs, so that
	// two transactions that lock many do not deadlock. Missing ones are left out.
	LockAll(ctx context.Context, t domain.Tenant, ids []domain.ID) ([]domain.PickupLocation, error)
	// UpdateAll is Update for up to LocationsAtOnce; the caller has locked them, so
	// that they are there.
	UpdateAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error
}

// LocationsAtOnce is how many pickup locations one statement locks or updates.
const LocationsAtOnce = 500

// DeliveryReader reads the deliveries of an application in an environment.
type DeliveryReader interface {
	Get(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error)
	FindByExternalID(ctx context.Context, t domain.Tenant, externalID string) (*domain.Delivery, error)
	// List goes by (created_at, id), ascending unless the filter says newest
	// first, and returns up to Limit+1.
	List(ctx context.Context, t domain.Tenant, f domain.DeliveryFilter, p domain.PageRequest) ([]*domain.Delivery, error)
	// Events is the whole timeline by sequence; empty when there is no such delivery.
	Events(ctx context.Context, t domain.Tenant, id domain.ID) ([]domain.Event, error)
	// Owner tells whose delivery it is: for the platform's own operations,
	// which have no tenant of their own.
	Owner(ctx context.Context, id domain.ID) (domain.Tenant, error)
}

// DeliveryStore changes deliveries.
type DeliveryStore interface {
	DeliveryReader
	// Lock reads the delivery and holds its row until the transaction ends,
	// so that of two changes the second decides on the outcome of the first.
	Lock(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error)
	// Update stores the lifecycle of a locked delivery together with the events
	// that changed it, which go into the feed and to the webhook endpoints; none
	// where only its simulation did.
	Update(ctx context.Context, t domain.Tenant, d *domain.Delivery, events ...EventWrite) error
}

// TrackingReader reads what the public may see of a delivery.
type TrackingReader interface {
	// Find looks through the deliveries of all tenants in both environments: a
	// viewer has a reference and no tenant. All of the answer is of one moment.
	// For a text that is no reference it does the same work and answers
	// domain.ErrNotFound, so that the time it takes reveals nothing.
	Find(ctx context.Context, r domain.Reference) (domain.Tracking, error)
	// Known tells which references lead to a delivery, in any order. It is asked for
	// at most a thousand; texts that are no references are looked for as others are.
	Known(ctx context.Context, of []domain.Reference) ([]domain.Reference, error)
}

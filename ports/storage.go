package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// Storage is the only way to data.
type Storage interface {
	// Read returns readers without a transaction. They have no writes, so a write outside a
	// transaction does not compile.
	Read() Readers

	// InTx runs fn in one transaction and commits when fn returns nil. It runs fn again, a few
	// times, after a serialization failure or a deadlock, or when another transaction holds a row
	// that fn needs. So fn must be safe to repeat. When the response to the commit is lost, it
	// returns ErrOutcomeUnknown. It does not run fn where ctx has already ended.
	InTx(ctx context.Context, fn func(ctx context.Context, tx Stores) error) error
}

var (
	// ErrOutcomeUnknown means that the database may or may not have committed, since the connection
	// broke during the commit. Repeat the same work, with the same IDs, to find out.
	ErrOutcomeUnknown = errors.New("the outcome of the commit is unknown")

	// ErrKeyBusy means that another request held the idempotency key in a transaction for longer
	// than the limit of a lock.
	ErrKeyBusy = errors.New("the idempotency key is locked")

	// ErrIDTaken means that a row with the ID exists, of any owner.
	ErrIDTaken = errors.New("the ID is taken")

	// ErrTookTooLong means that a statement reached its time limit and was cancelled. The same
	// statement on the same data would reach it again.
	ErrTookTooLong = errors.New("the statement took too long")

	// ErrStorageGone means that the database does not respond now: it is down, read-only, out of
	// connections or out of disk.
	ErrStorageGone = errors.New("the database does not answer")

	// ErrKeyTaken means that another request holds the idempotency key. Read its record and replay
	// it, or report the conflict.
	ErrKeyTaken = errors.New("the idempotency key is taken")

	// ErrDirectoryChanged means that the new recipient or address exists by now. Look it up and
	// prepare again.
	ErrDirectoryChanged = errors.New("the recipient or address was created meanwhile")

	// ErrReferenceTaken means that the random reference is in use. Draw another.
	ErrReferenceTaken = errors.New("the delivery reference is taken")

	// ErrBookingLate means that a booking waited so long for others that its created_at is too old.
	// Nothing was stored. Book it again with another time.
	ErrBookingLate = errors.New("the booking waited too long")

	// ErrExternalIDTaken means that the application has a delivery with this external_id.
	ErrExternalIDTaken = errors.New("the external_id is taken")
)

// StorageUnavailable reports whether err is a failure of the database that may soon be over, or a
// deadline that passed during a wait, and no defect of the program. Such a failure is 503 and not
// 500. Only with ErrOutcomeUnknown may anything have been stored.
func StorageUnavailable(err error) bool {
	return errors.Is(err, ErrStorageGone) || errors.Is(err, ErrTookTooLong) || errors.Is(err, ErrOutcomeUnknown) ||
		errors.Is(err, ErrBookingLate) ||
		errors.Is(err, context.DeadlineExceeded)
}

// Readers holds the reads that need no transaction. A record that does not exist, or belongs to
// another tenant, is domain.ErrNotFound.
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

// Stores holds the reads and writes of one transaction.
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
	// Find returns the record of a key that has not expired by the database's clock.
	Find(ctx context.Context, t domain.Tenant, key string) (domain.KeyRecord, error)
}

// IdempotencyStore stores keys inside the transaction of their effect.
type IdempotencyStore interface {
	// Claim inserts the record, or takes over an expired one. With an empty Answer, Complete must
	// follow in the same transaction. Claim must be the first statement, so that the second of two
	// requests with one key waits for the first. It returns ErrKeyTaken when an unexpired record
	// exists, and ErrKeyBusy when the first request takes too long.
	Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, retention time.Duration) error
	// Complete stores the answer of a record claimed in this transaction.
	Complete(ctx context.Context, t domain.Tenant, key string, a domain.Answer) error
}

// RecipientReader reads the directory of a business in an environment.
type RecipientReader interface {
	Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.Recipient, error)
	FindByPhone(ctx context.Context, t domain.Tenant, phone domain.PhoneNumber) (domain.Recipient, error)
	// List lists recipients by (created_at, id) ascending, up to Limit+1, so that the caller knows
	// whether there are more.
	List(ctx context.Context, t domain.Tenant, f domain.RecipientFilter, p domain.PageRequest) ([]domain.Recipient, error)
	GetAddress(ctx context.Context, t domain.Tenant, id domain.ID) (domain.Address, error)
	FindAddress(ctx context.Context, t domain.Tenant, recipient domain.ID, matchKey string) (domain.Address, error)
	// Addresses lists addresses by (created_at, id) ascending, at most
	// domain.MaxAddressesPerRecipient.
	Addresses(ctx context.Context, t domain.Tenant, recipient domain.ID) ([]domain.Address, error)
}

// RecipientStore changes the directory.
type RecipientStore interface {
	RecipientReader
	// Add inserts the recipient, or returns the one with the same phone number and fills in its
	// empty name. created reports which.
	Add(ctx context.Context, t domain.Tenant, r domain.Recipient) (stored domain.Recipient, created bool, err error)
	// AddAddress inserts the address, or returns the one with its match key. It returns a
	// VALIDATION_ERROR on "address" when the recipient has the maximum.
	AddAddress(ctx context.Context, t domain.Tenant, a domain.Address) (stored domain.Address, created bool, err error)
}

// PickupLocationReader reads the pickup locations of a business in an environment.
type PickupLocationReader interface {
	Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error)
	// List lists pickup locations, newest first, up to Limit+1.
	List(ctx context.Context, t domain.Tenant, f domain.PickupLocationFilter, p domain.PageRequest) ([]domain.PickupLocation, error)
}

// PickupLocationStore changes pickup locations.
type PickupLocationStore interface {
	PickupLocationReader
	// Lock reads the location and locks its row until the transaction ends.
	Lock(ctx context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error)
	Insert(ctx context.Context, t domain.Tenant, p domain.PickupLocation) error
	// InsertAll inserts many locations at once.
	InsertAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error
	Update(ctx context.Context, t domain.Tenant, p domain.PickupLocation) error
	// LockAll locks up to LocationsAtOnce rows as Lock does, in the order of their IDs, so that two
	// such transactions do not deadlock. Missing locations are left out.
	LockAll(ctx context.Context, t domain.Tenant, ids []domain.ID) ([]domain.PickupLocation, error)
	// UpdateAll updates up to LocationsAtOnce locations. The caller has locked them, so that they
	// exist.
	UpdateAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error
}

// LocationsAtOnce is how many pickup locations one statement locks or updates.
const LocationsAtOnce = 500

// DeliveryReader reads the deliveries of an application in an environment.
type DeliveryReader interface {
	Get(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error)
	FindByExternalID(ctx context.Context, t domain.Tenant, externalID string) (*domain.Delivery, error)
	// List lists up to Limit+1 deliveries by (created_at, id), ascending unless the filter says
	// newest first.
	List(ctx context.Context, t domain.Tenant, f domain.DeliveryFilter, p domain.PageRequest) ([]*domain.Delivery, error)
	// Events lists the whole timeline by sequence. It is empty when the delivery does not exist.
	Events(ctx context.Context, t domain.Tenant, id domain.ID) ([]domain.Event, error)
	// Owner returns the tenant of a delivery, for the platform's own operations, which have no
	// tenant.
	Owner(ctx context.Context, id domain.ID) (domain.Tenant, error)
}

// DeliveryStore changes deliveries.
type DeliveryStore interface {
	DeliveryReader
	// Lock reads the delivery and locks its row until the transaction ends, so that the second of
	// two changes decides on the outcome of the first.
	Lock(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error)
	// Update stores the lifecycle of a locked delivery together with the events that changed it,
	// which go into the feed and to the webhook endpoints. There are none where only its simulation
	// changed.
	Update(ctx context.Context, t domain.Tenant, d *domain.Delivery, events ...EventWrite) error
}

// TrackingReader reads what the public may see of a delivery.
type TrackingReader interface {
	// Find searches the deliveries of all tenants in both environments, since a viewer has a
	// reference and no tenant. The whole result is of one moment. For a text that is no reference
	// it does the same work and returns domain.ErrNotFound, so that its duration reveals nothing.
	Find(ctx context.Context, r domain.Reference) (domain.Tracking, error)
	// Known returns those references that belong to a delivery, in any order. Callers pass at most
	// a thousand. It also looks up texts that are no references.
	Known(ctx context.Context, of []domain.Reference) ([]domain.Reference, error)
}

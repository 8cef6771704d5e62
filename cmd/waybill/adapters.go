package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"waybill/adapters/brand"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/clock"
	"waybill/adapters/crypto"
	"waybill/adapters/geo"
	"waybill/adapters/mail"
	"waybill/adapters/memory"
	"waybill/adapters/normalizer"
	"waybill/adapters/pricing/httppricing"
	"waybill/adapters/pricing/tariff"
	waybillredis "waybill/adapters/redis"
	"waybill/adapters/storage/gormstore"
	"waybill/adapters/telemetry"
	"waybill/adapters/web"
	"waybill/adapters/web/views"
	"waybill/adapters/webhooksend"
	"waybill/application/access"
	"waybill/application/bulk"
	"waybill/application/idempotency"
	"waybill/application/monitoring"
	"waybill/application/people"
	"waybill/application/webhooks"
	"waybill/configs"
	"waybill/domain"
	"waybill/ports"
)

// This file chooses the adapter of each port, with one function per port. Where there is a choice,
// the settings decide. Add a new adapter here.

// connectTimeout limits how long a start waits for the database.
const connectTimeout = 10 * time.Second

// limitPerAddress limits the requests of a client address without a valid key.
var limitPerAddress = domain.RateLimit{Limit: 60, Window: time.Minute}

// newClock returns a clock that follows the database's clock until the returned function is
// called.
func newClock(ctx context.Context, store ports.Database, log *slog.Logger) (*clock.Database, func()) {
	clock := clock.NewDatabase(store, log)
	if err := clock.Sync(ctx); err != nil {
		log.Warn("the database did not tell its time; this machine's is used until it does", "error", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { defer close(ended); clock.Run(ctx) }()
	return clock, func() { cancel(); <-ended }
}

func newIdentifiers(clock ports.Clock) ports.Identifiers { return crypto.NewIdentifiers(clock) }

// onGORM opens Postgres and SQLite.
var onGORM = storage{open: openGORM, share: shareGORM, migrate: migrateGORM, status: gormstore.MigrationStatus}

// migrateGORM also creates partitions of the request log, for servers whose role may not.
func migrateGORM(ctx context.Context, url string) error {
	if err := gormstore.Migrate(ctx, url); err != nil {
		return err
	}
	return gormstore.PrepareRequests(ctx, url)
}

// storages maps the scheme of the database URL to its adapter. The settings reject any other
// scheme.
var storages = map[string]storage{"postgres": onGORM, "postgresql": onGORM, "sqlite": onGORM}

func storageOf(c *configs.Config) storage {
	scheme, _, _ := strings.Cut(c.DatabaseURL.Reveal(), "://")
	return storages[scheme]
}

func openGORM(ctx context.Context, c *configs.Config, log *slog.Logger) (ports.Database, error) {
	return gormstore.Open(ctx, c.DatabaseURL.Reveal(), gormOptions(c, log))
}

func gormOptions(c *configs.Config, log *slog.Logger) gormstore.Options {
	return gormstore.Options{PoolSize: c.DatabasePoolSize, TransactionPooler: c.DatabasePooler == "transaction", Logger: log,
		CurrentURL: c.CurrentDatabaseURL}
}

// listTimeout limits the database time of a list page, a search or the feed. pageTimeout limits
// those over all customers.
const listTimeout, pageTimeout = time.Second, 3 * time.Second

func shareGORM(ctx context.Context, c *configs.Config, log *slog.Logger) (d databases, err error) {
	sizes := configs.ConnectionsOf(c.DatabasePoolSize)
	o := gormOptions(c, log)
	o.ReplicaURLs, o.ReplicaLag = revealed(c.DatabaseReplicaURLs), c.DatabaseReplicaLag
	o.Name, o.PoolSize, o.ListPoolSize, o.ListTimeout = "background", sizes.Background, sizes.BackgroundLists, pageTimeout
	root, err := gormstore.Open(ctx, c.DatabaseURL.Reveal(), o)
	if err != nil {
		return d, err
	}
	share := func(e domain.Environment, connections, lists int) (*gormstore.Store, error) {
		o := o
		o.Name, o.PoolSize, o.ListPoolSize, o.ListTimeout = string(e), connections, lists, listTimeout
		return root.Share(ctx, o)
	}
	live, err := share(domain.Live, sizes.Live, sizes.LiveLists)
	if err != nil {
		return d, errors.Join(err, root.Close())
	}
	sandbox, err := share(domain.Sandbox, sizes.Sandbox, sizes.SandboxLists)
	if err != nil {
		return d, errors.Join(err, live.Close(), root.Close())
	}
	o.Name, o.PoolSize, o.ListPoolSize, o.SQLiteReaders, o.ReplicaURLs = "request_log", configs.RequestLogConnections, 0, 1, nil
	requests, err := root.Share(ctx, o)
	if err != nil {
		return d, errors.Join(err, sandbox.Close(), live.Close(), root.Close())
	}
	return databases{live: live, sandbox: sandbox, requests: requests, background: root}, nil
}

// newMailer returns the mail server of the settings, or the log.
func newMailer(c *configs.Config, log *slog.Logger) ports.Mailer {
	if c.SMTPURL == "" {
		return mail.NewLogMailer(log, c.MailsAreRead())
	}
	return mail.NewSMTPMailer(c.SMTPURL.Reveal(), c.MailFrom)
}

func newSender(d ports.Database, c *configs.Config, b brand.Brand, clock ports.Clock, ids ports.Identifiers, urls settings.PublicURLs,
	r prometheus.Registerer, log *slog.Logger) *people.MailSender {
	return people.NewMailSender(d, d.Mails(), newMailer(c, log), mail.Renderer{Brand: b}, clock, ids,
		people.MailSites{Portal: urls.Portal, Console: urls.Console + settings.ConsolePath}, telemetry.NewMails(r), log)
}

// newDatabase opens the database of the settings.
func newDatabase(ctx context.Context, c *configs.Config, log *slog.Logger) (ports.Database, func(), error) {
	return openBy(ctx, c, log, storageOf(c).open)
}

// databaseFix returns the fix for a database that cannot be opened or migrated.
func databaseFix(c *configs.Config, err error) string {
	if hint := gormstore.HintOf(err); hint != "" {
		return hint
	}
	switch {
	case errors.Is(err, gormstore.ErrPooler):
		return "WAYBILL_DATABASE_POOLER=transaction, or the address of Postgres itself in WAYBILL_DATABASE_URL"
	case errors.Is(err, gormstore.ErrNoDatabase):
		return "create it, or correct the name in WAYBILL_DATABASE_URL"
	case errors.Is(err, gormstore.ErrTLS):
		return "correct sslmode, and sslrootcert with it, in WAYBILL_DATABASE_URL, or turn TLS on at the server"
	case errors.Is(err, gormstore.ErrEncoding):
		return "create another one, CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0, and name it in WAYBILL_DATABASE_URL"
	case errors.Is(err, gormstore.ErrReadOnly):
		return "name the primary in WAYBILL_DATABASE_URL, or allow this role to write: ALTER ROLE name RESET default_transaction_read_only," +
			" and the same of the database"
	case errors.Is(err, gormstore.ErrTooManyConnections):
		return fmt.Sprintf("raise that limit, end other programs' connections, or lower WAYBILL_DATABASE_POOL_SIZE, now %d: each process may hold"+
			" one connection more than that", c.DatabasePoolSize)
	case errors.Is(err, gormstore.ErrRefused):
		return "correct WAYBILL_DATABASE_URL, or let this user in at the server"
	case gormstore.LacksPrivilege(err):
		return "grant the role USAGE on the schema, SELECT, INSERT, UPDATE and DELETE on all tables, and USAGE, SELECT and UPDATE on all sequences;" +
			" migrate up needs the owner of the tables, with CREATE on the schema"
	case errors.Is(err, gormstore.ErrEarlierBuild) && strings.HasPrefix(c.DatabaseURL.Reveal(), settings.SqliteScheme):
		return "waybill dev --reset starts anew and deletes the data; or name another file in WAYBILL_DATABASE_URL"
	case errors.Is(err, gormstore.ErrEarlierBuild):
		return "create an empty database and name it in WAYBILL_DATABASE_URL"
	case errors.Is(err, gormstore.ErrNoSchema):
		return "create the schema that search_path names first: CREATE SCHEMA name AUTHORIZATION role"
	case gormstore.TimedOut(err):
		return "take statement_timeout and lock_timeout out of WAYBILL_DATABASE_URL; behind a pooler those of the role count: migrate by the address" +
			" of Postgres itself"
	case ports.StorageUnavailable(err) || errors.Is(err, context.Canceled):
		return "start the database, or set WAYBILL_DATABASE_URL"
	}
	return "correct what the database says, or set WAYBILL_DATABASE_URL to another one"
}

func openBy[D io.Closer](ctx context.Context, c *configs.Config, log *slog.Logger,
	open func(context.Context, *configs.Config, *slog.Logger) (D, error),
) (none D, _ func(), _ error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	store, err := open(ctx, c, log)
	if err != nil {
		return none, nil, &term.StartError{
			What: "the database cannot be opened", Err: err,
			UsedFor: "all data (WAYBILL_DATABASE_URL, now " + c.DatabaseURL.String() + ")",
			Fix:     databaseFix(c, err),
		}
	}
	closeStore := func() {
		if err := store.Close(); err != nil {
			log.Warn("database not closed cleanly", "error", err)
		}
	}
	return store, closeStore, nil
}

// newKeyDigester returns a digester that requires the pepper only when a key is created or looked
// up. A command that does neither runs without it.
func newKeyDigester(c *configs.Config) (ports.KeyDigester, error) {
	if c.KeyPepper == "" {
		return crypto.NoKeyDigester{}, nil
	}
	return crypto.NewKeyDigester(c.KeyPepper.Reveal(), revealed(c.KeyPepperPrevious)...)
}

func revealed[S interface{ Reveal() string }](secrets []S) []string {
	out := make([]string, len(secrets))
	for i, s := range secrets {
		out[i] = s.Reveal()
	}
	return out
}

func newNormalizer(c *configs.Config) (ports.Normalizer, error) {
	n, err := normalizer.New(c.PhoneRegion)
	if err != nil {
		return nil, settings.BadSetting(c, "phone_region", err)
	}
	return n, nil
}

func newServiceArea(c *configs.Config) (*geo.Area, error) {
	if c.ServiceAreaFile == "" {
		return geo.DefaultArea(), nil
	}
	area, err := geo.ReadArea(c.ServiceAreaFile)
	if err != nil {
		return nil, settings.BadSetting(c, "service_area_file", err)
	}
	return area, nil
}

func newPricing(c *configs.Config, routing ports.Routing, area ports.ServiceArea, r prometheus.Registerer, f *tracing,
	o *telemetry.Outages) (ports.Pricing, error) {
	pricing, err := tracedPricing(c, routing, area, f, o)
	if err != nil {
		return nil, err
	}
	return f.tracing().Pricing(telemetry.NewMeteredPricing(pricing, r)), nil
}

func choosePricing(c *configs.Config, routing ports.Routing, area ports.ServiceArea) (ports.Pricing, error) {
	return tracedPricing(c, routing, area, nil, nil)
}

// tracedPricing returns the result of choosePricing, with traces if they are on.
func tracedPricing(c *configs.Config, routing ports.Routing, area ports.ServiceArea, f *tracing, o *telemetry.Outages) (ports.Pricing, error) {
	switch c.PricingURL {
	case "":
		return newTariff(c, routing, area)
	default:
		client, err := httppricing.New(httppricing.Options{
			URL: c.PricingURL, Timeout: c.PricingTimeout, Currency: c.Currency, Header: f.headers(), OnChange: o.Of("pricing"),
		})
		if err != nil {
			return nil, settings.BadSetting(c, "pricing_url", err)
		}
		return client, nil
	}
}

// newTariff returns prices by the table of the settings, or by the built-in one.
func newTariff(c *configs.Config, routing ports.Routing, area ports.ServiceArea) (ports.Pricing, error) {
	table := tariff.Default()
	if c.Tariff.Vehicles != nil {
		table = tariff.Table{Currency: c.Currency, StepMinor: c.Tariff.Step, Vehicles: map[domain.VehicleType]tariff.Rate{}}
		for vehicle, row := range c.Tariff.Vehicles {
			table.Vehicles[domain.VehicleType(vehicle)] = tariff.Rate{
				BaseMinor: row.Base, PerKilometreMinor: row.PerKM, MinimumMinor: row.Minimum, RangeKilometres: row.RangeKM,
			}
		}
	}
	if table.Currency != c.Currency {
		return nil, settings.BadSetting(c, "currency",
			errors.New("the built-in prices are in "+table.Currency+", and there is no tariff in the configuration file"))
	}
	pricing, err := tariff.New(table, routing, area)
	if err != nil {
		return nil, settings.BadSetting(c, "tariff", err)
	}
	return pricing, nil
}

// newRateLimiter returns a limiter that counts in Redis if there is one, and in the process if
// there is none or it fails.
func newRateLimiter(ctx context.Context, client *redis.Client, r prometheus.Registerer, log *slog.Logger) ports.RateLimiter {
	inProcess := memory.NewLimiter(time.Now)
	if client == nil {
		return inProcess
	}
	limiter := waybillredis.NewGuardedLimiter(waybillredis.NewLimiter(client, waybillredis.LimiterOptions{}), inProcess, r, log)
	limiter.Open(ctx)
	return limiter
}

func newInvalidations(client *redis.Client, log *slog.Logger) ports.Invalidations {
	if client == nil {
		return memory.NewInvalidations()
	}
	return waybillredis.NewInvalidations(client, log)
}

// newFanoutNews returns the announcements to other processes, or nil without a Redis.
func newFanoutNews(client *redis.Client, log *slog.Logger) ports.FanoutNews {
	if client == nil {
		return nil
	}
	return waybillredis.NewFanouts(client, log)
}

// newQueue returns a queue across processes if there is a Redis.
func newQueue(client queueRedis, log *slog.Logger) ports.Queue {
	if client.Client == nil {
		return memory.NewQueue(memory.QueueOptions{Workers: webhookWorkers}, log)
	}
	return waybillredis.NewQueue(client.Client, waybillredis.QueueOptions{Workers: webhookWorkers}, log)
}

// newSharedQueue returns nil if no other process sees the queue.
func newSharedQueue(q ports.Queue) ports.SharedQueue {
	shared, _ := q.(ports.SharedQueue)
	return shared
}

// webhookWorkers sets the number of webhook workers. They are many, since they wait for
// receivers, often for slow ones.
var webhookWorkers = map[ports.JobKind]int{ports.JobWebhook: 128, ports.JobWebhookLowPriority: 256}

// newSealer returns a sealer that requires the secret key only when a secret is created or used.
func newSealer(c *configs.Config) (ports.Sealer, error) {
	if c.SecretKey == "" {
		return crypto.NoSealer{}, nil
	}
	previous := make([][]byte, len(c.SecretKeyPrevious))
	for i, key := range c.SecretKeyPrevious {
		previous[i] = []byte(key.Reveal())
	}
	return crypto.NewSealer([]byte(c.SecretKey.Reveal()), previous...)
}

func newWebhookSender(c *configs.Config, f *tracing) (ports.WebhookSender, func()) {
	s := webhooksend.New(webhooksend.Options{AllowPrivate: c.WebhookAllowPrivate})
	return f.tracing().WebhookSender(s), s.Close
}

func newOutbox(store ports.Database) ports.WebhookOutbox { return store.Outbox() }

func newAllowPrivate(c *configs.Config) webhooks.AllowPrivate {
	return webhooks.AllowPrivate(c.WebhookAllowPrivate)
}

func newMailed(c *configs.Config) people.Mailed { return c.SMTPURL != "" }

// newSchedules returns the retry schedules of the settings for both environments, or the
// default of each.
func newSchedules(c *configs.Config) webhooks.Schedules {
	schedules := webhooks.Schedules{}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		schedules[e] = domain.DefaultRetrySchedule(e)
		if len(c.WebhookRetrySchedule) > 0 {
			schedules[e] = domain.RetrySchedule(c.WebhookRetrySchedule)
		}
	}
	return schedules
}

func newLimits(c *configs.Config) access.Limits {
	return access.Limits{
		PerKey:      rateLimit(c.RateLimitPerKey),
		PerBusiness: rateLimit(c.RateLimitPerBusiness),
		PerAddress:  limitPerAddress,
	}
}

func rateLimit(r configs.Rate) domain.RateLimit {
	return domain.RateLimit{Limit: r.Limit, Window: r.Window}
}

func newRetention(c *configs.Config) idempotency.Retention {
	return idempotency.Retention(c.IdempotencyRetention)
}

func newRequestLogMode(c *configs.Config) monitoring.LogMode { return monitoring.LogMode(c.RequestLog) }

func newBulkLease(c *configs.Config) bulk.Lease { return bulk.Lease(c.BulkLease) }

// bulkThrottles limits how much of a process bulk requests may use.
type bulkThrottles struct{ live, sandbox bulk.Throttle }

// newBulkThrottles returns limits that let live bulk requests run next to single creates. On SQLite
// all share the one connection that writes: with two bulk writers one is always ready, and a single
// create waits for no more. On Postgres they use a fraction of the pool. The pauses of the sandbox
// leave most of the processors to live.
func newBulkThrottles(c *configs.Config) bulkThrottles {
	throttles := bulkThrottles{live: bulk.Throttle{Writers: 4}, sandbox: bulk.Throttle{Writers: 1, Pause: 6}}
	if strings.HasPrefix(c.DatabaseURL.Reveal(), settings.SqliteScheme) {
		throttles.live.Writers = 2
	}
	return throttles
}

// cursorKeys sign cursors. The first signs new ones. They are derived from the peppers, which keep
// old values next to a new one. A reader of the feed may come back with a cursor after weeks.
type cursorKeys [][32]byte

func newCursorKeys(c *configs.Config) (cursorKeys, error) {
	if c.KeyPepper == "" {
		return nil, errors.New("cursors need the pepper")
	}
	return web.CursorKeys(append([]string{c.KeyPepper.Reveal()}, revealed(c.KeyPepperPrevious)...)...)
}

// newEventRenderer returns a renderer that shows deliveries as the API does.
func newEventRenderer(urls settings.PublicURLs) ports.EventRenderer {
	return views.Events{TrackingBaseURL: urls.Tracking}
}

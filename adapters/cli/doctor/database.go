package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/configs"
	"waybill/ports"
)

const (
	// The oldest server version that the tests run on.
	oldestPostgres = 15
	oldestRedis    = 7

	// doctorTimeout limits one check: a slower service is no help.
	doctorTimeout = 5 * time.Second
)

// fresh reports whether waybill dev has not been started yet.
func (d *diagnosis) fresh() bool {
	_, err := os.Stat(d.dir.Database())
	return d.inDir && errors.Is(err, fs.ErrNotExist)
}

func (d *diagnosis) database(ctx context.Context) {
	const check = "database"
	if path, ok := strings.CutPrefix(d.c.DatabaseURL.Reveal(), settings.SqliteScheme); ok {
		// Opening would create it.
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if d.inDir {
				d.ok(check, "none yet; waybill dev makes one in "+string(d.dir)+", and a server takes WAYBILL_DATABASE_URL")
				return
			}
			d.fail(check, "there is no file "+path+" (WAYBILL_DATABASE_URL)", "waybill migrate up makes it")
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	store, closeStore, err := d.program.Instruments.Database(ctx, d.c)
	if err != nil {
		d.failed(check, err)
		return
	}
	defer closeStore()
	asked := time.Now()
	product, version, clock, err := store.Server(ctx)
	if err != nil {
		d.failed(check, err)
		return
	}
	took := time.Since(asked)
	d.clocks = append(d.clocks, clockReading{"the database's", clock.Sub(asked.Add(took / 2))})
	message := fmt.Sprintf("%s %s at %s answers in %s", product, version, d.c.DatabaseURL, shortly(took))
	if major, known := leadingNumber(version); product == "Postgres" && known && major < oldestPostgres {
		d.fail(check, message, fmt.Sprintf("Postgres %d or newer", oldestPostgres))
	} else {
		d.ok(check, message)
	}
	access, err := store.Access(ctx)
	if err != nil {
		d.failed("rights", err)
		return
	}
	d.connections(access)
	if d.migrations(ctx, access, store) {
		if d.rights(access); len(access.Missing) > 0 {
			return // the following checks would fail because of it
		}
		if d.installation, err = store.Installation(ctx); err != nil {
			d.failed(check, err)
		}
		d.secretsOfDatabase(ctx, store)
		d.operators(ctx, store)
	}
}

func (d *diagnosis) replicas(ctx context.Context) {
	const check = "replicas"
	if len(d.c.DatabaseReplicaURLs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	all, err := d.program.Instruments.Replicas(ctx, d.c)
	if err != nil {
		d.failed(check, err)
		return
	}
	for _, r := range all {
		if r.LeftOut != "" {
			d.warn(check, "no list would be read from "+r.Name+": "+r.LeftOut,
				"start it, let it catch up with the database, or correct WAYBILL_DATABASE_REPLICA_URLS; servers read lists from the database meanwhile")
			continue
		}
		d.ok(check, fmt.Sprintf("%s has replayed what the database had written %s before", r.Name, shortly(r.Lag)))
	}
}

// connections compares the connections that the processes of an installation may open with the
// limit of the database. Behind a pooler it is the pooler's limit.
func (d *diagnosis) connections(a ports.StorageAccess) {
	const check, processes = "connections", 2
	if len(a.Limits) == 0 || d.c.DatabasePooler == "transaction" {
		return
	}
	least := a.Limits[0]
	for _, l := range a.Limits {
		if l.Most < least.Most {
			least = l
		}
	}
	each := d.c.DatabasePoolSize + configs.RequestLogConnections
	message := fmt.Sprintf("a process may hold %d connections, and %s may have %d", each, least.Of, least.Most)
	if processes*each <= least.Most {
		d.ok(check, message)
		return
	}
	d.warn(check, message+"; a server and a worker beside it need not get all of theirs",
		fmt.Sprintf("raise that limit to processes x %d, or lower WAYBILL_DATABASE_POOL_SIZE; 8 is the least", each))
}

// rights reports permissions that a server needs and the role lacks.
func (d *diagnosis) rights(a ports.StorageAccess) {
	const check, soon = "rights", 7 * 24 * time.Hour
	if a.Role == "" {
		return
	}
	before := len(d.findings)
	if len(a.Missing) > 0 {
		const shown = 5
		missing := strings.Join(a.Missing[:min(shown, len(a.Missing))], "; ")
		if more := len(a.Missing) - shown; more > 0 {
			missing += fmt.Sprintf("; and on %d more", more)
		}
		d.fail(check, "the role "+a.Role+" lacks rights that a server needs: "+missing, fmt.Sprintf(
			"as the owner of the tables: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[1]s TO %[2]s; GRANT USAGE, SELECT, UPDATE ON"+
				" ALL SEQUENCES IN SCHEMA %[1]s TO %[2]s; and the same with ALTER DEFAULT PRIVILEGES for tables of later versions", a.Schema, a.Role))
	}
	if !a.MakesRoom && !a.RoomUntil.IsZero() && d.c.RequestLog != "off" {
		const fix = "run waybill migrate up as the owner of the tables at least every two weeks, which makes room for a month; or GRANT the owner's" +
			" role to this one"
		message := fmt.Sprintf("the role %s may not make partitions of the request log, which has room until %s", a.Role,
			a.RoomUntil.Format(time.DateOnly))
		if time.Until(a.RoomUntil) < soon {
			d.fail(check, message+": after that day records of requests are lost", fix)
		} else {
			d.warn(check, message, fix)
		}
	}
	if a.Isolation != "read committed" {
		d.warn(check, fmt.Sprintf("statements outside of transactions are %s behind the pooler, by a setting of the role %s or the database: some"+
			" fail beside others", a.Isolation, a.Role), "ALTER ROLE "+a.Role+" RESET default_transaction_isolation, and the same of the database")
	}
	if len(d.findings) == before {
		d.ok(check, "the role "+a.Role+" has all that a server needs")
	}
}

// migrations reports whether the schema is complete enough for further checks.
func (d *diagnosis) migrations(ctx context.Context, access ports.StorageAccess, store Database) bool {
	const check = "migrations"
	if access.Role != "" && access.Schema == "" {
		d.fail("rights", "the role "+access.Role+" may use no schema of its search_path, or there is none",
			"as the owner of the schema: GRANT USAGE ON SCHEMA name TO "+access.Role+"; or correct search_path")
		return false
	}
	applied, known, err := store.SchemaVersions(ctx)
	switch {
	case err != nil:
		d.failed(check, err)
	case applied < known && d.inDir:
		d.warn(check, fmt.Sprintf("the database is behind this program: it is at %d of %d", applied, known),
			"waybill dev applies the rest at its start; or waybill migrate up --data-dir "+term.ShellQuoted(string(d.dir)))
	case applied < known:
		d.fail(check, fmt.Sprintf("the database is behind this program: it is at %d of %d", applied, known), "waybill migrate up")
	case applied > known:
		d.warn(check, AheadOf(applied, known), AheadFix)
		return true
	default:
		d.ok(check, fmt.Sprintf("all %d are applied", known))
		return true
	}
	return false
}

// secretsOfDatabase does what a start does, and rolls it back.
func (d *diagnosis) secretsOfDatabase(ctx context.Context, store Database) {
	const check = "secrets fit"
	if settings.NeedSecrets(d.c, "key_pepper", "secret_key") != nil {
		return // reported before
	}
	tenants, key, err := d.program.Instruments.Secrets(rolledBack{store}, d.c)
	if err != nil {
		d.failed(check, err)
		return
	}
	failures := []error{settings.PepperRefused(tenants.ConfirmPepper(ctx), d.c), settings.SecretKeyRefused(key.Confirm(ctx), d.c)}
	for _, err := range failures {
		if err != nil {
			d.failed(check, err)
		}
	}
	if errors.Join(failures...) == nil {
		d.ok(check, "both are this database's")
	}
	d.pepperChange(ctx, tenants)
}

// rolledBack is a storage that rolls back all its transactions.
type rolledBack struct{ ports.Storage }

var errRolledBack = errors.New("rolled back on purpose")

// InTx runs fn and rolls its changes back.
func (r rolledBack) InTx(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	err := r.Storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return errRolledBack
	})
	if errors.Is(err, errRolledBack) {
		return nil
	}
	return err
}

func shortly(d time.Duration) string {
	if d < time.Millisecond {
		return "under 1ms"
	}
	return d.Round(time.Millisecond).String()
}

// leadingNumber returns the major version of "16.4 (Debian 16.4-1)".
func leadingNumber(version string) (int, bool) {
	digits := version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	n, err := strconv.Atoi(digits)
	return n, err == nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"waybill/configs"
	"waybill/domain"
)

type migrationView struct {
	Version   int64   `json:"version"`
	Name      string  `json:"name"`
	AppliedAt *string `json:"applied_at"`
}

type migrationsView struct {
	Pending    int             `json:"pending"`
	Migrations []migrationView `json:"migrations"`
}

func (p *program) migrate() *cobra.Command {
	return group("migrate", "The database's schema: up, status", p.migrateUp(), p.migrateStatus())
}

func (p *program) migrateUp() *cobra.Command {
	return &cobra.Command{ //nolint:gosec // the URL is an example
		Use: "up", Short: "Apply what is missing; safe to repeat, and while servers run",
		Example: `  WAYBILL_DATABASE_URL=postgres://waybill:...@db/waybill waybill migrate up
  waybill migrate up --data-dir /var/lib/waybill`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load(cmd)
			if err != nil {
				return err
			}
			if !c.IsSet("database_url") {
				if !cmd.Flag("data-dir").Changed {
					return &startError{
						what:    "nothing says which database to migrate",
						usedFor: "a migration, which is asked for by name",
						fix:     "WAYBILL_DATABASE_URL=postgres://user:password@host/name, or --data-dir " + p.dataDir,
					}
				}
				if err := prepare(dataDir(p.dataDir), c); err != nil {
					return err
				}
			}
			pending, err := migrateUp(cmd.Context(), c)
			if err != nil {
				return err
			}
			if !pending {
				p.say("Nothing to do.")
			}
			return p.showMigrations(cmd.Context(), c)
		},
	}
}

// prepare makes a data directory complete: database and secrets.
func prepare(dir dataDir, c *configs.Config) error {
	if err := dir.make(); err != nil {
		return err
	}
	if err := dir.makeSecrets(); err != nil {
		return err
	}
	return dir.supplyDatabase(c)
}

func (p *program) migrateStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "List the steps of the schema and when each was applied", Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.loadPlaced(cmd)
			if err != nil {
				return err
			}
			return p.showMigrations(cmd.Context(), c)
		},
	}
}

// migrateUp asks first whether the database answers: a migration has no
// time-out that would tell soon. pending tells whether there was anything to do.
func migrateUp(ctx context.Context, c *configs.Config) (pending bool, err error) {
	store, closeStore, err := newDatabase(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return false, err
	}
	pending, asked := store.MigrationsPending(ctx)
	closeStore()
	if err := storageOf(c).migrate(ctx, c.DatabaseURL.Reveal()); err != nil {
		return false, migrationFailed(c, err)
	}
	return pending || asked != nil, nil
}

func migrationFailed(c *configs.Config, err error) error {
	return &startError{what: "the database cannot be migrated", err: err,
		usedFor: "all data (WAYBILL_DATABASE_URL, now " + c.DatabaseURL.String() + ")",
		fix:     "start the database, or set WAYBILL_DATABASE_URL to one whose owner may change its tables"}
}

func (p *program) showMigrations(ctx context.Context, c *configs.Config) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	steps, err := storageOf(c).status(ctx, c.DatabaseURL.Reveal())
	if err != nil {
		return migrationFailed(c, err)
	}
	v := migrationsView{Migrations: make([]migrationView, 0, len(steps))}
	for _, s := range steps {
		step := migrationView{Version: s.Version, Name: s.Name}
		if s.AppliedAt != nil {
			at := domain.FormatTime(*s.AppliedAt)
			step.AppliedAt = &at
		} else {
			v.Pending++
		}
		v.Migrations = append(v.Migrations, step)
	}
	return p.show(v, func(w io.Writer) {
		row(w, "VERSION", "APPLIED", "NAME")
		for _, m := range v.Migrations {
			applied := "pending"
			if m.AppliedAt != nil {
				applied = *m.AppliedAt
			}
			row(w, fmt.Sprintf("%04d", m.Version), applied, m.Name)
		}
	})
}

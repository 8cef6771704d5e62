package main

import (
	"context"
	"fmt"
	"io"
	"time"

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

func (p *adminCommands) migrate() *cobra.Command {
	return group("migrate", "The database's schema: up, status", p.up(), p.migrateStatus())
}

func (p *adminCommands) up() *cobra.Command {
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
			pending, err := p.migrateUp(cmd.Context(), c)
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

func (p *adminCommands) migrateStatus() *cobra.Command {
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

func (p *adminCommands) showMigrations(ctx context.Context, c *configs.Config) error {
	steps, err := p.migrations(ctx, c)
	if err != nil {
		return err
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

// migrationStep is one step of a schema; AppliedAt is nil while it is pending.
type migrationStep struct {
	Version   int64
	Name      string
	AppliedAt *time.Time
}

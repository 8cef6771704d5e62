package admin

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/configs"
	"waybill/domain"
	"waybill/ports"
)

type migrationView struct {
	Version   int64   `json:"version"`
	Name      string  `json:"name"`
	AppliedAt *string `json:"applied_at"`
}

// MigrationsView is the state of the schema as `migrate status --json` shows it.
type MigrationsView struct {
	Pending         int             `json:"pending"`
	Migrations      []migrationView `json:"migrations"`
	Nodes           int             `json:"nodes"`            // of Citus, besides the coordinator; 0: there is one database
	Distributed     bool            `json:"distributed"`      // over them
	HalfDistributed bool            `json:"half_distributed"` // some tables are: the move was cut off
}

func (p *Commands) migrate() *cobra.Command {
	return term.Group("migrate", "The database's schema: up, status; and its move onto several nodes", p.up(), p.migrateStatus(),
		p.distribute())
}

func (p *Commands) up() *cobra.Command {
	return &cobra.Command{ //nolint:gosec // the URL is an example
		Use: "up", Short: "Apply what is missing; safe to repeat, and while servers run",
		Example: `  WAYBILL_DATABASE_URL=postgres://waybill:...@db/waybill waybill migrate up
  waybill migrate up --data-dir /var/lib/waybill`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.Load(cmd)
			if err != nil {
				return err
			}
			if !c.IsSet("database_url") {
				if !cmd.Flag("data-dir").Changed {
					return &term.StartError{
						What:    "nothing says which database to migrate",
						UsedFor: "a migration, which is asked for by name",
						Fix:     "WAYBILL_DATABASE_URL=postgres://user:password@host/name, or --data-dir " + p.DataDir,
					}
				}
				if err := prepare(settings.DataDir(p.DataDir), c); err != nil {
					return err
				}
			}
			pending, err := p.MigrateUp(cmd.Context(), c)
			if err != nil {
				return err
			}
			if !pending {
				p.Say("Nothing to do.")
			}
			return p.showMigrations(cmd.Context(), c)
		},
	}
}

// prepare completes a data directory: database and secrets.
func prepare(dir settings.DataDir, c *configs.Config) error {
	if err := dir.Make(); err != nil {
		return err
	}
	if err := dir.MakeSecrets(); err != nil {
		return err
	}
	return dir.SupplyDatabase(c)
}

func (p *Commands) migrateStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "List the steps of the schema and when each was applied", Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.LoadPlaced(cmd)
			if err != nil {
				return err
			}
			return p.showMigrations(cmd.Context(), c)
		},
	}
}

type movedView struct {
	Table  string `json:"table"`
	By     string `json:"by"` // the column that decides on the node of a row; empty: every node has all
	Before int64  `json:"before"`
	After  int64  `json:"after"`
	Moved  bool   `json:"moved"` // by this call
}

// DistributionView is what `migrate distribute --json` shows.
type DistributionView struct {
	Tables []movedView `json:"tables"`
}

func (p *Commands) distribute() *cobra.Command {
	return &cobra.Command{
		Use: "distribute", Short: "Move the rows of all businesses to the nodes of Citus, whose coordinator the database is on",
		Long: "Moves table by table, each in a transaction, and checks that each has as many rows after as before. Stop all servers and\n" +
			"workers before. One that is cut off goes on when it is run again. A new database needs none: `migrate up` distributes it.",
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.LoadPlaced(cmd)
			if err != nil {
				return err
			}
			v := DistributionView{Tables: []movedView{}}
			if err := p.Distribute(cmd.Context(), c.DatabaseURL.Reveal(), func(m ports.TableMoved) {
				v.Tables = append(v.Tables, movedView{Table: m.Table, By: m.By, Before: m.Before, After: m.After, Moved: m.Moved})
				p.Say(fmt.Sprintf("%s: %d rows before, %d after", m.Table, m.Before, m.After))
			}); err != nil {
				return err
			}
			return p.Show(v, func(w io.Writer) {
				term.Row(w, "TABLE", "BY", "BEFORE", "AFTER", "")
				for _, m := range v.Tables {
					by, moved := m.By, "moved"
					if by == "" {
						by = "(every node)"
					}
					if !m.Moved {
						moved = "was there"
					}
					term.Row(w, m.Table, by, strconv.FormatInt(m.Before, 10), strconv.FormatInt(m.After, 10), moved)
				}
			})
		},
	}
}

func (p *Commands) showMigrations(ctx context.Context, c *configs.Config) error {
	schema, err := p.Schema(ctx, c)
	if err != nil {
		return err
	}
	v := MigrationsView{Migrations: make([]migrationView, 0, len(schema.Steps)), Nodes: schema.Nodes, Distributed: schema.Distributed,
		HalfDistributed: schema.HalfDistributed}
	for _, s := range schema.Steps {
		step := migrationView{Version: s.Version, Name: s.Name}
		if s.AppliedAt != nil {
			at := domain.FormatTime(*s.AppliedAt)
			step.AppliedAt = &at
		} else {
			v.Pending++
		}
		v.Migrations = append(v.Migrations, step)
	}
	return p.Show(v, func(w io.Writer) {
		term.Row(w, "VERSION", "APPLIED", "NAME")
		for _, m := range v.Migrations {
			applied := "pending"
			if m.AppliedAt != nil {
				applied = *m.AppliedAt
			}
			term.Row(w, fmt.Sprintf("%04d", m.Version), applied, m.Name)
		}
		if schema.Nodes > 0 {
			fmt.Fprintln(w, "\n"+distributionOf(schema))
		}
	})
}

// distributionOf describes the distribution of a database on a Citus coordinator.
func distributionOf(schema ports.SchemaStatus) string {
	nodes := term.Counted(schema.Nodes, "node")
	switch {
	case schema.Distributed:
		return "The rows of businesses are distributed over " + nodes + " of Citus."
	case schema.HalfDistributed:
		return "Only some tables are distributed over " + nodes + " of Citus: run waybill migrate distribute again."
	}
	return "There are " + nodes + " of Citus, and all rows are on the coordinator: waybill migrate distribute moves those of businesses."
}

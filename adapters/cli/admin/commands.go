package admin

import (
	"context"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/application/access"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/people"
	"waybill/application/webhooks"
	"waybill/configs"
	"waybill/ports"
)

// UseCases are what the operators' commands work with: the same use cases as in
// the servers, on the same database.
type UseCases struct {
	Tenants    *access.Tenants
	Pickups    *directory.PickupLocations
	Operations *deliveries.Operations
	Webhooks   *webhooks.Webhooks
	People     *people.Directory
	Store      ports.Storage
	Config     *configs.Config
}

// Commands are the commands of operators.
type Commands struct {
	*settings.CommandLine
	// Open joins the use cases with the database that the settings name. Secrets are
	// named by their setting where the command cannot do without.
	Open func(ctx context.Context, c *configs.Config) (*UseCases, func(), error)
	// Normalizer reads phone numbers; its numbering plans take a while to load.
	Normalizer func(c *configs.Config) (ports.Normalizer, error)
	// MigrateUp tells whether there was anything to do.
	MigrateUp func(ctx context.Context, c *configs.Config) (pending bool, err error)
	Schema    func(ctx context.Context, c *configs.Config) (ports.SchemaStatus, error)
	// Distribute moves rows onto several nodes, and tells of each table that is done.
	Distribute func(ctx context.Context, url string, tell func(ports.TableMoved)) error
	// ServePricing serves the tariff over the pricing protocol until ctx ends, and
	// announces its address.
	ServePricing func(ctx context.Context, c *configs.Config, addr string, announce func(url string) error) error
	Version      string
}

// All are the commands of operators, for the root.
func (p *Commands) All() []*cobra.Command {
	return []*cobra.Command{
		p.migrate(), p.business(), p.app(), p.key(), p.pickupLocation(), p.delivery(), p.operator(), p.webhook(), p.person(), p.staff(),
		p.pricing(),
		p.configCommand(), p.healthcheck(), p.completion(), p.versionCommand(),
	}
}

// withUseCases runs a command on the database that the settings name. Secrets
// are named by their setting where the command cannot do without.
func (p *Commands) withUseCases(cmd *cobra.Command, work func(*UseCases) error, secrets ...string) error {
	c, err := p.LoadPlaced(cmd)
	if err != nil {
		return err
	}
	if err := settings.NeedSecrets(c, secrets...); err != nil {
		return err
	}
	useCases, closeDatabase, err := p.Open(cmd.Context(), c)
	if err != nil {
		return err
	}
	defer closeDatabase()
	return work(useCases)
}

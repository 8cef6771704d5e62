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

// UseCases holds what the operators' commands call: the same use cases as in the servers, on
// the same database.
type UseCases struct {
	Tenants    *access.Tenants
	Pickups    *directory.PickupLocations
	Operations *deliveries.Operations
	Webhooks   *webhooks.Webhooks
	People     *people.Directory
	Store      ports.Storage
	Config     *configs.Config
}

// Commands holds the commands of operators.
type Commands struct {
	*settings.CommandLine
	// Open connects the use cases with the database of the settings. Name the secrets that the
	// command requires by their settings.
	Open func(ctx context.Context, c *configs.Config) (*UseCases, func(), error)
	// Normalizer reads phone numbers. Its numbering plans take a while to load.
	Normalizer func(c *configs.Config) (ports.Normalizer, error)
	// MigrateUp reports whether there was anything to do.
	MigrateUp func(ctx context.Context, c *configs.Config) (pending bool, err error)
	Schema    func(ctx context.Context, c *configs.Config) (ports.SchemaStatus, error)
	// Distribute moves rows onto several nodes, and reports each finished table.
	Distribute func(ctx context.Context, url string, report func(ports.TableMoved)) error
	// ServePricing serves the tariff over the pricing protocol until ctx ends, and announces
	// its address.
	ServePricing func(ctx context.Context, c *configs.Config, addr string, announce func(url string) error) error
	Version      string
}

// All returns the commands of operators, for the root.
func (p *Commands) All() []*cobra.Command {
	return []*cobra.Command{
		p.migrate(), p.business(), p.app(), p.key(), p.pickupLocation(), p.delivery(), p.operator(), p.webhook(), p.person(), p.staff(),
		p.pricing(),
		p.configCommand(), p.healthcheck(), p.completion(), p.versionCommand(),
	}
}

// withUseCases runs a command on the database of the settings. Name the secrets that the
// command requires by their settings.
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

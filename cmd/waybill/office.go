package main

import (
	"context"
	"waybill/application/operations"
	"waybill/application/pickuplocations"
	"waybill/application/tenancy"
	"waybill/application/webhooks"
	"waybill/configs"
	"waybill/ports"

	"github.com/spf13/cobra"
)

// office is what the operators' commands work with: the same use cases as in
// the servers, on the same database.
type office struct {
	tenants    *tenancy.Tenants
	pickups    *pickuplocations.PickupLocations
	operations *operations.Operations
	webhooks   *webhooks.Webhooks
	store      ports.Storage
	config     *configs.Config
}

// adminCommands are the commands of operators.
type adminCommands struct {
	*commandLine
	// open makes an office on the database that the settings name. Secrets are
	// named by their setting where the command cannot do without.
	open func(ctx context.Context, c *configs.Config) (*office, func(), error)
	// normalizer reads phone numbers; its numbering plans take a while to load.
	normalizer func(c *configs.Config) (ports.Normalizer, error)
	// migrateUp tells whether there was anything to do.
	migrateUp  func(ctx context.Context, c *configs.Config) (pending bool, err error)
	migrations func(ctx context.Context, c *configs.Config) ([]migrationStep, error)
	version    string
}

// all are the commands of operators, for the root.
func (p *adminCommands) all() []*cobra.Command {
	return []*cobra.Command{
		p.migrate(), p.business(), p.app(), p.key(), p.pickupLocation(), p.delivery(), p.operator(), p.webhook(),
		p.configCommand(), p.healthcheck(), p.completion(), p.versionCommand(),
	}
}

// inOffice runs a command on the database that the settings name. Secrets
// are named by their setting where the command cannot do without.
func (p *adminCommands) inOffice(cmd *cobra.Command, work func(*office) error, secrets ...string) error {
	c, err := p.loadPlaced(cmd)
	if err != nil {
		return err
	}
	if err := needSecrets(c, secrets...); err != nil {
		return err
	}
	o, closeOffice, err := p.open(cmd.Context(), c)
	if err != nil {
		return err
	}
	defer closeOffice()
	return work(o)
}

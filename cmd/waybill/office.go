package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"waybill/application/operations"
	"waybill/application/pickuplocations"
	"waybill/application/tenancy"
	"waybill/application/webhooks"
	"waybill/configs"
)

// office is what the operators' commands work with: the same use cases as in
// the servers, on the same database.
type office struct {
	tenants    *tenancy.Tenants
	pickups    *pickuplocations.PickupLocations
	operations *operations.Operations
	webhooks   *webhooks.Webhooks
	store      database
	config     *configs.Config
}

// inOffice runs a command on the database that the settings name. Secrets
// are named by their setting where the command cannot do without.
func (p *program) inOffice(cmd *cobra.Command, work func(*office) error, secrets ...string) error {
	c, err := p.loadPlaced(cmd)
	if err != nil {
		return err
	}
	if err := needSecrets(c, secrets...); err != nil {
		return err
	}
	// Commands speak through their answer; only what went wrong is logged.
	log := newLog(p.stderr, max(c.LogLevel, slog.LevelWarn), c.LogFormat == "json")
	o, closeOffice, err := openOffice(cmd.Context(), c, publicURLs{tracking: p.trackingURL(c)}, log)
	if err != nil {
		return err
	}
	defer closeOffice()
	if err := upToDate(cmd.Context(), o.store); err != nil {
		return err
	}
	return work(o)
}

package settings

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"waybill/adapters/web/server"
	"waybill/configs"
)

// PlaceDev fills in database and secrets, and generates secrets if there are none.
func (p *CommandLine) PlaceDev(cmd *cobra.Command, dir DataDir, c *configs.Config) error {
	if err := dir.SupplyDatabase(c); err != nil {
		return err
	}
	home, ok := p.SecretsOf(cmd, c)
	if !ok {
		home = dir
	}
	if c.KeyPepper == "" || c.SecretKey == "" {
		if err := home.MakeSecrets(); err != nil {
			return err
		}
	}
	if err := home.SupplySecrets(c); err != nil {
		return err
	}
	return NeedSecrets(c, "key_pepper", "secret_key")
}

// LoadNamed reads the settings of a process in production. The data directory of a development
// server must be named explicitly.
func (p *CommandLine) LoadNamed(cmd *cobra.Command) (*configs.Config, error) {
	c, err := p.LoadPlaced(cmd)
	if err != nil {
		return nil, err
	}
	if dir := DataDir(p.DataDir); c.Source("database_url") == dir.Label() && !cmd.Flag("data-dir").Changed {
		return nil, NoDatabaseNamed(dir)
	}
	return c, nil
}

// WarnOfProduction logs settings that a process in production should not have. A worker has no
// API.
func WarnOfProduction(c *configs.Config, hasAPI bool, log *slog.Logger) {
	if c.WebhookAllowPrivate {
		log.Warn("webhooks", "warning", c.Source("webhook_allow_private")+" lets customers have webhooks sent to this machine and to private "+
			"networks; it is for development only")
	}
	if live, _, _ := server.Bounds(c.MaxConnections, server.OpenFiles()); live < c.MaxConnections && hasAPI {
		log.Warn("connections", "warning",
			fmt.Sprintf("this process may open %d files, so the live API takes %d connections at a time and not %d (WAYBILL_MAX_CONNECTIONS); "+
				"raise LimitNOFILE, or ulimit -n", server.OpenFiles(), live, c.MaxConnections))
	}
}

// WarnOfLocal logs which public addresses only this machine can open, when the installation
// serves others.
func WarnOfLocal(c *configs.Config, urls PublicURLs, dir DataDir, log *slog.Logger) {
	if message, fix := OnlyLocal(c, urls); message != "" && ForOthers(c, dir) {
		log.Warn("addresses", "warning", message+"; set "+fix)
	}
}

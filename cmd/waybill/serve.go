package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/web/connections"
	"waybill/configs"
)

func (p *commands) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the live and the sandbox API, and the operators' listener",
		Long: "Run the live and the sandbox API, and the operators' listener, until SIGTERM.\n" +
			"Any number of these may run on one database. It needs WAYBILL_DATABASE_URL, migrated,\n" +
			"WAYBILL_KEY_PEPPER and WAYBILL_SECRET_KEY; each of them also as NAME_FILE. A start waits for a\n" +
			"database that is away, and /readyz says so. How to change either\n" +
			"secret without a gap stands with its _PREVIOUS in waybill config --docs.",
		Example: `  waybill migrate up && waybill serve
  waybill serve --live-addr 0.0.0.0:8080 --config /etc/waybill.yaml`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.loadNamed(cmd)
			if err != nil {
				return err
			}
			if err := settings.NeedSecrets(c, "key_pepper", "secret_key"); err != nil {
				return err
			}
			log := p.log(c, false)
			doors, err := listen(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer doors.close()
			if awaitDatabase(cmd.Context(), c, doors, log) != nil {
				return nil // told to end while it waited
			}
			urls := settings.PublicURLsOf(c, settings.Origin(doors.live), settings.Origin(doors.sandbox))
			s, closeService, err := openService(cmd.Context(), c, urls, log)
			if err != nil {
				return err
			}
			defer closeService()
			if err := mayServe(cmd.Context(), s, c); err != nil {
				return err
			}
			v := admin.ServingView{Live: urls.Live, Sandbox: urls.Sandbox, Ops: settings.Origin(doors.ops)}
			if err := p.announce(v, c, log); err != nil {
				return err
			}
			if message, fix := settings.OnlyLocal(urls); message != "" && settings.ForOthers(c, settings.DataDir(p.DataDir)) {
				log.Warn("addresses", "warning", message+"; set "+fix)
			}
			s.beside.warn(cmd.Context(), log)
			return s.serve(cmd.Context(), doors)
		},
	}
	settings.AddSettingFlags(cmd)
	return cmd
}

// loadNamed reads the settings of a process in production. To work on what
// somebody played with must be asked for.
func (p *commands) loadNamed(cmd *cobra.Command) (*configs.Config, error) {
	c, err := p.LoadPlaced(cmd)
	if err != nil {
		return nil, err
	}
	if dir := settings.DataDir(p.DataDir); c.Source("database_url") == dir.Label() && !cmd.Flag("data-dir").Changed {
		return nil, settings.NoDatabaseNamed(dir)
	}
	return c, nil
}

// announce logs that a process in production is about to begin and, with
// --json, tells a script where it listens.
func (p *commands) announce(v admin.ServingView, c *configs.Config, log *slog.Logger) error {
	log.Info("starting", "version", version, "database", c.DatabaseURL.String(), "redis", c.RedisURL.String())
	if c.WebhookAllowPrivate {
		log.Warn("webhooks", "warning", c.Source("webhook_allow_private")+" lets customers have webhooks sent to this machine and to private networks; it is for development only")
	}
	if live, _, _ := connections.Bounds(c.MaxConnections, connections.OpenFiles()); live < c.MaxConnections && v.Live != "" {
		log.Warn("connections", "warning", fmt.Sprintf("this process may open %d files, so the live API takes %d connections at a time and not %d (WAYBILL_MAX_CONNECTIONS); raise LimitNOFILE, or ulimit -n", connections.OpenFiles(), live, c.MaxConnections))
	}
	if !p.AsJSON {
		return nil
	}
	return p.Show(v, func(io.Writer) {})
}

// mayServe refuses a database on which every request, or every webhook, would fail.
func mayServe(ctx context.Context, s *service, c *configs.Config) error {
	if err := upToDate(ctx, s.store); err != nil {
		return err
	}
	doctor.WarnOfAhead(ctx, s.store, s.log)
	if err := settings.PepperRefused(s.seed.Tenants.ConfirmPepper(ctx), c); err != nil {
		return err
	}
	if err := s.key.confirm(ctx); err != nil {
		return err
	}
	s.ops.NameFrom(ctx, s.store, s.log)
	return nil
}

package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
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
			c, err := p.LoadNamed(cmd)
			if err != nil {
				return err
			}
			if err := settings.NeedSecrets(c, "key_pepper", "secret_key"); err != nil {
				return err
			}
			log := p.log(c, false)
			servers, err := listen(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer servers.close()
			urls := servers.urls(c)
			var s *service
			closeService := func() {}
			err = awaitDatabase(cmd.Context(), c, servers, log, func() (err error) {
				s, closeService, err = openService(cmd.Context(), c, urls, log)
				return err
			})
			if err != nil {
				return unlessEnded(cmd.Context(), err)
			}
			defer closeService()
			if err := mayServe(cmd.Context(), s, c); err != nil {
				return err
			}
			v := admin.ServingView{Live: urls.Live, Sandbox: urls.Sandbox, Ops: settings.Origin(servers.ops), Portal: urls.Portal,
				Console: urls.Console + settings.ConsolePath}
			if err := p.announce(v, c, log); err != nil {
				return err
			}
			settings.WarnOfLocal(c, urls, settings.DataDir(p.DataDir), log)
			s.beside.warn(cmd.Context(), log)
			serving := s.process(servers, "serve")
			serving.Delay = c.ShutdownDelay
			return serving.Run(cmd.Context())
		},
	}
	settings.AddSettingFlags(cmd)
	return cmd
}

// announce logs that a process in production is about to begin and, with --json, tells a script
// where it listens.
func (p *commands) announce(v admin.ServingView, c *configs.Config, log *slog.Logger) error {
	log.Info("starting", "version", version, "database", c.DatabaseURL.String(), "redis", c.RedisURL.String())
	settings.WarnOfProduction(c, v.Live != "", log)
	if !p.AsJSON {
		return nil
	}
	return p.Show(v, func(io.Writer) {})
}

// mayServe refuses a database on which every request, or every webhook, would fail.
func mayServe(ctx context.Context, s *service, c *configs.Config) error {
	if err := doctor.UpToDate(ctx, s.store); err != nil {
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

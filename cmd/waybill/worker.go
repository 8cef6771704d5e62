package main

import (
	"context"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/clock"
	"waybill/adapters/opsapi"
	"waybill/adapters/periodic"
	"waybill/adapters/web/server"
	"waybill/application/webhooks/dispatch"
	"waybill/configs"
	"waybill/domain"
	"waybill/ports"
)

// worker is a process without an API. It runs background jobs.
type worker struct {
	background *backgroundJobs
	notifier   *dispatch.Notifier
	ops        *opsapi.API
	store      ports.Database
	clock      *clock.Database
	key        *secretKey
	jobs       *periodic.Jobs
	teller     *periodic.Teller
	kept       domain.RequestLogKeeping
	log        *slog.Logger
}

// workerSettings lists the settings that a worker uses. It accepts all others too, so that it
// can be started with those of serve, and does not show them. The base addresses are for the
// tracking links in webhooks and emails.
var workerSettings = []string{
	"ops_addr", "live_base_url", "tracking_base_url", "database_pool_size", "database_pooler",
	"webhook_allow_private", "webhook_retry_schedule", "portal_base_url", "console_base_url", "mail_from", "log_level", "log_format",
}

func (p *commands) worker() *cobra.Command {
	cmd := &cobra.Command{
		Use: "worker", Short: "Do what becomes due: webhooks, mails, and the steps of sandbox simulations",
		Long: "Do what becomes due, until SIGTERM: webhooks, mails, and the steps of sandbox simulations. Any number\n" +
			"of these may run on one database beside the servers; with WAYBILL_REDIS_URL they share the work.\n" +
			"It needs WAYBILL_DATABASE_URL, migrated, and the WAYBILL_SECRET_KEY of the servers, by which\n" +
			"webhooks are signed. It listens on WAYBILL_OPS_ADDR only, for health and metrics.",
		Example: `  waybill worker
  waybill worker --ops-addr 127.0.0.1:8083      beside a server on the same machine`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.LoadNamed(cmd)
			if err != nil {
				return err
			}
			if err := settings.NeedSecrets(c, "secret_key"); err != nil {
				return err
			}
			log := p.log(c, false)
			servers, err := listenOps(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer servers.close()
			urls := settings.PublicURLsOf(c, "", "")
			var w *worker
			closeWorker := func() {}
			err = awaitDatabase(cmd.Context(), c, servers, log, func() (err error) {
				w, closeWorker, err = openWorker(cmd.Context(), c, settings.PublicURLs{Tracking: p.TrackingURL(c),
					Portal: urls.Portal, Console: urls.Console}, log)
				return err
			})
			if err != nil {
				return unlessEnded(cmd.Context(), err)
			}
			defer closeWorker()
			if err := doctor.UpToDate(cmd.Context(), w.store); err != nil {
				return err
			}
			doctor.WarnOfAhead(cmd.Context(), w.store, log)
			if err := w.key.confirm(cmd.Context()); err != nil {
				return err
			}
			w.ops.NameFrom(cmd.Context(), w.store, log)
			if err := p.announce(admin.ServingView{Ops: settings.Origin(servers.ops)}, c, log); err != nil {
				return err
			}
			return w.run(cmd.Context(), servers)
		},
	}
	settings.AddSettingFlags(cmd)
	for _, s := range configs.FlagSettings() {
		cmd.Flags().Lookup(s.Flag).Hidden = !slices.Contains(workerSettings, s.Name)
	}
	return cmd
}

func (w *worker) run(ctx context.Context, l *listeners) error {
	p := &server.Process{
		Ops: w.ops, At: l.ops, Log: w.log,
		Tasks: []server.Task{
			w.background.run, w.teller.Task("worker", version),
			func(ctx context.Context) error { w.notifier.Run(ctx); return nil },
			w.jobs.Task(periodic.Cleaning(w.store, w.log)),
			w.jobs.Task(periodic.LateWebhooks(w.store, w.log)),
			w.jobs.Task(periodic.Reports(w.store)),
			w.jobs.Task(periodic.RequestLogRotation(w.store, w.kept)),
			w.jobs.Task(periodic.Resealing(w.key.use, w.key.rotates(), w.key.log)),
			w.jobs.Task(periodic.Following(w.clock)),
			w.jobs.Task(periodic.Check("webhook_notifications", w.notifier.Failed)),
		},
	}
	return p.Run(ctx)
}

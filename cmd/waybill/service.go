package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"
	"waybill/adapters/brand"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/clock"
	"waybill/adapters/console"
	"waybill/adapters/httpapi"
	"waybill/adapters/opsapi"
	"waybill/adapters/periodic"
	"waybill/adapters/portal"
	waybillredis "waybill/adapters/redis"
	"waybill/adapters/telemetry"
	"waybill/adapters/web"
	"waybill/adapters/web/server"
	"waybill/application/webhooks/dispatch"
	"waybill/configs"
	"waybill/domain"
	"waybill/ports"
)

// service is a server process: both APIs, the operators' listener and their background work, on
// one database.
type service struct {
	apis       apis
	ops        *opsapi.API
	portal     *portal.Portal
	background *backgroundJobs
	notifier   *dispatch.Notifier
	store      ports.Database
	clock      *clock.Database
	log        *slog.Logger
	seed       *admin.Seeder
	key        *secretKey
	beside     dependencies
	jobs       *periodic.Jobs
	teller     *periodic.Teller
	kept       domain.RequestLogKeeping

	products      products
	invalidations ports.Invalidations
	news          ports.FanoutNews
}

// hearFanouts wakes webhook listeners here when other processes commit events. It subscribes
// only while a listener waits: every message would wake every server.
func (s *service) hearFanouts(ctx context.Context) {
	listeners := s.products.sandbox.Listeners // live has none
	for s.news != nil && listeners.Awaited(ctx) {
		hearing, stop := context.WithCancel(ctx)
		go func() {
			listeners.Unawaited(hearing, time.Minute)
			stop()
		}()
		s.news.Listen(hearing, listeners.Notify)
		stop()
	}
}

// serveAndWork serves requests and runs background jobs, in this one process.
func (s *service) serveAndWork(ctx context.Context, l *listeners) error {
	p := s.process(l, "dev")
	p.Tasks = append(p.Tasks, s.background.run, s.jobs.Task(periodic.LateWebhooks(s.store, s.log)), s.jobs.Task(periodic.Reports(s.store)))
	return p.Run(ctx)
}

func (s *service) process(l *listeners, role string) *server.Process {
	s.products.each(func(u httpapi.UseCases) { s.notifier.Beside(u.Listeners.Notify) })
	servers := []server.Service{
		{Name: "live", Listener: l.live, Serve: s.apis.live.Serve, Leave: s.apis.live.Leave, Shutdown: s.apis.live.Shutdown},
		{Name: "sandbox", Listener: l.sandbox, Serve: s.apis.sandbox.Serve, Leave: s.apis.sandbox.Leave, Shutdown: s.apis.sandbox.Shutdown},
	}
	if l.portal != nil {
		servers = append(servers, server.Service{Name: "portal", Listener: l.portal, Serve: s.portal.Serve, Leave: s.portal.Leave,
			Shutdown: s.portal.Shutdown})
	}
	return &server.Process{
		Servers: servers, Ops: s.ops, At: l.ops, Log: s.log, Leaving: s.products.stop,
		Tasks: []server.Task{
			s.teller.Task(role, version), s.jobs.Task(periodic.Cleaning(s.store, s.log)),
			s.jobs.Task(periodic.Statistics(s.store, s.log)),
			func(ctx context.Context) error { s.invalidations.Listen(ctx, s.products.forget); return nil },
			s.jobs.Task(periodic.KeyUses("key_uses_live", s.products.live.Admission)),
			s.jobs.Task(periodic.KeyUses("key_uses_sandbox", s.products.sandbox.Admission)),
			func(ctx context.Context) error { s.notifier.Run(ctx); return nil },
			func(ctx context.Context) error { s.hearFanouts(ctx); return nil },
			s.jobs.Task(periodic.RequestLog("request_log_live", s.products.live.Recorder)),
			s.jobs.Task(periodic.RequestLog("request_log_sandbox", s.products.sandbox.Recorder)),
			s.jobs.Task(periodic.RequestLogRotation(s.store, s.kept)),
			s.jobs.Task(periodic.Resealing(s.key.use, s.key.rotates(), s.key.log)),
			s.jobs.Task(periodic.Following(s.clock)),
			s.jobs.Task(periodic.Views(s.portal.Access)),
			s.jobs.Task(periodic.Check("webhook_notifications", s.notifier.Failed)),
		},
	}
}

// apis holds the public API in its two environments.
type apis struct {
	live, sandbox *httpapi.API
}

func newAPIs(p products, c *configs.Config, b brand.Brand, urls settings.PublicURLs, keys cursorKeys, tracked trackingSites, log *slog.Logger,
	m *httpapi.Metrics, f *tracing, watch *server.ProxyWatch, d connectionBounds, r prometheus.Registerer) apis {
	httpapi.RegisterRecorder(domain.Live, p.live.Recorder, r)
	httpapi.RegisterRecorder(domain.Sandbox, p.sandbox.Recorder, r)
	api := func(u httpapi.UseCases, e domain.Environment, baseURL, otherBaseURL string, through server.Options,
		beside ...httpapi.Site) *httpapi.API {
		return httpapi.New(u, httpapi.Options{
			Environment: e, BaseURL: baseURL, OtherBaseURL: otherBaseURL, TrackingBaseURL: urls.Tracking, Currency: c.Currency,
			CursorKeys: keys, TrustedProxies: c.TrustedProxies, Log: log, Metrics: m, Trace: f.requests(), Beside: slices.Concat(tracked, beside),
			Around: around(watch, baseURL, urls.Tracking), Connections: through,
		})
	}
	return apis{
		live:    api(p.live, domain.Live, urls.Live, urls.Sandbox, d.live),
		sandbox: api(p.sandbox, domain.Sandbox, urls.Sandbox, urls.Live, d.sandbox, newDocs(c, b, urls)...),
	}
}

func newOps(store ports.Database, open []ports.Database, clock *clock.Database, client *redis.Client, queue queueRedis,
	beside dependencies, m *opsapi.Management, staff *console.Console, urls settings.PublicURLs, r *prometheus.Registry,
	c *configs.Config, b brand.Brand, watch *server.ProxyWatch, d connectionBounds, log *slog.Logger) *opsapi.API {
	telemetry.RegisterPools(open, r)
	telemetry.RegisterSimulations(store, r, log)
	telemetry.RegisterWebhooks(store.Outbox(), clock, r, log)
	telemetry.RegisterFeed(store, r, log)
	telemetry.RegisterReplicas(store, r)
	telemetry.RegisterMails(store.Mails(), clock, r, log)
	telemetry.RegisterClock(clock, r)
	telemetry.RegisterLog(telemetry.DroppedLogLines, r)
	if len(c.KeyPepperPrevious) > 0 {
		telemetry.RegisterPepper(store, clock, r, log)
	}
	checks := []opsapi.Check{
		{Name: "database", Run: func(ctx context.Context) error { return cmp.Or(store.Ping(ctx), opsapi.NoneLeft(ctx, open)) }},
		{Name: "connections", Informational: true, Run: func(ctx context.Context) error { return opsapi.Refused(ctx, open) }},
		{Name: "migrations", Run: func(ctx context.Context) error { return doctor.UpToDate(ctx, store) }},
		{Name: "webhook_sending", Informational: true, Run: func(ctx context.Context) error { return telemetry.SendingGoesOn(ctx, store.Outbox()) }},
	}
	if len(c.DatabaseReplicaURLs) > 0 {
		checks = append(checks, opsapi.Check{
			Name: "replicas", Informational: true, Run: func(context.Context) error { return telemetry.ReplicasServe(store) },
		})
	}
	if client != nil {
		trial := waybillredis.NewTrial(client)
		waybillredis.Register(trial, client, queue.Client, r)
		checks = append(checks, opsapi.Check{Name: "redis", Informational: true, Run: trial.Run})
	}
	checks = append(checks, beside...)
	for i, run := range checks {
		telemetry.RegisterCheck(run.Name, run.Run, r)
		checks[i].Run = func(ctx context.Context) error {
			if err := run.Run(ctx); err != nil {
				return errors.New(term.Plainly(err))
			}
			return nil
		}
	}
	sites := []opsapi.Site{newOperatorsDocs(c, b, urls)}
	if staff != nil {
		sites = append(sites, opsapi.Site{Prefix: console.Prefix, Handler: web.StrictTransport(staff.Handler(), urls.Console), End: staff.EndStreams})
	}
	return opsapi.New(opsapi.Options{
		Metrics: r, Log: log, TrustedProxies: c.TrustedProxies, Around: watch.Around, Connections: d.ops, Checks: checks, Management: m,
		Hosts: settings.OpsHosts(c, urls), Profiles: c.Pprof == "on", Sites: sites,
	})
}

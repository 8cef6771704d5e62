package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"waybill/adapters/httpapi"
	"waybill/adapters/opsapi"
	"waybill/application/bulk"
	"waybill/application/tenancy"
	"waybill/configs"
	"waybill/domain"
	"waybill/ports"
)

// How long a process may take to end: requests first, then what is left.
const (
	drainTimeout = 25 * time.Second
	closeTimeout = 3 * time.Second
)

// service is a server process: both APIs, the operators' listener and the
// janitor on one store.
type service struct {
	apis  apis
	ops   *opsapi.API
	bulk  *bulk.Bulk
	store database
	log   *slog.Logger
	seed  *seeder

	admission     *tenancy.Admission
	invalidations ports.Invalidations
}

// apis are the public API in its two environments.
type apis struct {
	live, sandbox *httpapi.API
}

func newAPIs(u httpapi.UseCases, c *configs.Config, urls publicURLs, key cursorKey, log *slog.Logger, m *httpapi.Metrics) apis {
	api := func(e domain.Environment, baseURL, otherBaseURL string) *httpapi.API {
		return httpapi.New(u, httpapi.Options{
			Environment: e, BaseURL: baseURL, OtherBaseURL: otherBaseURL, TrackingBaseURL: urls.tracking, Currency: c.Currency,
			CursorKey: key, TrustedProxies: c.TrustedProxies, Log: log, Metrics: m,
		})
	}
	return apis{live: api(domain.Live, urls.live, urls.sandbox), sandbox: api(domain.Sandbox, urls.sandbox, urls.live)}
}

func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func newOps(store database, client *redis.Client, r *prometheus.Registry, log *slog.Logger) *opsapi.API {
	registerPools(store, r)
	checks := []opsapi.Check{
		{Name: "database", Run: store.Ping},
		{Name: "migrations", Run: func(ctx context.Context) error { return upToDate(ctx, store) }},
	}
	if client != nil {
		registerRedis(client, r)
		checks = append(checks, opsapi.Check{
			Name: "redis", Informational: true, Run: func(ctx context.Context) error { return client.Ping(ctx).Err() },
		})
	}
	return opsapi.New(opsapi.Options{Metrics: r, Log: log, Checks: checks})
}

// upToDate refuses a database that lacks what this program was built with.
func upToDate(ctx context.Context, store database) error {
	pending, err := store.MigrationsPending(ctx)
	if err != nil {
		return err
	}
	if pending {
		return &startError{what: "the database is behind this program", usedFor: "all data (WAYBILL_DATABASE_URL)", fix: "waybill migrate up"}
	}
	return nil
}

// run serves until ctx ends or a listener fails. Then no new request is
// taken, those under way are finished, and everything this started has
// stopped when it returns.
func (s *service) run(ctx context.Context, l *listeners) error {
	served := make(chan error, 3)
	var running sync.WaitGroup
	for _, door := range []struct {
		serve    func(net.Listener) error
		listener net.Listener
		name     string
	}{{s.apis.live.Serve, l.live, "live"}, {s.apis.sandbox.Serve, l.sandbox, "sandbox"}, {s.ops.Serve, l.ops, "operations"}} {
		s.log.Info("serving", "listener", door.name, "listening", door.listener.Addr().String())
		running.Go(func() {
			if err := door.serve(door.listener); !errors.Is(err, http.ErrServerClosed) {
				served <- err
			}
		})
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	running.Go(func() { sweep(background, s.store, s.log) })
	running.Go(func() { s.invalidations.Listen(background, s.admission.Forget) })
	running.Go(func() { recordUses(background, s.admission, s.log) })

	var failure error
	select {
	case <-ctx.Done():
		s.log.Info("shutting down: finishing requests under way")
	case failure = <-served:
		s.log.Error("a listener failed, shutting down", "error", failure)
	}
	failure = errors.Join(failure, s.drain(context.WithoutCancel(ctx)))
	stop() // behind the last request: a key may be revoked meanwhile, and its use is to be recorded
	running.Wait()
	s.log.Info("shut down")
	return failure
}

// drain stops the doors. The operators' is the last, so that it can tell that
// the process is not ready while the others finish.
func (s *service) drain(ctx context.Context) error {
	s.ops.Drain()
	s.bulk.Stop()
	var live, sandbox error
	var draining sync.WaitGroup
	apiCtx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	draining.Go(func() { live = s.apis.live.Shutdown(apiCtx) })
	draining.Go(func() { sandbox = s.apis.sandbox.Shutdown(apiCtx) })
	draining.Wait()

	opsCtx, cancelOps := context.WithTimeout(ctx, closeTimeout)
	defer cancelOps()
	if err := s.ops.Shutdown(opsCtx); err != nil {
		// A profile that is being recorded; nobody waits for it.
		s.log.Info("operations request cut off", "error", err)
	}
	return errors.Join(live, sandbox)
}

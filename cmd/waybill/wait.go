package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/clock"
	"waybill/adapters/console"
	"waybill/adapters/docsite"
	"waybill/adapters/httpapi"
	"waybill/adapters/opsapi"
	"waybill/adapters/portal"
	"waybill/adapters/storage/gormstore"
	"waybill/adapters/trackingpage"
	"waybill/adapters/web/server"
	"waybill/configs"
	"waybill/ports"
)

// A process that starts while its database is unavailable waits for it. Nobody has to restart it,
// and a service manager that counts failed starts does not give up. A failure that waiting does not
// fix, such as a wrong password, ends it at once. So does any failure of a command that a person
// runs.

// These pauses separate two attempts. They double from the first to the most.
const (
	firstPauseOfStart = 500 * time.Millisecond
	mostPauseOfStart  = 10 * time.Second
)

// awaitDatabase waits for the database and then opens what a process needs. It returns the error of
// open if waiting does not help, and that of ctx if the process must end in the meantime. While it
// waits the operations listener serves health checks, and the other ones respond 503 with
// Retry-After.
func awaitDatabase(ctx context.Context, c *configs.Config, l *listeners, log *slog.Logger, open func() error) error {
	err := open()
	if !worthAwaiting(c, err) {
		return err
	}
	waiting := &waiting{}
	waiting.note(err)
	defer waiting.serve(ctx, c, l, log)()
	for pause := firstPauseOfStart; worthAwaiting(c, err); pause = min(2*pause, mostPauseOfStart) {
		waiting.note(err)
		log.Warn("the start waits for the database", "database", c.DatabaseURL.String(), "error",
			term.Plainly(err)+"; "+databaseFix(c, err))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		if err = reachable(ctx, c); err == nil {
			err = open()
		}
	}
	return err
}

// reachable tries only the database. So an attempt creates nothing else that a process opens, and
// logs nothing about it.
func reachable(ctx context.Context, c *configs.Config) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	store, err := storageOf(c).open(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return store.Close()
}

// unlessEnded returns the error of a start, and nil for one that was told to end while it
// waited.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// worthAwaiting reports whether an error may go away by itself. A file does not come back.
func worthAwaiting(c *configs.Config, err error) bool {
	return err != nil && !strings.HasPrefix(c.DatabaseURL.Reveal(), settings.SqliteScheme) && !errors.Is(err, gormstore.ErrPooler) &&
		ports.StorageUnavailable(err)
}

// waiting is a process that cannot serve yet.
type waiting struct {
	mu  sync.Mutex
	why error
}

func (w *waiting) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why = err
}

func (w *waiting) check(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.New(term.Plainly(w.why))
}

// serve responds at all listeners until the returned function is called. The listeners stay
// open for the process that follows.
func (w *waiting) serve(ctx context.Context, c *configs.Config, l *listeners, log *slog.Logger) (end func()) {
	ids := newIdentifiers(clock.NewSystem())
	company, _ := newBrand(c) // without its logo, the start that follows says why
	var management *opsapi.Management
	var sites []opsapi.Site
	if l.live != nil { // a worker has no operations API and no console
		management, sites = &opsapi.Management{UseCases: opsapi.UseCases{Identifiers: ids}},
			[]opsapi.Site{{Prefix: console.Prefix, Handler: console.NotYet(company)}}
	}
	ops := opsapi.New(opsapi.Options{
		Metrics: prometheus.NewRegistry(), Log: log, TrustedProxies: c.TrustedProxies,
		Checks: []opsapi.Check{{Name: "database", Run: w.check}}, Sites: sites, Profiles: c.Pprof == "on", Management: management,
		Hosts: settings.OpsHosts(c, settings.PublicURLsOf(c, "", "").WithConsole(c, l.ops)),
	})
	notYet := &http.Server{
		Handler:           httpapi.NotYet(ids, limitPerAddress, append(trackingpage.Paths(c.TrackingBaseURL), docsite.Prefix)...),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 15 * time.Second,
		MaxHeaderBytes: 16 << 10, DisableGeneralOptionsHandler: true,
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = ops.Serve(server.Lent{Listener: l.ops}) }) // the end is requested below
	people := portal.NotYet(company)
	for listener, answering := range map[net.Listener]*http.Server{l.live: notYet, l.sandbox: notYet, l.portal: people} {
		if listener != nil {
			serving.Go(func() { _ = answering.Serve(server.Lent{Listener: listener}) })
		}
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = ops.Shutdown(ctx) // interrupts what takes longer
		for _, server := range []*http.Server{notYet, people} {
			if server.Shutdown(ctx) != nil {
				_ = server.Close()
			}
		}
		serving.Wait()
		for _, listener := range []net.Listener{l.ops, l.live, l.sandbox, l.portal} {
			server.GiveBack(listener)
		}
	}
}

package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/docsite"
	"waybill/configs"
)

func (p *commands) dev() *cobra.Command {
	var reset bool
	cmd := &cobra.Command{
		Use: "dev", Short: "Run everything on this machine, with a demo customer and its keys",
		Long: "Run everything on this machine, until Ctrl-C: both APIs and the operators' listener, on\n" +
			"SQLite in the data directory, with a demo customer. Its keys are shown at the first start\n" +
			"and kept in DIR/dev.env. With WAYBILL_DATABASE_URL set, the same on that database, and with\n" +
			"WAYBILL_REDIS_URL with that Redis.",
		Example: `  waybill dev
  waybill dev --data-dir /tmp/try --live-addr 127.0.0.1:0
  waybill dev --reset`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			c, err := p.Load(cmd)
			if err != nil {
				return err
			}
			c.Develop()
			dir := settings.DataDir(p.DataDir)
			defer func() { err = dir.FullDisk(err) }()
			traces := dir.Missing()
			if err := dir.Make(); err != nil {
				return err
			}
			unlock, err := dir.Lock()
			if err != nil {
				return err
			}
			defer unlock()
			d, err := p.beginDev(cmd, dir, c, reset)
			if err != nil {
				dir.Forget(traces)
				return err
			}
			defer d.close()
			return p.runDev(cmd.Context(), dir, c, d)
		},
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "first remove the directory's database, keys and secrets")
	settings.AddSettingFlags(cmd)
	return cmd
}

// devServer holds the parts of a development server.
type devServer struct {
	service *service
	servers *listeners
	close   func()
}

// beginDev opens the listeners before it deletes or creates anything: a port in use is the
// usual reason why a start fails.
func (p *commands) beginDev(cmd *cobra.Command, dir settings.DataDir, c *configs.Config, reset bool) (d devServer, err error) {
	if reset {
		if err := settings.MayReset(dir, c); err != nil {
			return d, err
		}
	}
	servers, err := listen(cmd.Context(), c)
	if err != nil {
		return d, err
	}
	defer func() {
		if err != nil {
			servers.close()
		}
	}()
	if reset {
		if err := dir.Reset(); err != nil {
			return d, err
		}
	}
	if err := p.PlaceDev(cmd, dir, c); err != nil {
		return d, err
	}
	log := p.log(c, true)
	if err := settings.AllowPrivate(c, log); err != nil {
		return d, err
	}
	s, closeService, err := p.openDev(cmd.Context(), servers, c, log)
	return devServer{service: s, servers: servers, close: func() { closeService(); servers.close() }}, err
}

func (p *commands) runDev(ctx context.Context, dir settings.DataDir, c *configs.Config, d devServer) error {
	s := d.service
	if err := adoptPepper(ctx, s); err != nil {
		return err
	}
	if err := s.key.adopt(ctx); err != nil {
		return err
	}
	s.ops.NameFrom(ctx, s.store, s.log)
	if err := p.welcome(ctx, dir, s, d.servers, c); err != nil {
		return err
	}
	s.beside.warn(ctx, s.log)
	return s.serveAndWork(ctx, d.servers)
}

func (p *commands) openDev(ctx context.Context, servers *listeners, c *configs.Config, log *slog.Logger) (*service, func(), error) {
	if _, err := migrateUp(ctx, c); err != nil {
		return nil, nil, err
	}
	return openService(ctx, c, servers.urls(c), log)
}

// adoptPepper makes the database accept the pepper of the data directory. The database may have
// belonged to another directory before.
func adoptPepper(ctx context.Context, s *service) error {
	replaced, err := s.seed.Tenants.AdoptPepper(ctx)
	if err == nil && replaced {
		s.log.Warn("database", "warning", "WAYBILL_KEY_PEPPER is another one than before: API keys made with the old one open nothing, and "+
			"waybill serve with it will not start")
	}
	return err
}

// welcome creates the demo customer, writes dev.env, and prints what a person, or with --json a
// script, needs next.
func (p *commands) welcome(ctx context.Context, dir settings.DataDir, s *service, servers *listeners, c *configs.Config) error {
	before, err := settings.ReadEnvFile(dir.DevEnv())
	if err != nil {
		return err
	}
	d, err := s.seed.Demo(ctx, p.OperatorHere(), before)
	if err != nil {
		return err
	}
	v := admin.ServingView{
		Live: settings.Origin(servers.live) + "/v1", Sandbox: settings.Origin(servers.sandbox) + "/v1", Ops: settings.Origin(servers.ops),
		Console: servers.urls(c).Console + settings.ConsolePath, EnvFile: dir.DevEnv(),
	}
	if servers.portal != nil {
		v.Portal = servers.urls(c).Portal
	}
	if err := admin.WriteDevEnv(dir, v, d, c); err != nil {
		return err
	}
	return p.Show(v, func(w io.Writer) {
		admin.Banner(w, admin.Program{Version: version, Docs: docsite.Prefix, Ourselves: p.Ourselves()}, dir, v, d, c)
	})
}

package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"waybill/configs"
)

func (p *program) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the live and the sandbox API, and the operators' listener",
		Long: "Run the live and the sandbox API, and the operators' listener, until SIGTERM.\n" +
			"Any number of these may run on one database. It needs WAYBILL_DATABASE_URL, migrated,\n" +
			"WAYBILL_KEY_PEPPER and WAYBILL_SECRET_KEY; each of them also as NAME_FILE.",
		Example: `  waybill migrate up && waybill serve
  waybill serve --live-addr 0.0.0.0:8080 --config /etc/waybill.yaml`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.loadPlaced(cmd)
			if err != nil {
				return err
			}
			if dir := dataDir(p.dataDir); c.Source("database_url") == dir.label() && !cmd.Flag("data-dir").Changed {
				// Serving what somebody played with must be asked for.
				return noDatabaseNamed(dir)
			}
			if err := needSecrets(c, "key_pepper", "secret_key"); err != nil {
				return err
			}
			log := p.log(c, false)
			doors, err := listen(cmd.Context(), c)
			if err != nil {
				return err
			}
			urls := publicURLsOf(c, origin(doors.live), origin(doors.sandbox))
			s, closeService, err := openService(cmd.Context(), c, urls, log)
			if err != nil {
				doors.close()
				return err
			}
			defer closeService()
			if err := mayServe(cmd.Context(), s, c); err != nil {
				doors.close()
				return err
			}
			log.Info("starting", "version", version, "database", c.DatabaseURL.String(), "redis", c.RedisURL.String())
			if p.asJSON {
				v := servingView{Live: urls.live, Sandbox: urls.sandbox, Ops: origin(doors.ops)}
				if err := p.show(v, func(io.Writer) {}); err != nil {
					doors.close()
					return err
				}
			}
			return s.run(cmd.Context(), doors)
		},
	}
	addSettingFlags(cmd)
	return cmd
}

// mayServe refuses a database on which every request would fail.
func mayServe(ctx context.Context, s *service, c *configs.Config) error {
	if err := upToDate(ctx, s.store); err != nil {
		return err
	}
	return pepperRefused(s.seed.tenants.ConfirmPepper(ctx), c)
}

func noDatabaseNamed(dir dataDir) error {
	return &startError{what: "WAYBILL_DATABASE_URL is not set", usedFor: "all data",
		fix: "WAYBILL_DATABASE_URL=postgres://user:password@host/name; or --data-dir " + string(dir) + " to serve the data of waybill dev"}
}

// servingView tells a script where a server listens.
type servingView struct {
	Live    string `json:"live_url"`
	Sandbox string `json:"sandbox_url"`
	Ops     string `json:"ops_url"`
	EnvFile string `json:"env_file,omitempty"` // dev only
}

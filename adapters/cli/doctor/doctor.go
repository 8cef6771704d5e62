package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/application/access"
	"waybill/application/webhooks"
	"waybill/configs"
	"waybill/domain"
	"waybill/ports"
)

// Verdict is the result of one check.
type Verdict string

// The verdicts of a finding.
const (
	VerdictOK   Verdict = "OK"
	VerdictWarn Verdict = "WARN" // works, but will cause trouble
	VerdictFail Verdict = "FAIL"
)

// Finding is one line of the report.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Message string  `json:"message"`
	Fix     string  `json:"fix,omitempty"`
}

// View is the report as `doctor --json` shows it.
type View struct {
	Healthy  bool      `json:"healthy"`
	Findings []Finding `json:"findings"`
}

// Database is what the doctor needs of a database.
type Database interface {
	ports.Storage
	ports.StorageState
}

// Redis is what the doctor needs of a Redis.
type Redis interface {
	Time(ctx context.Context) (time.Time, error)
	// Info returns a section of the INFO of Redis.
	Info(ctx context.Context, section string) (string, error)
	// Usable tries what servers and workers need of it.
	Usable(ctx context.Context) error
}

// RoutingEngine is what the doctor needs of a routing engine.
type RoutingEngine interface {
	ports.Routing
	Ping(ctx context.Context) error
}

// IdentityProvider is what the doctor needs of an identity provider.
type IdentityProvider interface {
	// Check discovers the provider and sends it the client's ID and secret. It signs nobody in.
	// It returns ports.ErrIdentityClientRefused if the provider refuses them.
	Check(ctx context.Context) error
}

// Instruments opens what the doctor checks, as a start with these settings does.
type Instruments struct {
	Database func(ctx context.Context, c *configs.Config) (Database, func(), error)
	// Replicas opens the replicas and returns their state.
	Replicas func(ctx context.Context, c *configs.Config) ([]domain.ReplicaState, error)
	// Secrets returns the use cases that check the secrets against a database.
	Secrets func(s ports.Storage, c *configs.Config) (*access.Tenants, *webhooks.SecretKey, error)
	Redis   func(c *configs.Config) (Redis, func(), error)
	Pricing func(c *configs.Config) (ports.Pricing, error)
	Mailer  func(c *configs.Config) ports.Mailer
	// Identity returns the identity provider of the staff.
	Identity func(c *configs.Config) IdentityProvider
	Roads    func(c *configs.Config) (RoutingEngine, func(), error)
	Streets  func(c *configs.Config) (ports.MapTiles, error)
}

// Commands holds the doctor command.
type Commands struct {
	*settings.CommandLine
	Instruments Instruments
}

// Command returns `waybill doctor`.
func (p *Commands) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check settings, secrets, database, Redis, services and ports, and tell how to mend them",
		Long: "Check what a server of these settings needs, one line each: OK, WARN or FAIL, and how to mend it. The exit\n" +
			"code is 1 where one failed. It changes nothing, and works before the first start and beside a running server.",
		Example: `  waybill doctor
  waybill doctor --json
  waybill doctor --config /etc/waybill.yaml`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &diagnosis{program: p, cmd: cmd}
			d.examine(cmd.Context())
			v := View{Healthy: true, Findings: d.findings}
			failed := 0
			for _, f := range d.findings {
				if f.Verdict == VerdictFail {
					v.Healthy = false
					failed++
				}
			}
			if err := p.Show(v, func(w io.Writer) { printFindings(w, v.Findings) }); err != nil {
				return err
			}
			if failed == 0 {
				return nil
			}
			what := fmt.Sprintf("%d of %s failed", failed, term.Counted(len(v.Findings), "check"))
			if d.c == nil {
				what = term.Counted(failed, "setting") + " cannot be used; the rest was not looked at"
			}
			return &term.StartError{Code: "UNHEALTHY", What: what, Fix: "what stands under each FAIL"}
		},
	}
	settings.AddSettingFlags(cmd)
	return cmd
}

func printFindings(w io.Writer, findings []Finding) {
	for _, f := range findings {
		term.Row(w, string(f.Verdict), f.Check, f.Message)
		if f.Fix != "" {
			term.Row(w, "", "", "fix: "+f.Fix)
		}
	}
}

// diagnosis is one run of the doctor.
type diagnosis struct {
	program *Commands
	cmd     *cobra.Command
	c       *configs.Config
	dir     settings.DataDir
	inDir   bool // the database of the data directory
	clocks  []clockReading
	// installation is the name stored in the database; empty: not known.
	installation string
	findings     []Finding
}

func (d *diagnosis) add(v Verdict, check, message, fix string) {
	d.findings = append(d.findings, Finding{check, v, message, fix})
}

func (d *diagnosis) ok(check, message string)        { d.add(VerdictOK, check, message, "") }
func (d *diagnosis) warn(check, message, fix string) { d.add(VerdictWarn, check, message, fix) }
func (d *diagnosis) fail(check, message, fix string) { d.add(VerdictFail, check, message, fix) }

// failed reports an error in the words that a start uses.
func (d *diagnosis) failed(check string, err error) {
	complaints, _ := term.Explain(err)
	for _, c := range complaints {
		message := c.Message
		if c.SetIn != "" {
			message += " (set in " + c.SetIn + ")"
		}
		d.fail(check, message, c.Fix)
	}
}

// examine runs all checks. If the settings cannot be read there is nothing more to check.
func (d *diagnosis) examine(ctx context.Context) {
	if !d.settings() {
		return
	}
	d.dataDirectory()
	d.secrets()
	d.database(ctx)
	d.replicas(ctx)
	d.redis(ctx)
	d.pricing(ctx)
	d.routing(ctx)
	d.streets()
	d.mail(ctx)
	d.identity(ctx)
	d.addresses()
	d.proxies(ctx)
	d.ports(ctx)
	d.clock()
}

func (d *diagnosis) settings() bool {
	c, err := d.program.Load(d.cmd)
	if err != nil {
		d.failed("settings", err)
		return false
	}
	d.dir = settings.DataDir(d.program.DataDir)
	d.inDir = !c.IsSet("database_url")
	if d.inDir {
		if err := d.dir.SupplyDatabase(c); err != nil {
			d.failed("settings", err)
			return false
		}
	}
	d.c = c
	if home, ok := d.program.SecretsOf(d.cmd, c); ok {
		if err := home.SupplySecrets(c); err != nil {
			d.failed("secrets", err)
		}
	}
	for _, warning := range c.Warnings() {
		d.warn("settings", warning, "waybill config lists the settings in effect")
	}
	set := 0
	for _, s := range c.Settings() {
		if s.Source != "default" {
			set++
		}
	}
	d.ok("settings", fmt.Sprintf("%d of %d are set", set, len(c.Settings())))
	return true
}

// secrets checks whether secrets are set. secretsOfDatabase checks whether they belong to the
// database.
func (d *diagnosis) secrets() {
	err := settings.NeedSecrets(d.c, "key_pepper", "secret_key")
	var missing configs.Problems
	switch {
	case err == nil:
		d.ok("secrets", "WAYBILL_KEY_PEPPER from "+d.c.Source("key_pepper")+", WAYBILL_SECRET_KEY from "+d.c.Source("secret_key"))
	case d.fresh():
		d.ok("secrets", "none yet; waybill dev draws them at its first start")
	case errors.As(err, &missing):
		d.failed("secrets", err)
	}
}

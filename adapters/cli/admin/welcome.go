package admin

import (
	"io"
	"strings"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/application/people"
	"waybill/configs"
)

// ServingView tells a script where a server listens.
type ServingView struct {
	Live    string `json:"live_url,omitempty"` // a worker has neither API
	Sandbox string `json:"sandbox_url,omitempty"`
	Ops     string `json:"ops_url"`
	Portal  string `json:"portal_url,omitempty"`
	Console string `json:"console_url,omitempty"` // a worker has none
	EnvFile string `json:"env_file,omitempty"`    // dev only
}

// Program is what a banner says about the program itself.
type Program struct {
	Version   string
	Docs      string // path of the documentation on the host of a sandbox
	Ourselves string // how the shell called the program
}

// WriteDevEnv writes the variables of a development server for scripts.
func WriteDevEnv(dir settings.DataDir, v ServingView, d DemoCustomer, c *configs.Config) error {
	// The directory's own database has no address there. A shell that has read the file finds
	// it by --data-dir, and that of another directory in the same way.
	database := c.DatabaseURL.Reveal()
	if dir.Owns(c.DatabaseURL) {
		database = ""
	}
	// No comment in it: readers split every line at its "=".
	return settings.WriteEnvFile(dir.DevEnv(), "", [][2]string{
		{"WAYBILL_LIVE_URL", v.Live},
		{"WAYBILL_SANDBOX_URL", v.Sandbox},
		{"WAYBILL_OPS_URL", v.Ops},
		{"WAYBILL_PORTAL_URL", v.Portal},
		{"WAYBILL_PORTAL_LINK", d.portalLink(v)},
		{"WAYBILL_CONSOLE_URL", v.Console},
		{"WAYBILL_CONSOLE_LINK", d.consoleLink(v)},
		{"WAYBILL_LIVE_KEY", d.LiveKey},
		{"WAYBILL_TEST_KEY", d.TestKey},
		{"WAYBILL_OPS_TOKEN", d.OpsToken},
		{"WAYBILL_BUSINESS_ID", string(d.Business.ID)},
		{"WAYBILL_APP_ID", string(d.App.ID)},
		{"WAYBILL_PICKUP_ID", string(d.Pickup)},
		{"WAYBILL_PICKUP_INACTIVE_ID", string(d.Inactive)},
		{"WAYBILL_PICKUP_INCOMPLETE_ID", string(d.Incomplete)},
		{"WAYBILL_LIVE_PICKUP_ID", string(d.LivePickup)},
		{settings.DatabaseEnv, database},
		{"WAYBILL_DATABASE_POOLER", c.DatabasePooler},
		{"WAYBILL_REDIS_URL", c.RedisURL.Reveal()},
	})
}

// Banner prints the start message for people, without colours.
func Banner(w io.Writer, p Program, dir settings.DataDir, v ServingView, d DemoCustomer, c *configs.Config) {
	database := "Postgres"
	if strings.HasPrefix(c.DatabaseURL.Reveal(), settings.SqliteScheme) {
		database = "SQLite in " + string(dir)
		if !dir.Owns(c.DatabaseURL) {
			database = c.DatabaseURL.String()
		}
	}
	if c.RedisURL != "" {
		database += ", " + c.RedisURL.String()
	}
	keyLine := func(name, key string, fresh bool) string {
		if fresh {
			return "  " + name + key + "   (shown once; also in " + dir.DevEnv() + ")"
		}
		return "  " + name + masked(key) + "   (in " + dir.DevEnv() + ")"
	}
	where := ""
	if dir != settings.DefaultDataDir {
		where = " --data-dir " + term.ShellQuoted(string(dir))
	}
	lines := []string{
		"waybill " + p.Version + "  (dev: " + database + "; not for production)",
		"",
		"  Sandbox API    " + v.Sandbox,
		"  Live API       " + v.Live,
		"  Docs           " + strings.TrimSuffix(v.Sandbox, "/v1") + p.Docs,
		"  Description    " + v.Sandbox + "/openapi.yaml",
		"  Operations     " + v.Ops + "/ops/v1  (/readyz and /metrics beside it)",
		"",
		"  Demo business  " + d.Business.Name + ", application \"" + d.App.Name + "\"",
		d.signInLine(v),
		"  Console        " + d.consoleLink(v) + "   (for the staff; " + onceOr(d.Admin, adminEmail, "signs an admin in, once") + ")",
		mailsLine(c),
		keyLine("Test key       ", d.TestKey, d.FreshTest),
		keyLine("Live key       ", d.LiveKey, d.FreshLive),
		keyLine("Ops token      ", d.OpsToken, d.FreshToken),
		"",
		"  Next           " + p.Ourselves + " demo" + where + "   (in another terminal: price, book, simulate, follow; every call shown)",
		"",
		"  Or by hand, a price and then a delivery:",
		"",
		"    . " + term.ShellWord(dir.DevEnv()),
		`    curl -s $WAYBILL_SANDBOX_URL/quotes -H "Authorization: Bearer $WAYBILL_TEST_KEY" -H "Content-Type: application/json" \`,
		`      -d '{"vehicle_type":"bike","pickup_location_id":"'$WAYBILL_PICKUP_ID'","dropoff":{"latitude":5.6037,"longitude":-0.187}}'`,
		`    curl -s $WAYBILL_SANDBOX_URL/deliveries -H "Authorization: Bearer $WAYBILL_TEST_KEY" -H "Content-Type: application/json" -H "Idempotency-Key: my-first-delivery" \`,
		`      -d '{"vehicle_type":"bike","pickup_location_id":"'$WAYBILL_PICKUP_ID'","payment":{"type":"delivery_only"},"recipient":{"name":"Ama Mensah","phone_number":"0241234567","address":{"address":"7 Ring Road, Accra","latitude":5.6037,"longitude":-0.187}}}'`,
		"",
	}
	_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n") // a closed terminal is no reason to stop
}

// portalLink returns a link that signs the demo owner in once, or "" without a portal.
func (d DemoCustomer) portalLink(v ServingView) string {
	if v.Portal == "" {
		return ""
	}
	return enterAt(v.Portal, d.Owner)
}

// consoleLink returns a link that signs the demo admin in once.
func (d DemoCustomer) consoleLink(v ServingView) string { return enterAt(v.Console, d.Admin) }

// enterAt returns the address of a link, or of the sign-in page for a disabled account.
func enterAt(site string, link people.Issued) string {
	if link.Secret == "" {
		return site + "/signin"
	}
	return site + "/enter/" + link.Secret
}

// onceOr says what a link is good for, or why there is none.
func onceOr(link people.Issued, email, good string) string {
	if link.Secret == "" {
		return "no link: the account of " + email + " is disabled, waybill person enable opens it"
	}
	return good
}

func (d DemoCustomer) signInLine(v ServingView) string {
	if v.Portal == "" {
		return "  Portal         none (WAYBILL_PORTAL_ADDR is empty)"
	}
	return "  Portal         " + d.portalLink(v) + "   (" + onceOr(d.Owner, demoEmail, "signs you in, once; a new link at each start") + ")"
}

func mailsLine(c *configs.Config) string {
	if c.SMTPURL == "" {
		return "  Mails          in the log below, with their links (WAYBILL_SMTP_URL is empty)"
	}
	return "  Mails          sent by " + c.SMTPURL.String()
}

// masked shows enough of a key to recognize it.
func masked(key string) string {
	const tail = 4
	prefix := strings.LastIndexByte(key, '_') + 1
	if len(key) < prefix+tail {
		return "..."
	}
	return key[:prefix] + "..." + key[len(key)-tail:]
}

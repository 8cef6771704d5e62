package settings

import (
	"log/slog"

	"waybill/adapters/cli/term"
	"waybill/configs"
)

// BadSetting returns an error that names the setting that an adapter could not use.
func BadSetting(c *configs.Config, name string, cause error) error {
	for _, s := range c.Settings() {
		if s.Name == name {
			shown := s.Env
			if shown == "" {
				shown = s.Name
			}
			return configs.Problems{{What: shown + " cannot be used: " + term.Plainly(cause), SetIn: s.Source, Fix: s.Description}}
		}
	}
	return cause
}

// MayReset returns an error if the data is not in the directory.
func MayReset(dir DataDir, c *configs.Config) error {
	if c.IsSet("database_url") && !dir.Owns(c.DatabaseURL) {
		return &term.StartError{
			What:    "--reset wipes the database in " + string(dir) + " only, and " + c.Source("database_url") + " names another one",
			UsedFor: "all data (" + c.DatabaseURL.String() + ")",
			Fix:     "unset WAYBILL_DATABASE_URL, or start without --reset and drop that database yourself",
		}
	}
	return nil
}

// AllowPrivate allows webhooks to this machine and its network, but only if nothing except this
// machine can reach the API. Otherwise a holder of the demo keys on another machine could send
// requests into this network.
func AllowPrivate(c *configs.Config, log *slog.Logger) error {
	const open = "other machines reach this one at its listeners, "
	switch set := c.IsSet("webhook_allow_private"); {
	case !OpenToOthers(c.LiveAddr, c.SandboxAddr, c.OpsAddr, c.PortalAddr):
		return c.Supply("webhook_allow_private", "true", "waybill dev")
	case !set:
		log.Warn("webhooks", "warning", open+"so webhooks to private addresses are refused; WAYBILL_WEBHOOK_ALLOW_PRIVATE=true allows them")
	case c.WebhookAllowPrivate:
		log.Warn("webhooks", "warning", open+"and "+c.Source("webhook_allow_private")+" lets them have webhooks sent to this machine and to "+
			"private networks")
	}
	return nil
}

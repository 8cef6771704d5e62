package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/configs"
)

// CommandLine is a run of the command line with what says where its settings are.
type CommandLine struct {
	*term.Program
	DataDir    string
	ConfigFile string
}

// AddSettingFlags gives a command a flag for each of the settings. Without names it adds every
// setting that may have a flag.
func AddSettingFlags(cmd *cobra.Command, names ...string) {
	for _, s := range configs.FlagSettings() {
		if len(names) == 0 || slices.Contains(names, s.Name) {
			cmd.Flags().String(s.Flag, s.Default, s.Description)
		}
	}
}

// Load reads the settings. The flags of the command take precedence over all others. A named
// data directory takes precedence over an environment that names the database of another one,
// such as a shell that has read that one's dev.env.
func (p *CommandLine) Load(cmd *cobra.Command) (*configs.Config, error) {
	given := map[string]string{}
	for _, s := range configs.FlagSettings() {
		if f := cmd.Flags().Lookup(s.Flag); f != nil && f.Changed {
			given[s.Name] = f.Value.String()
		}
	}
	environ := p.Environ
	if cmd.Flag("data-dir").Changed && DataDir(p.DataDir).isForeign(p.Variable(DatabaseEnv)) {
		environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, DatabaseEnv+"=") })
	}
	return configs.Load(configs.Sources{Flags: given, Environ: environ, File: p.ConfigFile})
}

// LoadPlaced reads the settings and fills in the missing database and secrets from a data
// directory. If nothing names a database it returns an error that says so.
func (p *CommandLine) LoadPlaced(cmd *cobra.Command) (*configs.Config, error) {
	c, err := p.Load(cmd)
	if err != nil {
		return nil, err
	}
	dir := DataDir(p.DataDir)
	if !c.IsSet("database_url") {
		if _, err := os.Stat(dir.Database()); err != nil {
			return nil, noDatabase(dir)
		}
		if err := dir.SupplyDatabase(c); err != nil {
			return nil, err
		}
	}
	if home, ok := p.SecretsOf(cmd, c); ok {
		if err := home.SupplySecrets(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// SecretsOf returns the data directory whose secrets belong to the database: the one that holds
// the SQLite file, one that was named, or the usual one when it ran on this very database. With
// the pepper of another database new keys would not work.
func (p *CommandLine) SecretsOf(cmd *cobra.Command, c *configs.Config) (DataDir, bool) {
	if path, ok := strings.CutPrefix(c.DatabaseURL.Reveal(), SqliteScheme); ok {
		home := DataDir(filepath.Dir(path))
		if _, err := os.Stat(home.Secrets()); err == nil {
			return home, true
		}
	}
	dir := DataDir(p.DataDir)
	if cmd.Flag("data-dir").Changed {
		return dir, true
	}
	_, ran := dir.lastRunOn(c.DatabaseURL)
	return dir, ran
}

func noDatabase(dir DataDir) error {
	return &term.StartError{ //nolint:gosec // the URL is an example
		What:    "there is no database in " + string(dir) + ", and WAYBILL_DATABASE_URL is not set",
		UsedFor: "all data",
		Fix:     "waybill dev makes one there; or WAYBILL_DATABASE_URL=postgres://user:password@host/name, or another --data-dir",
	}
}

// NeedSecrets returns an error that names all missing secrets.
func NeedSecrets(c *configs.Config, names ...string) error {
	var missing configs.Problems
	for _, name := range names {
		value, usedFor := c.KeyPepper, "API keys and cursors"
		if name == "secret_key" {
			value, usedFor = c.SecretKey, "webhooks"
		}
		if value == "" {
			env := configs.Prefix + strings.ToUpper(name)
			missing = append(missing, configs.Problem{
				What: env + " is not set; " + usedFor + " need it",
				Fix:  env + "_FILE=/path/to/secret, or --data-dir when the database belongs to a data directory; a new one: openssl rand -hex 32",
			})
		}
	}
	if len(missing) > 0 {
		return missing
	}
	return nil
}

package settings

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"waybill/adapters/cli/term"
	"waybill/configs"
)

// Names that commands and processes share: the default directory, the scheme of its database,
// and settings.
const (
	DefaultDataDir = ".waybill"
	SqliteScheme   = "sqlite://"

	DatabaseEnv = "WAYBILL_DATABASE_URL"

	PepperEnv = "WAYBILL_KEY_PEPPER"
	SecretEnv = "WAYBILL_SECRET_KEY"

	PreviousPepperEnv = "WAYBILL_KEY_PEPPER_PREVIOUS"
	PreviousSecretEnv = "WAYBILL_SECRET_KEY_PREVIOUS"
)

// DataDir is a directory that holds a local installation: the database, the secrets that belong
// to it, and dev.env for scripts.
type DataDir string

// Database returns the path of its SQLite file.
func (d DataDir) Database() string { return filepath.Join(string(d), "waybill.db") }

// Secrets returns the path of the generated secrets.
func (d DataDir) Secrets() string { return filepath.Join(string(d), "secrets.env") }

// DevEnv returns the path of the file in which `waybill dev` tells other programs where it is.
func (d DataDir) DevEnv() string   { return filepath.Join(string(d), "dev.env") }
func (d DataDir) lockFile() string { return filepath.Join(string(d), "dev.lock") }

// DatabaseURL returns the URL of the directory's own database, valid from any directory.
func (d DataDir) DatabaseURL() (string, error) {
	path, err := filepath.Abs(d.Database())
	return SqliteScheme + filepath.ToSlash(path), err
}

// Owns reports whether the URL names the directory's own database.
func (d DataDir) Owns(url configs.URL) bool {
	path, ok := strings.CutPrefix(url.Reveal(), SqliteScheme)
	if !ok {
		return false
	}
	theirs, err := filepath.Abs(path)
	ours, ourErr := filepath.Abs(d.Database())
	return err == nil && ourErr == nil && theirs == ours
}

// isForeign reports whether the URL is the own database of another data directory. Any other
// database may be used with the secrets of this one.
func (d DataDir) isForeign(url string) bool {
	path, ok := strings.CutPrefix(url, SqliteScheme)
	if !ok || d.Owns(configs.URL(url)) {
		return false
	}
	other := DataDir(filepath.Dir(path))
	_, err := os.Stat(other.Secrets())
	return err == nil && filepath.Base(path) == filepath.Base(other.Database())
}

// lastRunOn returns what waybill dev last wrote into dev.env, and whether it used the database
// of this URL then.
func (d DataDir) lastRunOn(url configs.URL) (last map[string]string, ran bool) {
	last, err := ReadEnvFile(d.DevEnv())
	database, written := last[DatabaseEnv]
	switch {
	case err != nil || !written:
		return last, false
	case database == "":
		return last, d.Owns(url)
	}
	return last, database == url.Reveal()
}

// Label returns the name of the directory as a source of settings.
func (d DataDir) Label() string { return "data directory " + string(d) }

// Make creates the directory, readable by this user only, unless it exists.
func (d DataDir) Make() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return &term.StartError{What: "the data directory cannot be made", UsedFor: "database and keys (--data-dir)",
			Fix: "name a directory that this user may write to", Err: err}
	}
	return nil
}

// Missing returns the files that a start creates before it has a database, and the directory,
// as far as they do not exist.
func (d DataDir) Missing() []string {
	var missing []string
	for _, path := range []string{d.lockFile(), d.Secrets(), string(d)} {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, path)
		}
	}
	return missing
}

// Forget removes what a failed start has created, and the directory only if nothing else is in
// it. It keeps the secrets if there is a database, since they belong to it. The lock is still
// held, so that no other start sees half of it.
func (d DataDir) Forget(made []string) {
	_, err := os.Lstat(d.Database())
	for _, path := range made {
		if path == d.Secrets() && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		_ = os.Remove(path) // a remaining file does no harm
	}
}

// SupplyDatabase adds the directory's database if the settings name none.
func (d DataDir) SupplyDatabase(c *configs.Config) error {
	url, err := d.DatabaseURL()
	if err != nil {
		return err
	}
	return c.Supply("database_url", url, d.Label())
}

// SupplySecrets adds the directory's secrets if the settings have none.
func (d DataDir) SupplySecrets(c *configs.Config) error {
	secrets, err := ReadEnvFile(d.Secrets())
	if err != nil {
		return &term.StartError{What: "the secrets cannot be read", UsedFor: "API keys and cursors",
			Fix: "run as the user who made " + d.Secrets(), Err: err}
	}
	for env, name := range map[string]string{
		PepperEnv: "key_pepper", SecretEnv: "secret_key", PreviousPepperEnv: "key_pepper_previous", PreviousSecretEnv: "secret_key_previous",
	} {
		if secrets[env] != "" {
			if err := c.Supply(name, secrets[env], d.Secrets()); err != nil {
				return err
			}
		}
	}
	return nil
}

// MakeSecrets generates the secrets if there is no file of them yet.
func (d DataDir) MakeSecrets() error {
	_, err := os.Stat(d.Secrets())
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return WriteEnvFile(d.Secrets(), "The secrets of this directory's database. Without them its API keys stop working.",
		[][2]string{{PepperEnv, RandomHex()}, {SecretEnv, RandomHex()}})
}

// RandomHex returns a new secret of 256 bits.
func RandomHex() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: it ends the process instead
	return hex.EncodeToString(secret[:])
}

// Reset removes what the directory holds. The next start creates the database again.
func (d DataDir) Reset() error {
	var failed error
	for _, path := range []string{d.Database(), d.Database() + "-wal", d.Database() + "-shm", d.DevEnv(), d.Secrets()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (d DataDir) taken(holder string) error {
	fix := "stop it, or use another --data-dir"
	if holder != "" {
		fix = "stop it (process " + holder + "), or use another --data-dir"
	}
	return &term.StartError{What: "another waybill dev runs in " + string(d), UsedFor: "database, keys and dev.env (--data-dir)", Fix: fix}
}

package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"waybill/configs"
)

const (
	defaultDataDir = ".waybill"
	sqliteScheme   = "sqlite://"

	databaseEnv = "WAYBILL_DATABASE_URL"

	pepperEnv = "WAYBILL_KEY_PEPPER"
	secretEnv = "WAYBILL_SECRET_KEY"

	previousPepperEnv = "WAYBILL_KEY_PEPPER_PREVIOUS"
	previousSecretEnv = "WAYBILL_SECRET_KEY_PREVIOUS"
)

// dataDir is a directory that holds a local installation: the database, the
// secrets that belong to it, and dev.env for scripts.
type dataDir string

func (d dataDir) database() string { return filepath.Join(string(d), "waybill.db") }
func (d dataDir) secrets() string  { return filepath.Join(string(d), "secrets.env") }
func (d dataDir) devEnv() string   { return filepath.Join(string(d), "dev.env") }
func (d dataDir) lockFile() string { return filepath.Join(string(d), "dev.lock") }

// databaseURL names the directory's own database, from anywhere.
func (d dataDir) databaseURL() (string, error) {
	path, err := filepath.Abs(d.database())
	return sqliteScheme + filepath.ToSlash(path), err
}

// owns reports whether the URL names the directory's own database.
func (d dataDir) owns(url configs.URL) bool {
	path, ok := strings.CutPrefix(url.Reveal(), sqliteScheme)
	if !ok {
		return false
	}
	theirs, err := filepath.Abs(path)
	ours, ourErr := filepath.Abs(d.database())
	return err == nil && ourErr == nil && theirs == ours
}

// isForeign reports whether the URL is that of the own database of another data
// directory. Any other database may be one to run on with the secrets of this one.
func (d dataDir) isForeign(url string) bool {
	path, ok := strings.CutPrefix(url, sqliteScheme)
	if !ok || d.owns(configs.URL(url)) {
		return false
	}
	other := dataDir(filepath.Dir(path))
	_, err := os.Stat(other.secrets())
	return err == nil && filepath.Base(path) == filepath.Base(other.database())
}

// lastRunOn is what waybill dev last wrote into dev.env, and whether it ran on
// the database of this URL then.
func (d dataDir) lastRunOn(url configs.URL) (last map[string]string, ran bool) {
	last, err := readEnvFile(d.devEnv())
	database, written := last[databaseEnv]
	switch {
	case err != nil || !written:
		return last, false
	case database == "":
		return last, d.owns(url)
	}
	return last, database == url.Reveal()
}

// label is what the settings call the directory as a source.
func (d dataDir) label() string { return "data directory " + string(d) }

func (d dataDir) make() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return &startError{what: "the data directory cannot be made", usedFor: "database and keys (--data-dir)",
			fix: "name a directory that this user may write to", err: err}
	}
	return nil
}

// missing are the files that a start makes before it has a database, and the
// directory, as far as they are not there yet.
func (d dataDir) missing() []string {
	var missing []string
	for _, path := range []string{d.lockFile(), d.secrets(), string(d)} {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, path)
		}
	}
	return missing
}

// forget removes what a start that failed has made; the directory only where
// nothing else is in it. With a database stay the secrets that belong to it. The
// lock is held still, so that no other start meets half of it.
func (d dataDir) forget(made []string) {
	_, err := os.Lstat(d.database())
	for _, path := range made {
		if path == d.secrets() && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		_ = os.Remove(path) // what cannot be removed does no harm
	}
}

// supplyDatabase offers the directory's database where the settings name none.
func (d dataDir) supplyDatabase(c *configs.Config) error {
	url, err := d.databaseURL()
	if err != nil {
		return err
	}
	return c.Supply("database_url", url, d.label())
}

// supplySecrets offers the directory's secrets where the settings have none.
func (d dataDir) supplySecrets(c *configs.Config) error {
	secrets, err := readEnvFile(d.secrets())
	if err != nil {
		return &startError{what: "the secrets cannot be read", usedFor: "API keys and cursors",
			fix: "run as the user who made " + d.secrets(), err: err}
	}
	for env, name := range map[string]string{
		pepperEnv: "key_pepper", secretEnv: "secret_key", previousPepperEnv: "key_pepper_previous", previousSecretEnv: "secret_key_previous",
	} {
		if secrets[env] != "" {
			if err := c.Supply(name, secrets[env], d.secrets()); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeSecrets draws the secrets where there is no file of them yet.
func (d dataDir) makeSecrets() error {
	_, err := os.Stat(d.secrets())
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeEnvFile(d.secrets(), "The secrets of this directory's database. Without them its API keys stop working.",
		[][2]string{{pepperEnv, randomHex()}, {secretEnv, randomHex()}})
}

func randomHex() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: it ends the process instead
	return hex.EncodeToString(secret[:])
}

// reset removes what the directory holds; the database is made anew.
func (d dataDir) reset() error {
	var failed error
	for _, path := range []string{d.database(), d.database() + "-wal", d.database() + "-shm", d.devEnv(), d.secrets()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (d dataDir) taken(holder string) error {
	fix := "stop it, or use another --data-dir"
	if holder != "" {
		fix = "stop it (process " + holder + "), or use another --data-dir"
	}
	return &startError{what: "another waybill dev runs in " + string(d), usedFor: "database, keys and dev.env (--data-dir)", fix: fix}
}

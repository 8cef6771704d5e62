package configs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"waybill/configs"
)

var update = flag.Bool("update", false, "write example.env anew")

func TestTheExampleFileIsWhatTheStructSays(t *testing.T) {
	const path = "example.env"
	if *update {
		if err := os.WriteFile(path, []byte(configs.ExampleEnv()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(content) != configs.ExampleEnv() {
		t.Error("configs/example.env is stale: go test ./configs -run Example -update")
	}
}

func TestTheReferenceNamesEverySetting(t *testing.T) {
	t.Parallel()
	reference := configs.Reference()
	for _, s := range load(t, configs.Sources{}).Settings() {
		if s.Description == "" || s.Group == "" {
			t.Errorf("%s is not described", s.Name)
		}
		if !strings.Contains(reference, "`"+s.Name+"`") || s.Env != "" && !strings.Contains(reference, "`"+s.Env+"`") {
			t.Errorf("%s is missing in the reference", s.Name)
		}
	}
}

// The example of the reference must be one that loads.
func TestTheTariffOfTheReferenceLoads(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(configs.Reference(), "```yaml\n")
	yaml, _, _ := strings.Cut(rest, "```")
	c := load(t, configs.Sources{File: write(t, "waybill.yaml", yaml)})
	if len(c.Tariff.Vehicles) != 3 {
		t.Errorf("tariff %+v", c.Tariff)
	}
}

func TestNoSecretShowsWhateverIsDoneWithASetting(t *testing.T) {
	t.Parallel()
	pepper, secret, former, password := strings.Repeat("pepper", 8), strings.Repeat("secret", 8), strings.Repeat("former", 8), "hunter22"
	c := load(t, configs.Sources{Environ: []string{
		"WAYBILL_KEY_PEPPER=" + pepper, "WAYBILL_SECRET_KEY=" + secret, "WAYBILL_SECRET_KEY_PREVIOUS=" + former + "," + former,
		"WAYBILL_DATABASE_URL=postgres://waybill:" + password + "@db.internal/waybill?sslmode=require&password=" + password,
		"WAYBILL_REDIS_URL=redis://:" + password + "@cache.internal:6379",
	}})
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "pepper", c.KeyPepper, "database", c.DatabaseURL, "redis", c.RedisURL, "previous",
		c.SecretKeyPrevious)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "pepper", c.KeyPepper, "database", c.DatabaseURL, "config", c, "previous",
		c.SecretKeyPrevious)
	marshalled, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := json.Marshal(c.Settings())
	if err != nil {
		t.Fatal(err)
	}
	all := logged.String() + string(marshalled) + string(listed) + c.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{c, *c, c.KeyPepper, c.SecretKey, c.SecretKeyPrevious, c.DatabaseURL, c.RedisURL} {
			all += fmt.Sprintf(verb, value) + "\n"
		}
	}
	for _, hidden := range []string{pepper, secret, former, password, fmt.Sprintf("%x", password)} {
		if strings.Contains(all, hidden) {
			t.Errorf("%q shows", hidden)
		}
	}
	for _, shown := range []string{"[redacted]", "secret_key_previous=[redacted],[redacted]\n", "db.internal", "cache.internal"} {
		if !strings.Contains(all, shown) {
			t.Errorf("%q is missing", shown)
		}
	}
}

func TestFlagsExistForAllButSecretsAndTables(t *testing.T) {
	t.Parallel()
	flags := map[string]bool{}
	for _, f := range configs.FlagSettings() {
		flags[f.Flag] = true
	}
	if !flags["live-addr"] || !flags["rate-limit-per-key"] {
		t.Errorf("flags %v", flags)
	}
	for _, none := range []string{"key-pepper", "secret-key", "database-url", "redis-url", "tariff"} {
		if flags[none] {
			t.Errorf("--%s would show in the list of processes", none)
		}
	}
}

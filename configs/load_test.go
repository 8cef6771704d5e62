package configs_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/configs"
)

func load(t *testing.T, s configs.Sources) *configs.Config {
	t.Helper()
	c, err := configs.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// problems loads what must not load.
func problems(t *testing.T, s configs.Sources) configs.Problems {
	t.Helper()
	_, err := configs.Load(s)
	var found configs.Problems
	if !errors.As(err, &found) {
		t.Fatalf("Load answered %v, want problems", err)
	}
	return found
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWithoutSourcesTheDefaultsApply(t *testing.T) {
	t.Parallel()
	c := load(t, configs.Sources{})
	if c.LiveAddr != "127.0.0.1:8080" || c.SandboxAddr != "127.0.0.1:8081" || c.OpsAddr != "127.0.0.1:8082" {
		t.Errorf("addresses %s, %s, %s", c.LiveAddr, c.SandboxAddr, c.OpsAddr)
	}
	if c.RateLimitPerKey != (configs.Rate{Limit: 600, Window: time.Minute}) || c.RateLimitPerBusiness.Limit != 1200 {
		t.Errorf("limits %v, %v", c.RateLimitPerKey, c.RateLimitPerBusiness)
	}
	if c.IdempotencyRetention != 24*time.Hour || c.PricingTimeout != 2*time.Second {
		t.Errorf("retention %v, time-out %v", c.IdempotencyRetention, c.PricingTimeout)
	}
	if c.Currency != "GHS" || c.PhoneRegion != "GH" || c.Tariff.Vehicles != nil || c.Tariff.Step != 50 {
		t.Errorf("currency %s, region %s, tariff %v", c.Currency, c.PhoneRegion, c.Tariff)
	}
	if c.IsSet("live_addr") || c.Source("live_addr") != "default" {
		t.Errorf("source %s", c.Source("live_addr"))
	}
}

func TestAFlagBeatsAVariableBeatsAFileBeatsWhatIsSupplied(t *testing.T) {
	t.Parallel()
	file := write(t, "waybill.yaml", "live_addr: 127.0.0.1:1001\nsandbox_addr: 127.0.0.1:1002\nops_addr: 127.0.0.1:1003\n")
	c := load(t, configs.Sources{
		File:    file,
		Environ: []string{"WAYBILL_LIVE_ADDR=127.0.0.1:2001", "WAYBILL_SANDBOX_ADDR=127.0.0.1:2002", "WAYBILL_OPS_ADDR="},
		Flags:   map[string]string{"live_addr": "127.0.0.1:3001"},
	})
	for name, want := range map[string][2]string{
		"live_addr":    {"127.0.0.1:3001", "--live-addr"},
		"sandbox_addr": {"127.0.0.1:2002", "WAYBILL_SANDBOX_ADDR"},
		"ops_addr":     {"127.0.0.1:1003", file},
	} {
		value := map[string]string{"live_addr": c.LiveAddr, "sandbox_addr": c.SandboxAddr, "ops_addr": c.OpsAddr}[name]
		if value != want[0] || c.Source(name) != want[1] {
			t.Errorf("%s is %s from %s, want %v", name, value, c.Source(name), want)
		}
	}
	if err := c.Supply("ops_addr", "127.0.0.1:4003", "data directory"); err != nil || c.OpsAddr != "127.0.0.1:1003" {
		t.Errorf("supplying over the file: %v, %s", err, c.OpsAddr)
	}
	if err := c.Supply("database_url", "sqlite:///x/y.db", "data directory"); err != nil || c.DatabaseURL.Reveal() != "sqlite:///x/y.db" ||
		c.Source("database_url") != "data directory" {
		t.Errorf("supplying: %v, %s from %s", err, c.DatabaseURL, c.Source("database_url"))
	}
}

func TestAPortalIsLeftOutByAnAddressThatIsSetAndEmpty(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sources configs.Sources
		want    string
	}{
		"not set":                          {configs.Sources{}, "127.0.0.1:8084"},
		"an empty variable":                {configs.Sources{Environ: []string{"WAYBILL_PORTAL_ADDR="}}, ""},
		"an empty flag":                    {configs.Sources{Flags: map[string]string{"portal_addr": ""}}, ""},
		"an empty one of another listener": {configs.Sources{Environ: []string{"WAYBILL_LIVE_ADDR="}}, "127.0.0.1:8084"},
	} {
		if got := load(t, c.sources); got.PortalAddr != c.want || got.LiveAddr != "127.0.0.1:8080" {
			t.Errorf("%s: the portal is at %q, live at %q", name, got.PortalAddr, got.LiveAddr)
		}
	}
}

func TestAFileIsNamedByVariableOrFlag(t *testing.T) {
	t.Parallel()
	one, two := write(t, "one.yaml", "currency: GHS\nlog_level: debug\n"), write(t, "two.yaml", "log_level: error\n")
	if c := load(t, configs.Sources{Environ: []string{"WAYBILL_CONFIG=" + one}}); c.Source("log_level") != one {
		t.Errorf("log_level from %s", c.Source("log_level"))
	}
	if c := load(t, configs.Sources{Environ: []string{"WAYBILL_CONFIG=" + one}, File: two}); c.Source("log_level") != two {
		t.Errorf("log_level from %s", c.Source("log_level"))
	}
}

func TestAFileMayHoldListsNumbersAndTheTariff(t *testing.T) {
	t.Parallel()
	c := load(t, configs.Sources{File: write(t, "waybill.yaml", `
trusted_proxies: [10.1.2.3/8, 192.0.2.7]
database_pool_size: 30
idempotency_retention: 48h
rate_limit_per_key: 10/1s
redis_url:
tariff:
  step: 0.1
  vehicles:
    bike: {base: 8, per_km: 2.29, minimum: 10.50, range_km: 20}
`)})
	if len(c.TrustedProxies) != 2 || c.TrustedProxies[0] != netip.MustParsePrefix("10.0.0.0/8") ||
		c.TrustedProxies[1] != netip.MustParsePrefix("192.0.2.7/32") {
		t.Errorf("proxies %v", c.TrustedProxies)
	}
	if c.DatabasePoolSize != 30 || c.IdempotencyRetention != 48*time.Hour || c.RateLimitPerKey.Window != time.Second {
		t.Errorf("pool %d, retention %v, limit %v", c.DatabasePoolSize, c.IdempotencyRetention, c.RateLimitPerKey)
	}
	if want := (configs.TariffRow{Base: 800, PerKM: 229, Minimum: 1050, RangeKM: 20}); c.Tariff.Step != 10 ||
		c.Tariff.Vehicles["bike"] != want {
		t.Errorf("tariff %+v", c.Tariff)
	}
}

// YAML would make numbers and times of these, and a key of 40 digits one of 17.
func TestASecretOfAFileIsTakenAsItIsWritten(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("1234567890", 4)
	c := load(t, configs.Sources{File: write(t, "waybill.yaml", "key_pepper: "+digits+"\nsecret_key_previous: [&one "+digits+"1, *one]\n")})
	if got := c.KeyPepper.Reveal(); got != digits {
		t.Errorf("pepper %s", got)
	}
	if len(c.SecretKeyPrevious) != 2 || c.SecretKeyPrevious[1].Reveal() != digits+"1" {
		t.Errorf("previous keys: %d of them", len(c.SecretKeyPrevious))
	}
}

func TestAFileMayShareWhatIsAlike(t *testing.T) {
	t.Parallel()
	c := load(t, configs.Sources{File: write(t, "waybill.yaml", "max_connections: 8_192\ntariff:\n  vehicles:\n"+
		"    bike: &small {base: .5, per_km: 2.500, minimum: 1, range_km: 5.0}\n    car: *small\n    van: {<<: *small, base: 3}\n")})
	small := configs.TariffRow{Base: 50, PerKM: 250, Minimum: 100, RangeKM: 5}
	van := small
	van.Base = 300
	if v := c.Tariff.Vehicles; v["bike"] != small || v["car"] != small || v["van"] != van {
		t.Errorf("tariff %+v", v)
	}
	if c.MaxConnections != 8192 {
		t.Errorf("connections %d", c.MaxConnections)
	}
}

func TestASecretMayComeFromAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	pepper := strings.Repeat("p", 40)
	c := load(t, configs.Sources{Environ: []string{
		"WAYBILL_KEY_PEPPER_FILE=" + write(t, "pepper", pepper+"\n"),
		"WAYBILL_DATABASE_URL_FILE=" + write(t, "database", "postgres://u:pw@h/d\r\n"),
	}})
	if c.KeyPepper.Reveal() != pepper || c.Source("key_pepper") != "WAYBILL_KEY_PEPPER_FILE" {
		t.Errorf("pepper of %d characters from %s", len(c.KeyPepper.Reveal()), c.Source("key_pepper"))
	}
	if c.DatabaseURL.Reveal() != "postgres://u:pw@h/d" {
		t.Errorf("database %s", c.DatabaseURL)
	}
}

func TestPreviousKeysAreAListFromAnySource(t *testing.T) {
	t.Parallel()
	one, two := strings.Repeat("1", 32), strings.Repeat("2", 32)
	for name, s := range map[string]configs.Sources{
		"a variable":     {Environ: []string{"WAYBILL_SECRET_KEY_PREVIOUS= " + one + " ," + two}},
		"a file of them": {Environ: []string{"WAYBILL_SECRET_KEY_PREVIOUS_FILE=" + write(t, "previous", one+","+two+"\n")}},
		"a list in YAML": {File: write(t, "waybill.yaml", "secret_key_previous: ['"+one+"', '"+two+"']\n")},
	} {
		if got := load(t, s).SecretKeyPrevious; len(got) != 2 || got[0].Reveal() != one || got[1].Reveal() != two {
			t.Errorf("%s: %d keys", name, len(got))
		}
	}
	for name, s := range map[string]configs.Sources{
		"nowhere":       {},
		"an empty file": {Environ: []string{"WAYBILL_SECRET_KEY_PREVIOUS_FILE=" + write(t, "none", "\n")}},
	} {
		if c := load(t, s); len(c.SecretKeyPrevious) != 0 || c.IsSet("secret_key_previous") {
			t.Errorf("%d keys from %s", len(c.SecretKeyPrevious), name)
		}
	}
}

func TestAProblemNamesTheSettingTheValueItsSourceAndTheCure(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		environ, what, fix string
	}{
		{"WAYBILL_LIVE_ADDR=8080", `WAYBILL_LIVE_ADDR is "8080" and is no address to listen on`, "127.0.0.1:8080"},
		{"WAYBILL_LIVE_ADDR=127.0.0.1:99999", "is no address to listen on", "host:port"},
		{"WAYBILL_SANDBOX_ADDR=127.0.0.1:8080", `WAYBILL_SANDBOX_ADDR is "127.0.0.1:8080" and so is WAYBILL_LIVE_ADDR`, "address of its own"},
		{"WAYBILL_LIVE_BASE_URL=https://api.example.com", "does not end in /v1", "https://api.example.com/v1"},
		{"WAYBILL_LIVE_BASE_URL=ftp://api.example.com/v1", "is no address of a service", "http(s)://"},
		{"WAYBILL_TRACKING_BASE_URL=https://example.com/track/", "ends in a slash", "last slash"},
		{"WAYBILL_PORTAL_BASE_URL=https://example.com/portal", `WAYBILL_PORTAL_BASE_URL is "https://example.com/portal" and has a path`,
			"leave out the path"},
		{"WAYBILL_PORTAL_BASE_URL=https://example.com/", "ends in a slash", "last slash"},
		{"WAYBILL_CONSOLE_BASE_URL=https://ops.example.com/office", "has a path", "https://portal.example.com"},
		{"WAYBILL_CONSOLE_BASE_URL=https://ops.example.com/console", "has a path", "leave out the path"},
		{"WAYBILL_PRICING_URL=http://u:hunter22@prices", "has a user or a password in it", "before the @"},
		{"WAYBILL_PRICING_URL=http://u:1%/hunter22@prices", `is "http://[redacted]@prices" and is no address`, "http(s)://"},
		{"WAYBILL_PRICING_TIMEOUT=3s", `WAYBILL_PRICING_TIMEOUT is "3s" and is not within 10ms to 2400ms`, "2s"},
		{"WAYBILL_PRICING_TIMEOUT=2", "is not within", "a number and a unit"},
		{"WAYBILL_ROUTING_URL=valhalla:8002", `WAYBILL_ROUTING_URL is "valhalla:8002" and is no address of a service`, "http(s)://"},
		{"WAYBILL_ROUTING_TIMEOUT=2s", `WAYBILL_ROUTING_TIMEOUT is "2s" and is not within 10ms to 1900ms`, "1s"},
		{"WAYBILL_ROUTING_BIKE=horse", "is none of the values there are", "motor_scooter, motorcycle, bicycle"},
		{"WAYBILL_SERVICE_AREA_FILE=" + missing, "cannot be read", "name a file"},
		{"WAYBILL_RATE_LIMIT_PER_KEY=600", "is no rate", "600/60s"},
		{"WAYBILL_TRUSTED_PROXIES=10.0.0.0/8,nonsense", `holds "nonsense"`, "10.0.0.0/8"},
		{"WAYBILL_LOG_LEVEL=loud", "is no level", "debug, info, warn or error"},
		{"WAYBILL_LOG_FORMAT=xml", "is none of the values there are", "auto, text, json"},
		{"WAYBILL_CURRENCY=cedi", "is no currency", "GHS"},
		{"WAYBILL_CURRENCY=EUR", `WAYBILL_CURRENCY is "EUR" and the built-in prices are in GHS`, "tariff"},
		{"WAYBILL_PHONE_REGION=Ghana", "is no country", "GH"},
		{"WAYBILL_DATABASE_URL=mysql://root:hunter22@h/d", "WAYBILL_DATABASE_URL names no database we know: it begins with mysql://",
			"postgres://"},
		{"WAYBILL_REDIS_URL=cache.internal:6379?password=hunter22", "WAYBILL_REDIS_URL names no Redis", "redis://"},
		{"WAYBILL_REDIS_URL=postgres://u:hunter22@db/waybill", "WAYBILL_REDIS_URL is the address of a database and of no Redis",
			"WAYBILL_DATABASE_URL"},
		{"WAYBILL_REDIS_URL=http://hunter22@cache:6379", "WAYBILL_REDIS_URL is an address of the kind http:// and of no Redis", "redis://"},
		{"WAYBILL_DATABASE_URL=rediss://u:hunter22@cache", "WAYBILL_DATABASE_URL is the address of a Redis", "WAYBILL_REDIS_URL"},
		{"WAYBILL_DATABASE_POOL_SIZE=1", "is not within 8 to 500", "24"},
		{"WAYBILL_DATABASE_POOLER=session", "is none of the values there are", "none, transaction"},
		{"WAYBILL_SMTP_URL=mail.internal:587", "WAYBILL_SMTP_URL names no mail server", "smtps://"},
		{"WAYBILL_SMTP_URL=http://u:hunter22@mail", "WAYBILL_SMTP_URL names no mail server", "smtp://"},
		{"WAYBILL_SMTP_URL=smtp://u:hunter22@", "WAYBILL_SMTP_URL is no address of a mail server", "smtp://"},
		{"WAYBILL_SMTP_URL=smtp://u:hunter22@mail/inbox", "WAYBILL_SMTP_URL is no address of a mail server", "smtp://"},
		{"WAYBILL_SMTP_URL=smtp://u:hunter22@mail:70000", "WAYBILL_SMTP_URL", "smtp://"},
		{"WAYBILL_SMTP_URL=smtp://hunter22@mail", "WAYBILL_SMTP_URL has a user without a password", "smtp://"},
		{"WAYBILL_SMTP_URL=smtp://u:hunter22@mail?starttls=never", "WAYBILL_SMTP_URL has an option that is not known", "starttls=optional"},
		{"WAYBILL_SMTP_URL=smtps://u:hunter22@mail?starttls=optional", "WAYBILL_SMTP_URL has an option that is not known", "starttls=optional"},
		{"WAYBILL_SMTP_URL=smtp://u:hunter22@mail", "WAYBILL_MAIL_FROM is not", "WAYBILL_MAIL_FROM="},
		{"WAYBILL_MAIL_FROM=Waybill", "is no e-mail address", "no-reply@example.com"},
		{"WAYBILL_MAIL_FROM=no-reply@example", "is no e-mail address", "no-reply@example.com"},
		{"WAYBILL_MAIL_FROM=bücher@example.com", "has characters outside ASCII before the @", "no-reply@example.com"},
		{"WAYBILL_MAIL_FROM=no-reply@xn--ü.example", "has a domain that no mail server can find", "no-reply@example.com"},
		{"WAYBILL_KEY_PEPPER=hunter22", "WAYBILL_KEY_PEPPER is too short", "openssl"},
		{"WAYBILL_SECRET_KEY_PREVIOUS=" + strings.Repeat("s", 32) + ",hunter22", "WAYBILL_SECRET_KEY_PREVIOUS holds one that is too short",
			"32 characters"},
		{"WAYBILL_SECRET_KEY_PREVIOUS=" + strings.Repeat("s", 32) + ",", "WAYBILL_SECRET_KEY_PREVIOUS holds one that is too short",
			"comma-separated"},
		{"WAYBILL_SECRET_KEY_FILE=" + missing, "WAYBILL_SECRET_KEY_FILE names a file that cannot be read", "name a file"},
		{"WAYBILL_CONFIG=" + missing, "the configuration file cannot be read", "name a YAML file"},
	} {
		found := problems(t, configs.Sources{Environ: []string{c.environ}})
		if len(found) != 1 || !strings.Contains(found[0].What, c.what) || !strings.Contains(found[0].Fix, c.fix) || found[0].SetIn == "" {
			t.Errorf("%s: %+v", c.environ, found)
		}
		if strings.Contains(found.Error(), "hunter22") {
			t.Errorf("%s: a secret shows in %v", c.environ, found)
		}
	}
}

func TestAMisplacedSecretIsNotShown(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"postgres://u:hunter22@db/w", "postgres://u:p,hunter22@db/w", "redis://:hunter22@r:6379/0", "redis://hunter22@r", "u:hunter22@db/w",
		"host=db user=u password=hunter22 dbname=w", "host=db PWD = 'a hunter22'", strings.Repeat("hunter22", 4), strings.Repeat("hunter22", 20),
		"/" + strings.Repeat("hunter22", 4) + "+/aB==", "x " + strings.Repeat("hunter22", 4),
	} {
		for _, name := range []string{
			"LIVE_ADDR", "LIVE_BASE_URL", "OPS_HOSTS", "TRUSTED_PROXIES", "BULK_LEASE", "DATABASE_POOL_SIZE", "LOG_LEVEL", "RATE_LIMIT_PER_KEY",
			"OIDC_ROLES", "OIDC_GROUPS_CLAIM", "OIDC_ISSUER", "MAIL_FROM", "MAP_FILE", "WEBHOOK_ALLOW_PRIVATE", "WEBHOOK_RETRY_SCHEDULE", "CONFIG",
			"DATABASE_URL_FILE", "REDIS_URL_FILE", "SMTP_URL_FILE", "KEY_PEPPER_FILE", "SECRET_KEY_FILE", "OIDC_CLIENT_SECRET_FILE",
			"DATABASE_REPLICA_URLS_FILE", "KEY_PEPPER_PREVIOUS_FILE",
		} {
			_, err := configs.Load(configs.Sources{Environ: []string{"WAYBILL_" + name + "=" + value}})
			taken := err == nil && name != "OPS_HOSTS" // a host may have the name of a key
			if found := fmt.Sprintf("%+v", err); taken || strings.Contains(found, "hunter22") {
				t.Errorf("%s is %s: %s", name, value, found)
			}
		}
	}
}

func TestAPathIsShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for environ, want := range map[string]string{
		"WAYBILL_SECRET_KEY_FILE=" + dir + "/missing":                                     "cannot be read: no such file or directory: " + dir + "/missing",
		"WAYBILL_SECRET_KEY_FILE=" + dir:                                                  "cannot be read: is a directory: " + dir,
		"WAYBILL_SECRET_KEY_FILE=" + write(t, "empty-file-of-the-secret-key-of-2026", ""): "names an empty file: /",
		"WAYBILL_MAP_FILE=/srv/maps/ghana-of-the-28th-of-november-2026.pmtiles":           `is "/srv/maps/ghana-of-the-28th-of-november-2026.pmtiles"`,
		"WAYBILL_OIDC_ROLES=group:8f14e45f-ceea-467f-a8a3-2b1b6d5c9f11=boss":              `is "group:8f14e45f-ceea-467f-a8a3-2b1b6d5c9f11=boss"`,
		"WAYBILL_LIVE_BASE_URL=https://api.example.com/the/company/deliveries/waybill/v2": `is "https://api.example.com/the/company/deliveries/waybill/v2"`,
	} {
		if found := problems(t, configs.Sources{Environ: []string{environ}}); !strings.Contains(found.Error(), want) {
			t.Errorf("%s: %v", environ, found)
		}
	}
}

func TestAFileIsHeldToTheNamesAndFormsThereAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ content, what, fix string }{
		{"live_addres: 127.0.0.1:1\n", `unknown setting "live_addres"`, "did you mean live_addr?"},
		{"colour: blue\n", `unknown setting "colour"`, "config --docs"},
		{"live_addr: {host: x}\n", "is a table", "one value"},
		{"live_addr: ''\n", "is empty", "127.0.0.1:8080"},
		{"- a\n- b\n", "is not YAML", "names"},
		{"key_pepper: [hunter22\n", "name: value (line 1)", "names"},
		{"log_level: info\nlog_level: warn\n", "name: value (line 2)", "names"},
		{"tariff: {step: 1, step: 2}\n", "name: value (line 1)", "names"},
		{"trusted_proxies: &all [*all]\n", "name: value", "names"},
		{"3\n", "name: value (line 1)", "names"},
		{"tariff: {x: 1, <<: &m {x: [*m]}}\n", `unknown entry "x"`, "entries"},
		{"secret_key_previous: {a: hunter22}\n", "table", "value"},
		{"tariff: 3\n", "and prices no vehicle", "a line per vehicle"},
		{"tariff: {vehicles: {bike: {base: 1.005, per_km: 1, minimum: 1, range_km: 1}}}\n", "no amount in bike.base", "two decimals"},
		{"tariff: {vehicles: {bike: {base: -1, per_km: 1, minimum: 1, range_km: 1}}}\n", "no amount in bike.base", "two decimals"},
		{"tariff: {vehicles: {bike: {base: 1, per_km: 1, minimum: 1, range: 1}}}\n", `unknown column "bike.range"`, "range_km"},
		{"tariff: {vehicles: {bike: {base: 1, per_km: 1, minimum: 1}}}\n", "no distance in bike.range_km", "kilometres"},
		{"tariff: {step: 0, vehicles: {bike: {base: 1, per_km: 1, minimum: 1, range_km: 1}}}\n", "no amount in step", "0.50"},
	} {
		found := problems(t, configs.Sources{File: write(t, "waybill.yaml", c.content)})
		if !strings.Contains(found[0].What, c.what) || !strings.Contains(found[0].Fix, c.fix) {
			t.Errorf("%q: %+v", c.content, found)
		}
		if strings.Contains(found.Error(), "hunter22") {
			t.Errorf("%q: a secret shows in %v", c.content, found)
		}
	}
}

func TestAllProblemsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	found := problems(t, configs.Sources{
		File: write(t, "waybill.yaml", "colour: blue\nlog_level: loud\n"),
		Environ: []string{"WAYBILL_LIVE_ADDR=x", "WAYBILL_KEY_PEPPER=" + strings.Repeat("s", 32), "WAYBILL_SECRET_KEY=" + strings.Repeat("s", 32),
			"WAYBILL_SECRET_KEY_FILE=x"},
		Flags: map[string]string{"currency": "x"},
	})
	for _, want := range []string{"colour", "LOG_LEVEL", "LIVE_ADDR", "are the same", "both WAYBILL_SECRET_KEY and WAYBILL_SECRET_KEY_FILE",
		"CURRENCY"} {
		if !strings.Contains(found.Error(), want) {
			t.Errorf("%q is missing in %v", want, found)
		}
	}
}

func TestAnUnknownVariableIsAWarningUnlessItIsKnownToBeOthers(t *testing.T) {
	t.Parallel()
	environ := []string{"WAYBILL_LIVE_ADR=x", "WAYBILL_COLOUR=blue", "WAYBILL_TEST_POSTGRES_URL=x", "HOME=/", "WAYBILL_KEY_PEPER_FILE=x"}
	for _, name := range configs.DevNames() {
		environ = append(environ, name+"=x")
	}
	got := load(t, configs.Sources{Environ: environ}).Warnings()
	want := []string{
		"WAYBILL_COLOUR is set and is no setting of this version",
		"WAYBILL_KEY_PEPER_FILE is set and is no setting of this version; did you mean WAYBILL_KEY_PEPPER_FILE?",
		"WAYBILL_LIVE_ADR is set and is no setting of this version; did you mean WAYBILL_LIVE_ADDR?",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("warnings %q", got)
	}
}

func TestTheVariablesThatKubernetesSetsForAServiceAreNoSettings(t *testing.T) {
	t.Parallel()
	var links []string
	for _, service := range []string{"WAYBILL", "WAYBILL_LIVE", "WAYBILL_WORKER_2"} {
		for _, link := range []string{"_SERVICE_HOST=10.96.0.7", "_SERVICE_PORT=8080", "_SERVICE_PORT_LIVE_API=8080", "_PORT=tcp://10.96.0.7:8080",
			"_PORT_8080_TCP=tcp://10.96.0.7:8080", "_PORT_8080_TCP_ADDR=10.96.0.7", "_PORT_8080_TCP_PORT=8080", "_PORT_8080_TCP_PROTO=tcp",
			"_PORT_53_UDP=udp://[fd00::7]:53", "_PORT_53_UDP_ADDR=fd00::7", "_PORT_53_UDP_PORT=53", "_PORT_53_UDP_PROTO=udp"} {
			links = append(links, service+link)
		}
	}
	if got := load(t, configs.Sources{Environ: links}).Warnings(); len(got) != 0 {
		t.Errorf("warnings %q", got)
	}
	for _, mistake := range []string{"WAYBILL_PORT=8080", "WAYBILL_LIVE_PORT=8080", "WAYBILL_SERVICE=x", "WAYBILL_REPORT=tcp://x"} {
		if got := load(t, configs.Sources{Environ: []string{mistake}}).Warnings(); len(got) != 1 {
			t.Errorf("%s: warnings %q, want one", mistake, got)
		}
	}
}

func TestARateIsRequestsInWholeSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]configs.Rate{
		"600/60s": {Limit: 600, Window: time.Minute}, "1/1s": {Limit: 1, Window: time.Second}, "5/1m30s": {Limit: 5, Window: 90 * time.Second},
	} {
		if got, err := configs.ParseRate(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "600", "600/", "/60s", "0/60s", "-1/60s", "600/60", "600/1500ms", "600/0s", "600/25h", "1e3/1s",
		"2000000/1s"} {
		if got, err := configs.ParseRate(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestReplicasAreServersOfOneAddressEach(t *testing.T) {
	t.Parallel()
	load := func(value string) (*configs.Config, error) {
		return configs.Load(configs.Sources{Environ: []string{"WAYBILL_DATABASE_REPLICA_URLS=" + value}})
	}
	const one, other = "postgres://u:hunter22@one:5432/w", "postgresql://other/w"
	if c, err := load(one + ", " + other); err != nil || !slices.Equal(c.DatabaseReplicaURLs, []configs.URL{one, other}) {
		t.Errorf("%v, %v", c, err)
	}
	for _, value := range []string{"postgres://one,two/w", one + ",", "sqlite:///w.db", "redis://u:hunter22@one"} {
		_, err := load(value)
		if err == nil || !strings.Contains(err.Error(), "no address of a Postgres") || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// A password that nobody encoded ends early, and what is behind that shows as a host, a path or a query.
func TestAPasswordThatIsNotEncodedIsRefusedWithTheCureAndNeverShown(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"p@hunter22/Zr9w", "p@hunter22?Zr9w", "p@hunter22#Zr9w", "123/hunter22Zr9w", "hunter22/Zr9w", "hunter22?Zr9w",
		"hunter22%Zr9w", "hunter22 Zr9w", "hunter22[Zr9w", "p?a=hunter22Zr9w"} {
		for _, variable := range []string{"WAYBILL_DATABASE_URL=postgres", "WAYBILL_DATABASE_URL=postgresql", "WAYBILL_REDIS_URL=redis",
			"WAYBILL_REDIS_URL=rediss", "WAYBILL_SMTP_URL=smtp", "WAYBILL_SMTP_URL=smtps", "WAYBILL_DATABASE_REPLICA_URLS=postgres"} {
			environ := variable + "://waybill:" + password + "@127.0.0.1:9130/none"
			found := problems(t, configs.Sources{Environ: []string{environ, "WAYBILL_MAIL_FROM=no-reply@example.com"}})
			if len(found) != 1 || !strings.Contains(found[0].Fix, "%40") || strings.Contains(fmt.Sprintf("%+v", found), "Zr9w") ||
				strings.Contains(fmt.Sprintf("%+v", found), "hunter22") {
				t.Errorf("%s: %+v", environ, found)
			}
			_, address, _ := strings.Cut(environ, "=")
			if got, scheme := configs.URL(address).String(), address[:strings.Index(address, ":")]; got != scheme+"://waybill:xxxxx@127.0.0.1:9130/none" {
				t.Errorf("%s shows as %s", address, got)
			}
		}
	}
	// Postgres clients end the password at the first @; the others go by the last one.
	for _, variable := range []string{"WAYBILL_DATABASE_URL=postgres", "WAYBILL_DATABASE_URL=postgresql", "WAYBILL_DATABASE_REPLICA_URLS=postgres"} {
		found := problems(t, configs.Sources{Environ: []string{variable + "://waybill:p@hunter22@127.0.0.1:9130/none"}})
		if len(found) != 1 || !strings.Contains(found[0].Fix, "%40") || strings.Contains(fmt.Sprintf("%+v", found), "hunter22") {
			t.Errorf("%s: %+v", variable, found)
		}
	}
	for address, want := range map[string]string{
		"postgres://waybill:p%40ss%2F@h1:5432,h2:5432/w?sslmode=require": "postgres://waybill:xxxxx@h1:5432,h2:5432/w?sslmode=require",
		"postgres://waybill@h/w":                                  "postgres://waybill@h/w",
		"postgres://h/w?user=u&password=hunter22&sslmode=require": "postgres://h/w?user=u&password=xxxxx&sslmode=require",
		"sqlite:///data/of@me#1.db":                               "sqlite:///data/of@me#1.db",
	} {
		c := load(t, configs.Sources{Environ: []string{"WAYBILL_DATABASE_URL=" + address}})
		if got := c.DatabaseURL.String(); got != want {
			t.Errorf("%s shows as %s, want %s", address, got, want)
		}
	}
	for _, scheme := range []string{"redis", "rediss", "unix"} { // the colon before the password is easily forgotten
		c := load(t, configs.Sources{Environ: []string{"WAYBILL_REDIS_URL=" + scheme + "://hunter22@cache:6379/0"}})
		if got, want := c.RedisURL.String(), scheme+"://xxxxx@cache:6379/0"; got != want {
			t.Errorf("a password alone shows as %s, want %s", got, want)
		}
	}
	for _, address := range []string{"smtp://orders@example.com:hunter22@mail:587", "smtp://orders%40example.com:p%2Fw@mail:587"} {
		c := load(t, configs.Sources{Environ: []string{"WAYBILL_SMTP_URL=" + address, "WAYBILL_MAIL_FROM=no-reply@example.com"}})
		if got := c.SMTPURL.String(); strings.Contains(got, "hunter22") || !strings.HasSuffix(got, ":xxxxx@mail:587") {
			t.Errorf("%s shows as %s", address, got)
		}
	}
}

func TestAValueInTheQueryOfAnAddressMayHaveAnAt(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"postgres://u:p@h/d?application_name=waybill@web1", "postgres://h/d?user=me@server&password=hunter22",
		"postgres://u:p@h/d?sslmode=verify-full&sslrootcert=/etc/ssl/me@ca.pem", "postgres:///d?host=@abstract&user=u"} {
		c := load(t, configs.Sources{Environ: []string{"WAYBILL_DATABASE_URL=" + address}})
		if got := c.DatabaseURL.Reveal(); got != address || strings.Contains(c.DatabaseURL.String(), "hunter22") {
			t.Errorf("%s is %s, and shows as %s", address, got, c.DatabaseURL)
		}
	}
	for _, address := range []string{"postgres:///d?user=u&password=hunter@22", "postgres://u:p@x?a=hunter22@h/d"} {
		problems(t, configs.Sources{Environ: []string{"WAYBILL_DATABASE_URL=" + address}})
	}
}

func TestAPipeWithTheAddressOfTheDatabaseIsReadOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip("no pipes here:", err)
	}
	const address = "postgres://u:p@h/d"
	go func() { _ = os.WriteFile(path, []byte(address), 0o600) }()
	c := load(t, configs.Sources{Environ: []string{"WAYBILL_DATABASE_URL_FILE=" + path}})
	again := make(chan string, 1)
	go func() { again <- c.CurrentDatabaseURL() }()
	select {
	case got := <-again:
		if got != address {
			t.Errorf("it is %s", got)
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits for another writer")
	}
}

func TestTheAddressOfTheDatabaseIsReadAgainFromItsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "url")
	const before, after = "postgres://u:before@h/d", "postgres://u:after@h/d"
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(before + "\n")
	c := load(t, configs.Sources{Environ: []string{"WAYBILL_DATABASE_URL_FILE=" + path}})
	for text, want := range map[string]string{after + "\n": after, "": before, "postgres://u:p/w@h/d": before} {
		write(text)
		if got := c.CurrentDatabaseURL(); got != want {
			t.Errorf("with %q in the file: %s", text, got)
		}
	}
	if got := load(t, configs.Sources{Environ: []string{"WAYBILL_DATABASE_URL=" + before}}).CurrentDatabaseURL(); got != before {
		t.Errorf("without a file: %s", got)
	}
}

func TestANetworkOfNearlyEverybodyIsNoTrustedProxy(t *testing.T) {
	t.Parallel()
	for value, refused := range map[string]bool{
		"0.0.0.0/0": true, "::/0": true, "10.0.0.0/8,0.0.0.0/0": true, "0.0.0.0/1,128.0.0.0/1": true,
		"::ffff:0.0.0.0/96": true, "::ffff:0.0.0.0/0": true, "2000::/3": true,
		"10.0.0.0/8": false, "fc00::/7": false, "192.0.2.7": false, "2001:db8::1": false, "::ffff:10.0.0.0/104": false,
	} {
		_, err := configs.Load(configs.Sources{Environ: []string{"WAYBILL_TRUSTED_PROXIES=" + value}})
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "trusts nearly every address there is") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

package packaging

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// compose is what the tests look at of a compose file.
type compose struct {
	Services map[string]service `yaml:"services"`
	Volumes  map[string]any     `yaml:"volumes"`
	Configs  map[string]struct{ Content string }
	Secrets  map[string]struct{ Environment string }
}

type service struct {
	Image       string
	Command     []string
	Environment map[string]string
	Profiles    []string
	Ports       []string
	Volumes     []string
	Secrets     []string
	Configs     []struct{ Source, Target string }
	Build       struct{ Context, Dockerfile string }
	Healthcheck *struct {
		Disable bool
		Test    []string
	}
	DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
	Grace     string                                `yaml:"stop_grace_period"`
}

var variable = regexp.MustCompile(`\$\{([A-Z_]+)(?::([-?])([^}]*))?\}`)

// interpolate puts variables in as Compose does; an error is its refusal.
func interpolate(text string, variables map[string]string) (out string, err error) {
	out = variable.ReplaceAllStringFunc(text, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		value := variables[parts[1]]
		switch {
		case value != "":
		case parts[2] == "-":
			value = parts[3]
		case parts[2] == "?":
			err = fmt.Errorf("%s: %s", parts[1], parts[3])
		}
		return value
	})
	return out, err
}

// required are the variables that must be drawn before anything starts.
var required = map[string]string{
	"WAYBILL_POSTGRES_PASSWORD": strings.Repeat("a1", 24), "WAYBILL_KEY_PEPPER": strings.Repeat("b2", 32), "WAYBILL_SECRET_KEY": strings.Repeat("c3", 32),
}

func loadCompose(t *testing.T) compose {
	t.Helper()
	text, err := interpolate(read(t, "compose.yaml"), required)
	if err != nil {
		t.Fatal(err)
	}
	var c compose
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// ours are the services that run the program.
func (c compose) ours() map[string]service {
	found := maps.Clone(c.Services)
	maps.DeleteFunc(found, func(_ string, s service) bool { return s.Build.Dockerfile == "" })
	return found
}

func TestComposeStartsNothingWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	text := read(t, "compose.yaml")
	for name := range required {
		without := maps.Clone(required)
		delete(without, name)
		if _, err := interpolate(text, without); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s Compose says %v", name, err)
		}
	}
	// What is secret comes from outside, whole.
	for name, s := range loadComposeRaw(t).Services {
		for key, value := range s.Environment {
			isPath := strings.HasSuffix(key, "_FILE") && strings.HasPrefix(value, "/run/secrets/")
			if regexp.MustCompile(`PASSWORD|SECRET|PEPPER|_KEY|DATABASE_URL`).MatchString(key) && !isPath {
				t.Errorf("%s: %s is %q; a secret comes as a file", name, key, value)
			}
		}
	}
}

// loadComposeRaw has no variables put in.
func loadComposeRaw(t *testing.T) (c compose) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComposeRunsCommandsWithSettingsThatThereAre(t *testing.T) {
	t.Parallel()
	c := loadCompose(t)
	var roles []string
	for name, s := range c.ours() {
		roles = append(roles, strings.Join(commandWords(s.Command), " "))
		if problem := isCommand(t, s.Command...); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
		if _, err := os.Stat(filepath.Join(root, "configs", s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.Grace != "35s" {
			t.Errorf("%s: stop_grace_period is %q; a process takes up to 30 s to end", name, s.Grace)
		}
		variables := c.inside(t, s)
		odd, settings := accepted(t, variables)
		if len(odd) > 0 {
			t.Errorf("%s: %q", name, odd)
		}
		if name == "pricing" {
			continue
		}
		for setting, want := range map[string]string{
			"database_url": "postgres://waybill:xxxxx@postgres:5432/waybill?sslmode=disable", "key_pepper": "[redacted]", "secret_key": "[redacted]",
			"redis_url": "redis://redis:6379/0",
		} {
			if settings[setting] != want {
				t.Errorf("%s: %s is %q, want %q", name, setting, settings[setting], want)
			}
		}
	}
	slices.Sort(roles)
	if want := []string{"migrate up", "pricing serve", "serve", "worker"}; !slices.Equal(roles, want) {
		t.Errorf("it runs %q, want %q", roles, want)
	}
	if !slices.Equal(c.Services["pricing"].Profiles, []string{"pricing"}) {
		t.Errorf("pricing is in the profiles %q", c.Services["pricing"].Profiles)
	}
}

// inside is the environment of a service, its files in a folder of the test.
func (c compose) inside(t *testing.T, s service) map[string]string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{}
	for _, name := range s.Secrets {
		secret, ok := c.Secrets[name]
		if !ok || required[secret.Environment] == "" {
			t.Errorf("the secret %s is not declared, or not required", name)
		}
		files["/run/secrets/"+name] = required[secret.Environment]
	}
	for _, config := range s.Configs {
		files[config.Target] = c.Configs[config.Source].Content
	}
	variables := map[string]string{}
	for name, value := range s.Environment {
		if content, ok := files[value]; ok {
			value = filepath.Join(dir, filepath.Base(value))
			if err := os.WriteFile(value, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if strings.HasSuffix(name, "_FILE") {
			t.Errorf("%s names %s, which nothing puts there", name, value)
		}
		variables[name] = value
	}
	return variables
}

func TestComposeKeepsToThisMachineAndInOrder(t *testing.T) {
	t.Parallel()
	c := loadCompose(t)
	published := map[string]bool{}
	for name, s := range c.Services {
		for _, port := range s.Ports {
			parts := strings.Split(port, ":")
			if len(parts) != 3 || parts[0] != "127.0.0.1" {
				t.Errorf("%s publishes %s beyond this machine", name, port)
			} else if name == "api" {
				published[parts[2]] = true
			}
		}
		for other, on := range s.DependsOn {
			waited, ok := c.Services[other]
			switch {
			case !ok:
				t.Errorf("%s waits for %s, which is not there", name, other)
			case on.Condition == "service_healthy" && (waited.Healthcheck == nil || waited.Healthcheck.Disable):
				t.Errorf("%s waits for %s to be healthy, which is never checked", name, other)
			case on.Condition == "service_completed_successfully" && other != "migrate":
				t.Errorf("%s waits for %s to end, which it never does", name, other)
			}
		}
		for _, volume := range s.Volumes {
			if source, _, _ := strings.Cut(volume, ":"); !has(c.Volumes, source) {
				t.Errorf("%s: volume %s is not declared", name, source)
			}
		}
	}
	for _, name := range []string{"api", "worker"} {
		on := c.Services[name].DependsOn
		if on["migrate"].Condition != "service_completed_successfully" || on["postgres"].Condition != "service_healthy" {
			t.Errorf("%s does not wait for the migration and the database: %v", name, on)
		}
	}
	if on := c.Services["migrate"].DependsOn["postgres"].Condition; on != "service_healthy" {
		t.Errorf("migrate waits for Postgres to be %q", on)
	}
	for _, port := range defaultPorts(t) {
		if !published[port] {
			t.Errorf("the port %s of the api is not published", port)
		}
	}
	redis := strings.Join(c.Services["redis"].Command, " ")
	for _, option := range []string{"--maxmemory-policy noeviction", "--appendonly yes"} {
		if !strings.Contains(redis, option) {
			t.Errorf("Redis runs without %s: %s", option, redis)
		}
	}
	var major int
	if _, err := fmt.Sscanf(c.Services["postgres"].Image, "postgres:%d", &major); err != nil || major < 15 {
		t.Errorf("Postgres is %s, want 15 or newer", c.Services["postgres"].Image)
	}
	if !strings.HasPrefix(c.Services["redis"].Image, "redis:7") {
		t.Errorf("Redis is %s, want 7", c.Services["redis"].Image)
	}
}

func has(m map[string]any, key string) bool {
	_, ok := m[key]
	return ok
}

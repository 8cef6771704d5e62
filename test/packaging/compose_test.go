package packaging

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// compose is what the tests look at of a compose file.
type compose struct {
	Services map[string]service `yaml:"services"`
	Volumes  map[string]any     `yaml:"volumes"`
	Configs  map[string]any
	Secrets  map[string]struct{ File, Environment string }
}

type service struct {
	Image       string
	Command     []string
	Environment map[string]string
	Profiles    []string
	Ports       []string
	Volumes     []string
	Secrets     []string
	User        string
	ReadOnly    bool `yaml:"read_only"`
	Tmpfs       []string
	CapDrop     []string `yaml:"cap_drop"`
	CapAdd      []string `yaml:"cap_add"`
	Security    []string `yaml:"security_opt"`
	Memory      string   `yaml:"mem_limit"`
	Processes   int      `yaml:"pids_limit"`
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

// drawn are the secrets that have to be made before anything starts.
var drawn = []string{"database_url", "key_pepper", "key_pepper_previous", "postgres_password", "secret_key", "secret_key_previous"}

func loadCompose(t *testing.T) compose {
	t.Helper()
	text, err := interpolate(read(t, "compose.yaml"), nil)
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

func TestComposeTakesItsSecretsFromFiles(t *testing.T) {
	t.Parallel()
	c := loadCompose(t)
	if names := slices.Sorted(maps.Keys(c.Secrets)); !slices.Equal(names, drawn) {
		t.Errorf("the secrets are %q, want %q", names, drawn)
	}
	// A file that is not there lets nothing start. What comes from a variable, or
	// as a config, Compose does not put into a container that is read-only.
	for name, s := range c.Secrets {
		if s.File != "./secrets/"+name || s.Environment != "" {
			t.Errorf("%s is %+v", name, s)
		}
	}
	if len(c.Configs) > 0 {
		t.Errorf("configs: %v", c.Configs)
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
	for file, want := range map[string]string{"../.gitignore": "/configs/secrets/", "Dockerfile.dockerignore": "/configs/secrets"} {
		if !slices.Contains(strings.Split(read(t, file), "\n"), want) {
			t.Errorf("%s does not name %s", file, want)
		}
	}
}

// openssl stands in for the program, which need not be here.
const openssl = "openssl() { od -An -v -tx1 -N\"$3\" /dev/urandom | tr -d ' \\n'; echo; }\n"

// draw follows the lines at the top of the file that make the secrets, and
// returns their folder.
func draw(t *testing.T) string {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, "compose.yaml"), "#   install -d")
	lines, _, found := strings.Cut("#   install -d"+rest, "#   docker compose")
	if !found {
		t.Fatal("the lines that make the secrets are not found")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "configs"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", openssl+strings.ReplaceAll(lines, "#   ", ""))
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return filepath.Join(dir, "configs", "secrets")
}

func TestTheLinesAtItsTopMakeTheSecretsOfCompose(t *testing.T) {
	t.Parallel()
	dir := draw(t)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v; want a folder that is closed to others", info, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Name())
		// Users in the containers read them, and own nothing here.
		if info, err := file.Info(); err != nil || info.Mode().Perm() != 0o444 {
			t.Errorf("%s has mode %v", file.Name(), info.Mode())
		}
	}
	if !slices.Equal(names, drawn) {
		t.Errorf("made %q, want %q", names, drawn)
	}
}

// changeSecret follows the lines of a file in configs that change a secret, in the
// folder where it lies. At each restart it notes the secret and the previous one.
func changeSecret(t *testing.T, file, folder, restart, secret, dir string) (noted [][2]string) {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, file), "#   cd "+folder+"\n")
	lines, _, found := strings.Cut(rest, "#\n")
	if !found {
		t.Fatalf("%s: the lines that change a secret are not found", file)
	}
	lines = strings.ReplaceAll(strings.ReplaceAll(lines, "#   ", ""), "key_pepper", secret)
	notes := t.TempDir()
	note := restart + `() { n=$((n + 1)); cp -p ` + secret + ` ` + notes + `/$n; cp -p ` + secret + `_previous ` + notes + `/$n.previous; }` +
		"\n"
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", "n=0\n"+openssl+note+lines)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", file, err, output)
	}
	for n := 1; ; n++ {
		current, err := os.ReadFile(filepath.Join(notes, strconv.Itoa(n)))
		if errors.Is(err, os.ErrNotExist) {
			return noted
		}
		previous, err2 := os.ReadFile(filepath.Join(notes, strconv.Itoa(n)+".previous"))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		noted = append(noted, [2]string{string(current), string(previous)})
	}
}

func TestTheLinesAtItsTopChangeASecretWithoutAGap(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"key_pepper", "secret_key"} {
		for _, c := range []struct {
			file, folder, restart string
			mode                  os.FileMode
		}{
			{"compose.yaml", "configs/secrets", "docker", 0o444},
			{"systemd/waybill-serve.service", "/etc/waybill/secrets", "systemctl", 0o600},
		} {
			dir := draw(t)
			former, err := os.ReadFile(filepath.Join(dir, secret))
			if err != nil {
				t.Fatal(err)
			}
			noted := changeSecret(t, c.file, c.folder, c.restart, secret, dir)
			if len(noted) != 3 || len(noted[2][0]) != len(former) || noted[2][0] == string(former) {
				t.Fatalf("%s: %s became %q", c.file, secret, noted)
			}
			changed := noted[2][0]
			if want := [][2]string{{string(former), changed}, {changed, string(former)}, {changed, ""}}; !slices.Equal(noted, want) {
				t.Errorf("%s: processes start with %q, want %q", c.file, noted, want)
			}
			if info, err := os.Stat(filepath.Join(dir, secret+"_previous")); err != nil || info.Mode().Perm() != c.mode {
				t.Errorf("%s: %v, %v; want mode %v", c.file, info, err, c.mode)
			}
			if _, err := os.Stat(filepath.Join(dir, "former")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s leaves a file behind: %v", c.file, err)
			}
		}
	}
}

// judged are the settings of a container that the tests here look at, or that open
// nothing. Another one, such as privileged or network_mode, has to be judged first.
var judged = []string{
	"build", "cap_drop", "command", "depends_on", "environment", "healthcheck", "image", "init", "mem_limit", "pids_limit",
	"ports", "profiles", "read_only", "restart", "secrets", "security_opt", "shm_size", "stop_grace_period", "tmpfs", "user", "volumes",
}

func TestNoContainerOfComposeIsMoreThanItNeedsToBe(t *testing.T) {
	t.Parallel()
	c := loadCompose(t)
	var whole struct{ Services map[string]map[string]any }
	if err := yaml.Unmarshal([]byte(read(t, "compose.yaml")), &whole); err != nil {
		t.Fatal(err)
	}
	for name, s := range whole.Services {
		for setting := range s {
			if !slices.Contains(judged, setting) {
				t.Errorf("%s has %s, of which no test knows what it opens", name, setting)
			}
		}
	}
	for name, s := range c.Services {
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 ||
			!slices.Contains(s.Security, "no-new-privileges:true") {
			t.Errorf("%s may do more than it needs: %+v", name, s)
		}
		if s.Memory == "" || s.Processes == 0 {
			t.Errorf("%s has no bounds: memory %q, processes %d", name, s.Memory, s.Processes)
		}
		if _, ours := c.ours()[name]; ours {
			continue // the image names its user
		}
		if !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(s.User) {
			t.Errorf("%s runs as %q", name, s.User)
		}
		if !digest.MatchString(s.Image) {
			t.Errorf("%s is %s, which is another image tomorrow", name, s.Image)
		}
	}
}

// digest is the end of an image's name that tells what is in it.
var digest = regexp.MustCompile(`^[^@]+:[^@]+@sha256:[0-9a-f]{64}$`)

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
		if s.Grace != "50s" {
			t.Errorf("%s: stop_grace_period is %q; a process takes up to 30 s to end, and 15 of delay before", name, s.Grace)
		}
		for _, secret := range s.Secrets {
			if setting := "WAYBILL_" + strings.ToUpper(secret) + "_FILE"; s.Environment[setting] != "/run/secrets/"+secret {
				t.Errorf("%s: %s is %q", name, setting, s.Environment[setting])
			}
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
	files := map[string]string{}
	if len(s.Secrets) > 0 {
		dir := draw(t)
		for _, name := range s.Secrets {
			if _, ok := c.Secrets[name]; !ok {
				t.Errorf("the secret %s is not declared", name)
			}
			files["/run/secrets/"+name] = filepath.Join(dir, name)
		}
	}
	variables := map[string]string{}
	for name, value := range s.Environment {
		if name == "GOMEMLIMIT" {
			continue // of Go
		}
		if file, ok := files[value]; ok {
			value = file
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
	ports := defaultPorts(t)
	for name, s := range c.Services {
		for _, port := range s.Ports {
			parts := strings.Split(port, ":")
			if len(parts) != 3 || parts[0] != "127.0.0.1" {
				t.Errorf("%s publishes %s beyond this machine", name, port)
			} else if name == "api" {
				published[parts[2]] = true
			}
			if _, ours := c.ours()[name]; ours && parts[len(parts)-1] == ports[2] {
				t.Errorf("%s publishes %s: who reaches this machine reaches its operations listener", name, port)
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
	for _, port := range ports[:2] {
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

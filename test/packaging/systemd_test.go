package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// hardening is what every unit has to say.
var hardening = map[string]string{
	"DynamicUser": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "NoNewPrivileges": "yes", "PrivateTmp": "yes",
	"CapabilityBoundingSet": "", "Restart": "always", "KillSignal": "SIGTERM", "MemoryDenyWriteExecute": "yes",
	"RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
}

// unit is a unit by section and name; what is given more than once keeps all.
func unit(t *testing.T, text string) map[string]map[string][]string {
	t.Helper()
	sections := map[string]map[string][]string{}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
			if !slices.Contains([]string{"Unit", "Service", "Install"}, section) {
				t.Errorf("section %s is not of a service", line)
			}
			sections[section] = map[string][]string{}
		default:
			name, value, ok := strings.Cut(line, "=")
			if !ok || section == "" || strings.HasSuffix(line, `\`) {
				t.Errorf("line %q is not name=value below a section", line)
			}
			sections[section][name] = append(sections[section][name], value)
		}
	}
	return sections
}

func TestUnitsOfSystemdRunTheProgramWithFewRights(t *testing.T) {
	t.Parallel()
	listens := map[string]string{}
	for name, secrets := range map[string][]string{
		"waybill-serve":  {"database_url", "key_pepper", "key_pepper_previous", "secret_key", "secret_key_previous"},
		"waybill-worker": {"database_url", "secret_key", "secret_key_previous"},
	} {
		text := read(t, "systemd/"+name+".service")
		sections := unit(t, text)
		service := sections["Service"]
		if got := sections["Unit"]["StartLimitIntervalSec"]; len(got) != 1 || got[0] != "0" {
			t.Errorf("%s: StartLimitIntervalSec=%q: systemd gives up after some failed starts", name, got)
		}
		for key, want := range hardening {
			if got := service[key]; len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s=%q, want %q", name, key, got, want)
			}
		}
		if stop, err := time.ParseDuration(service["TimeoutStopSec"][0] + "s"); err != nil || stop < 35*time.Second {
			t.Errorf("%s: TimeoutStopSec=%s; a process takes up to 30 s to end", name, service["TimeoutStopSec"])
		}
		command := strings.Fields(service["ExecStart"][0])
		if problem := isCommand(t, command[1:]...); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
		listens[strings.Join(command[2:], " ")] = name

		credentials := t.TempDir()
		var loaded []string
		for _, line := range service["LoadCredential"] {
			id, _, _ := strings.Cut(line, ":")
			loaded = append(loaded, id)
			content := strings.Repeat(id[:1]+"1", 32)
			if id == "database_url" {
				content = "postgres://user:password@localhost/waybill"
			}
			if err := os.WriteFile(filepath.Join(credentials, id), []byte(content+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(loaded, secrets) {
			t.Errorf("%s loads %q, want %q", name, loaded, secrets)
		}
		variables := map[string]string{}
		for _, line := range service["Environment"] {
			key, value, _ := strings.Cut(line, "=")
			variables[key] = strings.ReplaceAll(value, "%d", credentials)
		}
		odd, settings := accepted(t, variables)
		if len(odd) > 0 {
			t.Errorf("%s: %q", name, odd)
		}
		for _, secret := range secrets {
			if settings[secret] == "" {
				t.Errorf("%s: %s does not reach the program: %v", name, secret, settings)
			}
		}
		for _, secret := range secrets { // as they are installed
			if strings.HasSuffix(secret, "_previous") {
				if err := os.WriteFile(filepath.Join(credentials, secret), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if odd, _ := accepted(t, variables); len(odd) > 0 {
			t.Errorf("%s with empty lists: %q", name, odd)
		}
		verify(t, name, text)
	}
	if len(listens) != 2 {
		t.Errorf("both listen on the same operations address: %v", listens)
	}
}

// verify has systemd read the unit, on machines that have it.
func verify(t *testing.T, name, text string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed: the unit was read by this test alone")
		return
	}
	file := filepath.Join(t.TempDir(), name+".service")
	// The program is not installed here.
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "/usr/local/bin/waybill", binary)), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, name) {
			t.Errorf("systemd-analyze: %s", line)
		}
	}
	if err != nil {
		t.Errorf("systemd-analyze: %v %s", err, out)
	}
}

package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// m is a JSON object.
type m = map[string]any

// tryCommand runs an administration command on a server's data.
func (s *server) tryCommand(args ...string) (stdout, stderr []byte, err error) {
	var out, complaint bytes.Buffer
	cmd := exec.Command(binary, append(slices.Clone(args), "--data-dir", s.dir, "--json")...)
	cmd.Env = environment(s.env...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	return out.Bytes(), complaint.Bytes(), err
}

// command runs an administration command that must succeed.
func (s *server) command(t testing.TB, args ...string) m {
	t.Helper()
	out, complaint, err := s.tryCommand(args...)
	if err != nil {
		t.Fatalf("waybill %s: %v\n%s", strings.Join(args, " "), err, complaint)
	}
	var answer m
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("waybill %s: stdout is not one JSON object: %v\n%s", strings.Join(args, " "), err, out)
	}
	return answer
}

// newBusiness makes a customer that no test will ever reach the limits of.
func (s *server) newBusiness(t testing.TB) string {
	t.Helper()
	return s.command(t, "business", "create", "--name", "Adom Foods", "--rate-limit", "1000000/60s")["id"].(string)
}

// newApp makes an application of a business.
func (s *server) newApp(t testing.TB, business string) string {
	t.Helper()
	return s.command(t, "app", "create", "--business", business, "--name", "Shop")["id"].(string)
}

// key is an API key and what is known of it.
type key struct {
	id, secret, env string
}

// newKey makes a key; more are further flags.
func (s *server) newKey(t testing.TB, app, env, scopes string, more ...string) key {
	t.Helper()
	made := s.command(t, append([]string{"key", "create", "--app", app, "--env", env, "--scopes", scopes}, more...)...)
	secret := made["key"].(string)
	s.hide(secret)
	return key{id: made["id"].(string), secret: secret, env: env}
}

// advance moves a delivery as the platform.
func (s *server) advance(t testing.TB, delivery, status string, more ...string) m {
	t.Helper()
	return s.command(t, append([]string{"delivery", "advance", delivery, status}, more...)...)
}

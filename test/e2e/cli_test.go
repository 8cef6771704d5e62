package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"waybill/test/program"
)

// m is a JSON object.
type m = map[string]any

// tryCommand runs an administration command on a server's data.
func (s *server) tryCommand(args ...string) (stdout, stderr []byte, err error) {
	var out, complaint bytes.Buffer
	cmd := exec.Command(binary, append(slices.Clone(args), "--data-dir", s.dir, "--json")...)
	cmd.Env = program.Environment(s.env...)
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

// admin calls the operations API as the demo operator of dev, or as one that a command
// makes. A call costs less than a process of its own.
func (s *server) admin(t testing.TB) *operator {
	t.Helper()
	s.tokenOnce.Do(func() {
		if s.token = s.Vars["WAYBILL_OPS_TOKEN"]; s.token == "" {
			s.token = s.command(t, "operator", "create", "--name", "Tests")["token"].(string)
		}
	})
	return s.operatorWith(t, s.token)
}

// newBusiness makes a customer that no test will ever reach the limits of.
func (s *server) newBusiness(t testing.TB) string {
	t.Helper()
	return s.newLimitedBusiness(t, 1_000_000, 60)
}

func (s *server) newLimitedBusiness(t testing.TB, limit, seconds int) string {
	t.Helper()
	return s.admin(t).post("/businesses", m{"name": "Adom Foods", "rate_limit": m{"limit": limit, "window_seconds": seconds}}).is(201).id()
}

// newApp makes an application of a business.
func (s *server) newApp(t testing.TB, business string) string {
	t.Helper()
	return s.admin(t).post("/businesses/"+business+"/applications", m{"name": "Shop"}).is(201).id()
}

// key is an API key and what is known of it.
type key struct {
	id, secret, env string
}

// newKey makes a key of these scopes; they are separated by commas. It may expire after a
// time, such as 2h.
func (s *server) newKey(t testing.TB, app, env, scopes string, expiresIn ...string) key {
	t.Helper()
	body := m{"environment": env, "scopes": strings.Split(scopes, ",")}
	if len(expiresIn) > 0 {
		body["expires_in"] = expiresIn[0]
	}
	made := s.admin(t).post("/applications/"+app+"/keys", body).is(201)
	s.hide(made.text("data.key"))
	return key{id: made.id(), secret: made.text("data.key"), env: env}
}

// advance moves a delivery as the platform.
func (s *server) advance(t testing.TB, delivery, status string) {
	t.Helper()
	s.admin(t).post("/deliveries/"+delivery+"/advance", m{"status": status}).is(200)
}

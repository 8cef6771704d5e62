package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"waybill/test/program"
)

// server is one running `waybill serve`, or `waybill worker`.
type server struct {
	*program.Process
	address string // of the live API; a worker has none
	sandbox string // address of the other one
	ops     string // URL of the operators' listener
	customers
}

// settings are those of every command on the database.
func settings(database string) []string {
	return append([]string{
		"WAYBILL_DATABASE_URL=" + database,
		"WAYBILL_KEY_PEPPER=" + strings.Repeat("5a", 32), "WAYBILL_SECRET_KEY=" + strings.Repeat("a5", 32),
		"WAYBILL_RATE_LIMIT_PER_KEY=1000000/1s", "WAYBILL_RATE_LIMIT_PER_BUSINESS=1000000/1s",
		"WAYBILL_LOG_LEVEL=warn", "WAYBILL_LOG_FORMAT=json", "WAYBILL_PPROF=on",
	}, program.FreePorts...)
}

// command runs a subcommand; into, where not nil, gets the JSON it prints.
func command(ctx context.Context, binary, database string, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = program.Environment(settings(database)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("waybill %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(out, into)
}

// customers are applications of one business, each with a key.
type customers struct {
	business     string   // as the database writes it
	applications []string // likewise
	keys         []string
}

// enroll makes one business with several applications: of one only so many
// requests may be under way.
func enroll(ctx context.Context, binary, database string, applications int) (c customers, err error) {
	var business, app, key struct{ ID, Key string }
	if err := command(ctx, binary, database, &business, "business", "create", "--name", "Bench", "--json"); err != nil {
		return c, err
	}
	c.business = strings.TrimPrefix(business.ID, "biz_")
	for range applications {
		if err := command(ctx, binary, database, &app, "app", "create", "--business", business.ID, "--name", "Bench", "--json"); err != nil {
			return c, err
		}
		if err := command(ctx, binary, database, &key, "key", "create", "--app", app.ID, "--env", "live", "--scopes", "all",
			"--json"); err != nil {
			return c, err
		}
		c.applications, c.keys = append(c.applications, strings.TrimPrefix(app.ID, "app_")), append(c.keys, key.Key)
	}
	return c, nil
}

// perApplication is how many connections share an application, well below the
// number of its requests that may be under way.
const perApplication = 16

// serve starts a server for customers that there are.
func serve(binary, dir string, c customers, settings []string) (*server, error) {
	s, err := launch(binary, dir, "serve", settings)
	if s != nil {
		s.customers = c
	}
	return s, err
}

// launch starts a process of the program, with a folder of its own, and returns once it is ready.
func launch(binary, dir, name string, settings []string) (*server, error) {
	dir, err := os.MkdirTemp(dir, name+"-")
	if err != nil {
		return nil, err
	}
	p, err := program.Start(binary, dir, settings, name)
	if err != nil {
		return nil, err
	}
	if err := p.Await(); err != nil {
		return nil, errors.Join(fmt.Errorf("waybill %s: %w", name, err), p.Stop())
	}
	host := func(name string) string {
		return strings.TrimSuffix(strings.TrimPrefix(p.Vars[name], "http://"), "/v1")
	}
	return &server{Process: p, address: host("WAYBILL_LIVE_URL"), sandbox: host("WAYBILL_SANDBOX_URL"), ops: p.Vars["WAYBILL_OPS_URL"]}, nil
}

// cpu is the processor time of its process; none has 0.
func (s *server) cpu() time.Duration {
	if s == nil {
		return 0
	}
	return cpuOf(s.PID())
}

// stop ends the server as an operator would; none is no error.
func (s *server) stop() error {
	if s == nil {
		return nil
	}
	return s.Stop()
}

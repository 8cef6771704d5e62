package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const startPatience = 30 * time.Second

// server is one running `waybill serve`, or `waybill worker`.
type server struct {
	cmd     *exec.Cmd
	address string // of the live API; a worker has none
	sandbox string // address of the other one
	ops     string // URL of the operators' listener
	customers
	exited chan struct{}
	err    error // of the exit, once exited is closed
	logs   string
}

// settings are those of every command on the database.
func settings(database string) []string {
	kept := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WAYBILL_") })
	return append(kept,
		"WAYBILL_DATABASE_URL="+database,
		"WAYBILL_KEY_PEPPER="+strings.Repeat("5a", 32), "WAYBILL_SECRET_KEY="+strings.Repeat("a5", 32),
		"WAYBILL_RATE_LIMIT_PER_KEY=1000000/1s", "WAYBILL_RATE_LIMIT_PER_BUSINESS=1000000/1s",
		"WAYBILL_LIVE_ADDR=127.0.0.1:0", "WAYBILL_SANDBOX_ADDR=127.0.0.1:0", "WAYBILL_OPS_ADDR=127.0.0.1:0", "WAYBILL_PORTAL_ADDR=127.0.0.1:0",
		"WAYBILL_LOG_LEVEL=warn", "WAYBILL_LOG_FORMAT=json", "WAYBILL_PPROF=on",
	)
}

// command runs a subcommand; into, where not nil, gets the JSON it prints.
func command(ctx context.Context, binary, database string, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = settings(database)
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
func serve(ctx context.Context, binary, dir string, c customers, env []string) (*server, error) {
	s, err := launch(ctx, binary, dir, "serve", env)
	if s != nil {
		s.customers = c
	}
	return s, err
}

// launch starts a process of the program and returns once it is ready.
func launch(ctx context.Context, binary, dir, name string, env []string) (_ *server, err error) {
	logs, err := os.CreateTemp(dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	s := &server{logs: logs.Name(), exited: make(chan struct{})}
	s.cmd = exec.Command(binary, name, "--json")
	s.cmd.Env = env
	s.cmd.Stderr = logs
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	urls := make(chan map[string]string, 1)
	go func() {
		var printed map[string]string
		_ = json.NewDecoder(bufio.NewReader(stdout)).Decode(&printed) // nothing usable is told below
		urls <- printed
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	if err := s.awaitReady(ctx, urls); err != nil {
		return nil, errors.Join(fmt.Errorf("waybill %s: %w", name, err), s.stop())
	}
	return s, nil
}

func (s *server) awaitReady(ctx context.Context, urls <-chan map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	var printed map[string]string
	select {
	case printed = <-urls:
	case <-ctx.Done():
		return ctx.Err()
	}
	if printed["ops_url"] == "" {
		log, _ := os.ReadFile(s.logs) // empty is told too
		return fmt.Errorf("no address was printed; its log:\n%s", log)
	}
	live, err := url.Parse(printed["live_url"])
	if err != nil {
		return err
	}
	sandbox, err := url.Parse(printed["sandbox_url"])
	if err != nil {
		return err
	}
	s.address, s.sandbox, s.ops = live.Host, sandbox.Host, printed["ops_url"]
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.ops+"/readyz", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// cpu is the processor time of its process; none has 0.
func (s *server) cpu() time.Duration {
	if s == nil {
		return 0
	}
	return cpuOf(s.cmd.Process.Pid)
}

// stop ends the server as an operator would; none is no error.
func (s *server) stop() error {
	if s == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // fails only where it has ended
	select {
	case <-s.exited:
	case <-time.After(startPatience):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	return s.err
}

// buildBinary builds the program into dir.
func buildBinary(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "waybill")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "waybill/cmd/waybill")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// logFile is where the server logs to, in its data directory; mails are in it too.
const logFile = "server.log"

// server is a running `waybill dev`.
type server struct {
	vars map[string]string // of its dev.env
	ends chan struct{}     // closed when it has ended, after err is set
	err  error
}

// start starts the program and waits until it is ready. It ends with ctx.
func start(ctx context.Context, program, dir string, told io.Writer) (*server, error) {
	args := []string{"dev", "--data-dir", dir}
	if os.Getenv("WAYBILL_DATABASE_URL") == "" {
		args = append(args, "--reset") // an earlier day's
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "dev.env")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, logFile)) // #nosec G304 -- the data directory is the caller's
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = told, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w; make build builds it", program, err)
	}
	s := &server{ends: make(chan struct{})}
	go func() {
		s.err = cmd.Wait()
		close(s.ends)
	}()
	for {
		select {
		case <-s.ends:
			return nil, fmt.Errorf("%s %s: %w; %s tells why", program, strings.Join(args, " "), s.err, log.Name())
		case <-time.After(50 * time.Millisecond):
		}
		if s.vars = readEnv(file); s.ready(ctx) {
			return s, nil
		}
	}
}

func (s *server) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.vars["WAYBILL_OPS_URL"]+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// readEnv reads NAME=value lines; what cannot be read has none.
func readEnv(file string) map[string]string {
	vars := map[string]string{}
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		vars[name] = value
	}
	return vars
}

package backend

import (
	"bufio"
	"context"
	_ "embed" // valhalla.js
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	valhallaStartTimeout = 2 * time.Minute
	valhallaStopTimeout  = 10 * time.Second

	// Every end is abrupt: there is nothing to save.
	valhallaEnd = syscall.SIGKILL
)

//go:embed valhalla.js
var script []byte

// Valhalla is one engine. URL and Dir never change, also not across Kill and
// Restart. Its methods may be called from several goroutines.
type Valhalla struct {
	URL string // such as http://127.0.0.1:23456
	Dir string // the map, its tiles and the configuration

	engine *engine
	port   string

	mu      sync.Mutex
	process *Process // nil while it is down
	stopped bool
}

// StartValhalla makes a map of the roads and returns once the engine answers. ctx
// bounds the start only. The caller must Stop it. The error wraps
// ErrNoValhalla where the engine cannot be had on this machine.
func StartValhalla(ctx context.Context) (_ *Valhalla, err error) {
	found, err := find(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, valhallaStartTimeout)
	defer cancel()
	dir, err := MakeDir("valhalla", nil)
	if err != nil {
		return nil, err
	}
	s := &Valhalla{Dir: dir, engine: found, port: "0"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if err := s.build(ctx); err != nil {
		return nil, fmt.Errorf("build the map of the test Valhalla: %w", err)
	}
	if err := s.launch(ctx); err != nil {
		return nil, err
	}
	s.URL = "http://127.0.0.1:" + s.port
	return s, s.waitUntilReady(ctx)
}

// Kill ends the engine; the map stays.
func (s *Valhalla) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// Restart brings the engine back on the same port and returns once it answers.
// ctx bounds the wait.
func (s *Valhalla) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("restart Valhalla: it was stopped; start a new one with Start")
	}
	s.end()
	ctx, cancel := context.WithTimeout(ctx, valhallaStartTimeout)
	defer cancel()
	if err := s.launch(ctx); err != nil {
		return err
	}
	return s.waitUntilReady(ctx)
}

// Stop ends the engine and removes its directory. Stopping twice does nothing.
func (s *Valhalla) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	s.end()
	if err := os.RemoveAll(s.Dir); err != nil {
		return fmt.Errorf("remove the directory of the stopped Valhalla: %w; remove it by hand", err)
	}
	return nil
}

// build makes the tiles that the engine reads.
func (s *Valhalla) build(ctx context.Context) error {
	config, err := valhallaConfiguration(s.path("tiles"))
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := writeMap(&text); err != nil {
		return err
	}
	for name, content := range map[string]string{"config.json": string(config), "serve.js": string(script), "roads.osm": text.String()} {
		if err := os.WriteFile(s.path(name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if err := command(ctx, s.Dir, s.engine.osmium, "cat", "-o", s.path("roads.osm.pbf"), s.path("roads.osm")); err != nil {
		return err
	}
	return command(ctx, s.Dir, s.engine.buildTiles, "-c", s.path("config.json"), s.path("roads.osm.pbf"))
}

// launch starts the process and learns its port. s.mu is held, or s is not
// shared yet.
func (s *Valhalla) launch(ctx context.Context) error {
	logFile, err := os.OpenFile(s.path("server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the test Valhalla: %w", err)
	}
	defer logFile.Close() // the process has its own copy
	out, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the test Valhalla: %w", err)
	}
	defer out.Close()
	cmd := exec.Command(s.engine.node, s.path("serve.js"), s.path("config.json"), s.port)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), "NODE_PATH="+s.engine.modules)
	cmd.Stdout, cmd.Stderr = in, logFile
	started, err := StartProcess(cmd, nil, valhallaEnd)
	_ = in.Close() // the process has its own copy
	if err != nil {
		return fmt.Errorf("start the test Valhalla: %w", err)
	}
	s.process = started
	stop := context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("start the test Valhalla: %w; its log ends with:\n%s", err, LogTail(s.path("server.log")))
	}
	s.port = strings.TrimSpace(line)
	if _, err := strconv.Atoi(s.port); err != nil {
		return fmt.Errorf("start the test Valhalla: it says %q in place of its port", line)
	}
	return nil
}

func (s *Valhalla) waitUntilReady(ctx context.Context) error {
	var last error
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-s.process.Done():
			return fmt.Errorf("start the test Valhalla: the process ended: %w; its log ends with:\n%s", s.process.Err(),
				LogTail(s.path("server.log")))
		case <-ctx.Done():
			return fmt.Errorf("start the test Valhalla: %w; it last answered: %w", ctx.Err(), last)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Valhalla) ping(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/status", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%d, %.500s", res.StatusCode, answer)
	}
	return nil
}

// end kills the process and waits for it; s.mu is held.
func (s *Valhalla) end() {
	if s.process == nil {
		return
	}
	s.process.End(valhallaEnd, valhallaStopTimeout)
	s.process = nil
}

func (s *Valhalla) path(name string) string { return filepath.Join(s.Dir, name) }

package backend

import (
	"context"
	_ "embed" // valhalla.js
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

//go:embed valhalla.js
var script []byte

// Valhalla is one engine. Its URL never changes, also not across Kill and Restart.
type Valhalla struct {
	URL    string // such as http://127.0.0.1:23456
	daemon        // the map, its tiles and the configuration are in Dir

	engine *engine
}

// StartValhalla makes a map of the roads and returns once the engine answers. ctx
// bounds the start only. The caller must Stop it. The error wraps
// ErrNoValhalla where the engine cannot be had on this machine.
func StartValhalla(ctx context.Context) (*Valhalla, error) {
	found, err := find(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := MakeDir("valhalla", nil)
	if err != nil {
		return nil, err
	}
	s := &Valhalla{engine: found}
	s.daemon = daemon{
		Dir: dir, name: "Valhalla", limit: 2 * time.Minute, ping: s.ping, command: s.server,
		killed: syscall.SIGKILL, farewell: syscall.SIGKILL, // there is nothing to save
	}
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("build the map of the test Valhalla: %w", err), s.Stop())
	}
	return s, s.startOnFreePort(ctx, func() error {
		s.URL = fmt.Sprintf("http://127.0.0.1:%d", s.Port)
		return nil
	})
}

// ValhallaForTest starts an engine that ends with the test. Without one on this machine
// the test is skipped; with CI=true it fails.
func ValhallaForTest(t testing.TB) *Valhalla {
	t.Helper()
	s, err := StartValhalla(t.Context())
	return forTest(t, s, err, ErrNoValhalla)
}

// Kill ends the engine; the map stays.
func (s *Valhalla) Kill() { _ = s.endBy(syscall.SIGKILL) } // which nothing ignores

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

// server is the command of it.
func (s *Valhalla) server() *exec.Cmd {
	cmd := exec.Command(s.engine.node, s.path("serve.js"), s.path("config.json"), fmt.Sprint(s.Port))
	cmd.Env = append(os.Environ(), "NODE_PATH="+s.engine.modules)
	return cmd
}

func (s *Valhalla) ping(ctx context.Context, _ *Process) error {
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

func (s *Valhalla) path(name string) string { return filepath.Join(s.Dir, name) }

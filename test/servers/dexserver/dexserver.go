package dexserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"waybill/test/servers/process"
)

// Password is that of every account; the hash is of it.
const (
	Password = "correct horse battery staple"
	hash     = "$2a$10$OtraJx/s6oIhqzh6Jm.gPOV3/g9t1QtZBmFUACi2dbRnKQgoRttRy"
)

// ErrNotBuilt is returned where Dex cannot be built.
var ErrNotBuilt = errors.New("no Dex on this machine")

const (
	buildTimeout = 10 * time.Minute
	startTimeout = 30 * time.Second
)

// Client is a program that may send people to sign in.
type Client struct {
	ID, Secret   string
	RedirectURIs []string
}

// Account is a person who may sign in.
type Account struct {
	ID, Email, Name string
	Hash            string // filled in
	Verified        bool   // the address
	Groups          []string
}

// Known is what a Dex knows.
type Known struct {
	Clients  []Client
	Accounts []Account
	Sessions bool // an account stays signed in, and the provider tells when it did
}

// Server is one Dex.
type Server struct {
	Issuer string

	process *process.Process
	input   io.Closer
	log     *bytes.Buffer
}

// binary builds Dex once in a process; across processes Go's cache and linker are quick.
var binary = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..", "..")
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: no folder of caches: %w", ErrNotBuilt, err)
	}
	if dir = filepath.Join(dir, "waybill-test", "dex"); os.MkdirAll(dir, 0o750) != nil {
		return "", fmt.Errorf("%w: %s cannot be made", ErrNotBuilt, dir)
	}
	path := filepath.Join(dir, "dex-"+strconv.Itoa(os.Getpid()))
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, ".")
	build.Dir = filepath.Join(root, ".tools", "dex")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %w: %s", ErrNotBuilt, err, out)
	}
	final := filepath.Join(dir, "dex")
	return final, os.Rename(path, final) // so that what runs is never half written
})

// Start starts a Dex and returns once it answers. The caller must Stop it.
func Start(ctx context.Context, k Known) (*Server, error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	for i := range k.Accounts {
		k.Accounts[i].Hash = hash
	}
	for attempt := 1; ; attempt++ { // another process may take the port meanwhile
		port, err := process.FreePort()
		if err != nil {
			return nil, err
		}
		s, err := launch(ctx, path, port, k)
		if err == nil || attempt == 3 || ctx.Err() != nil {
			return s, err
		}
	}
}

func launch(ctx context.Context, path string, port int, k Known) (*Server, error) {
	s := &Server{Issuer: fmt.Sprintf("http://127.0.0.1:%d/dex", port), log: &bytes.Buffer{}}
	list, err := json.Marshal(struct {
		Issuer string
		Known
	}{s.Issuer, k})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.input = input
	if s.process, err = process.Start(cmd, nil, syscall.SIGKILL); err != nil {
		return nil, err
	}
	if _, err := input.Write(list); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Issuer+"/.well-known/openid-configuration", nil)
		if err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		if answer, err := http.DefaultClient.Do(request); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return s, nil
			}
		}
		select {
		case <-s.process.Done():
			return nil, fmt.Errorf("dex ended: %w: %s", s.process.Err(), s.log)
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("dex does not answer: %w", ctx.Err()), s.Stop())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// RotateKeys gives the provider a new signing key.
func (s *Server) RotateKeys(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Issuer[:len(s.Issuer)-len("/dex")]+"/rotate-keys", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("rotate the keys of Dex: %s", answer.Status)
	}
	return nil
}

// Hang stops the process in the middle of what it does, so that it takes connections and
// answers none; Resume lets it go on.
func (s *Server) Hang() error { return s.process.Suspend() }

// Resume ends Hang.
func (s *Server) Resume() error { return s.process.Signal(syscall.SIGCONT) }

// Stop ends it.
func (s *Server) Stop() error {
	s.process.End(syscall.SIGKILL, 5*time.Second)
	_ = s.input.Close() // it has ended
	return nil
}

// ForTest starts a Dex that ends with the test. Where none can be built the test is
// skipped; with CI=true it fails.
func ForTest(t testing.TB, k Known) *Server {
	t.Helper()
	s, err := Start(t.Context(), k)
	if err != nil {
		ci, _ := strconv.ParseBool(os.Getenv("CI")) // anything unreadable is not CI
		if errors.Is(err, ErrNotBuilt) && !ci {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

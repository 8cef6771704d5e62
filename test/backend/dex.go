package backend

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
)

// DexPassword is that of every account; the hash is of it.
const (
	DexPassword = "correct horse battery staple"
	hash        = "$2a$10$OtraJx/s6oIhqzh6Jm.gPOV3/g9t1QtZBmFUACi2dbRnKQgoRttRy"
)

// ErrNoDex is returned where Dex cannot be built.
var ErrNoDex = errors.New("no Dex on this machine")

const (
	buildTimeout    = 10 * time.Minute
	dexStartTimeout = 30 * time.Second
)

// DexClient is a program that may send people to sign in.
type DexClient struct {
	ID, Secret   string
	RedirectURIs []string
}

// DexAccount is a person who may sign in.
type DexAccount struct {
	ID, Email, Name string
	Hash            string // filled in
	Verified        bool   // the address
	Groups          []string
}

// DexKnown is what a Dex knows.
type DexKnown struct {
	Clients  []DexClient
	Accounts []DexAccount
	Sessions bool // an account stays signed in, and the provider tells when it did
}

// Dex is one Dex.
type Dex struct {
	Issuer string

	process *Process
	input   io.Closer
	log     *bytes.Buffer
}

// binary builds Dex once in a process; across processes Go's cache and linker are quick.
var binary = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..")
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: no folder of caches: %w", ErrNoDex, err)
	}
	if dir = filepath.Join(dir, "waybill-test", "dex"); os.MkdirAll(dir, 0o750) != nil {
		return "", fmt.Errorf("%w: %s cannot be made", ErrNoDex, dir)
	}
	path := filepath.Join(dir, "dex-"+strconv.Itoa(os.Getpid()))
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, ".")
	build.Dir = filepath.Join(root, ".tools", "dex")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %w: %s", ErrNoDex, err, out)
	}
	final := filepath.Join(dir, "dex")
	return final, os.Rename(path, final) // so that what runs is never half written
})

// StartDex starts a Dex and returns once it answers. The caller must Stop it.
func StartDex(ctx context.Context, k DexKnown) (*Dex, error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	for i := range k.Accounts {
		k.Accounts[i].Hash = hash
	}
	for attempt := 1; ; attempt++ { // another process may take the port meanwhile
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		s, err := launch(ctx, path, port, k)
		if err == nil || attempt == 3 || ctx.Err() != nil {
			return s, err
		}
	}
}

func launch(ctx context.Context, path string, port int, k DexKnown) (*Dex, error) {
	s := &Dex{Issuer: fmt.Sprintf("http://127.0.0.1:%d/dex", port), log: &bytes.Buffer{}}
	list, err := json.Marshal(struct {
		Issuer string
		DexKnown
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
	if s.process, err = StartProcess(cmd, nil, syscall.SIGKILL); err != nil {
		return nil, err
	}
	if _, err := input.Write(list); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	ctx, cancel := context.WithTimeout(ctx, dexStartTimeout)
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
func (s *Dex) RotateKeys(ctx context.Context) error {
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
func (s *Dex) Hang() error { return s.process.Suspend() }

// Resume ends Hang.
func (s *Dex) Resume() error { return s.process.Signal(syscall.SIGCONT) }

// Stop ends it.
func (s *Dex) Stop() error {
	s.process.End(syscall.SIGKILL, 5*time.Second)
	_ = s.input.Close() // it has ended
	return nil
}

// DexForTest starts a Dex that ends with the test. Where none can be built the test is
// skipped; with CI=true it fails.
func DexForTest(t testing.TB, k DexKnown) *Dex {
	t.Helper()
	s, err := StartDex(t.Context(), k)
	return forTest(t, s, err, ErrNoDex)
}

package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// How long a process lives once it answers, at least and at most. On a machine
// where that is too little for anything to be created, lives are longer.
const (
	shortestLife = 10 * time.Millisecond
	longestLife  = 200 * time.Millisecond
	spareLife    = time.Second
)

// startPatience is how long a process may take until it answers, on a machine
// that has other things to do.
const startPatience = time.Minute

// victim is one `waybill serve`, or another command that stays, that is killed
// and started again.
type victim struct {
	binary  string
	command []string
	env     []string
	live    string // address, the same in every life
	sandbox string
	ops     string
	portal  string
	logs    string // file

	stalling int         // per cent of the blows that only stop it for a while
	hurried  func() bool // there were far more blows than the demand needs

	deaths, stalls atomic.Int64
}

// newVictim is a server without faults yet.
func newVictim(t *testing.T, binary string, env []string) *victim {
	t.Helper()
	return newVictimOf(t, binary, env, "serve")
}

// newVictimOf runs another command.
func newVictimOf(t *testing.T, binary string, env []string, command ...string) *victim {
	t.Helper()
	v := &victim{
		binary: binary, command: command, live: freeAddress(t), sandbox: freeAddress(t), ops: freeAddress(t), portal: freeAddress(t),
		logs: filepath.Join(t.TempDir(), "server.log"), hurried: func() bool { return false },
	}
	v.env = environment(slices.Concat(env, []string{
		"WAYBILL_LIVE_ADDR=" + v.live, "WAYBILL_SANDBOX_ADDR=" + v.sandbox, "WAYBILL_OPS_ADDR=" + v.ops, "WAYBILL_PORTAL_ADDR=" + v.portal,
	})...)
	return v
}

// url is the base of the victim's live API, sandboxURL of the other.
func (v *victim) url() string        { return "http://" + v.live + "/v1" }
func (v *victim) sandboxURL() string { return "http://" + v.sandbox + "/v1" }

// haunt starts the process, kills it after a moment, and starts it again,
// until calm is closed. Then it stays up until ctx ends.
func (v *victim) haunt(ctx context.Context, calm <-chan struct{}) error {
	for {
		life, err := v.launch(ctx)
		if err != nil {
			return err
		}
		switch killed, err := v.torment(ctx, calm, life); {
		case err != nil:
			return err
		case killed:
			continue
		}
		select {
		case <-ctx.Done():
		case <-life.over:
			return v.endedByItself()
		}
		life.kill()
		return nil
	}
}

// torment lets one life go on for a moment and kills it, unless all is calm
// before. Where the victim stalls it may be stopped in between.
func (v *victim) torment(ctx context.Context, calm <-chan struct{}, of *life) (killed bool, err error) {
	for {
		longest := longestLife
		if v.hurried() {
			longest = spareLife
		}
		select {
		case <-time.After(shortestLife + rand.N(longest-shortestLife)):
			if !v.stallIsDue() {
				of.kill()
				v.deaths.Add(1)
				return true, nil
			}
			if err := of.stop(); err != nil {
				return false, err
			}
			select {
			case <-time.After(lease + rand.N(2*lease)):
			case <-ctx.Done():
			}
			if err := of.resume(); err != nil {
				return false, err
			}
			v.stalls.Add(1)
		case <-of.over:
			return false, v.endedByItself()
		case <-calm:
			return false, nil
		case <-ctx.Done():
			return false, nil
		}
	}
}

// stallIsDue says whether the next blow may be a stall: they never are more
// than their share, so luck cannot leave a storm without its deaths.
func (v *victim) stallIsDue() bool {
	deaths, stalls := int(v.deaths.Load()), int(v.stalls.Load())
	return 100*(stalls+1) <= v.stalling*(deaths+stalls+1)
}

func (v *victim) endedByItself() error {
	return fmt.Errorf("a server ended by itself; its log ends with:\n%s", v.tail())
}

// life is one process of a victim.
type life struct {
	process *os.Process
	over    <-chan struct{}
	code    func() int // of its exit, once it is over
}

// kill is SIGKILL; it returns when the process is gone.
func (l *life) kill() {
	_ = l.process.Kill() // it fails only where the process is gone
	<-l.over
}

// quit tells the process to end, as an operator would, and waits until it has.
func (l *life) quit(within time.Duration) error {
	if err := l.process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-l.over:
	case <-time.After(within):
		return fmt.Errorf("it still runs %s after SIGTERM", within)
	}
	if code := l.code(); code != 0 {
		return fmt.Errorf("its exit code is %d", code)
	}
	return nil
}

// stop leaves the process where it is until resume.
func (l *life) stop() error   { return l.process.Signal(syscall.SIGSTOP) }
func (l *life) resume() error { return l.process.Signal(syscall.SIGCONT) }

// start is a life that ends with the test.
func (v *victim) start(t *testing.T) *life {
	t.Helper()
	l, err := v.launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.kill)
	return l
}

// launch starts a life and waits until it answers.
func (v *victim) launch(ctx context.Context) (*life, error) {
	logs, err := os.OpenFile(v.logs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	cmd := exec.Command(v.binary, v.command...)
	cmd.Env = v.env
	cmd.Stdout, cmd.Stderr = logs, logs
	cmd.SysProcAttr = mortal()
	over, started := make(chan struct{}), make(chan error, 1)
	go func() {
		// The thread that started the process has to last as long as that does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // killed, so always an error
			close(over)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	l := &life{process: cmd.Process, over: over, code: func() int { return cmd.ProcessState.ExitCode() }}
	for deadline := time.Now().Add(startPatience); ; {
		if v.answers(ctx) {
			return l, nil
		}
		select {
		case <-over:
			return nil, fmt.Errorf("a server did not start; its log ends with:\n%s", v.tail())
		case <-ctx.Done():
			return l, nil
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			l.kill()
			return nil, fmt.Errorf("a server is not ready after %s; its log ends with:\n%s", startPatience, v.tail())
		}
	}
}

var probe = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (v *victim) answers(ctx context.Context) bool { return v.says(ctx, "/healthz") }

// says reports that the listener of operators answers 200 there.
func (v *victim) says(ctx context.Context, path string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.ops+path, nil)
	if err != nil {
		return false
	}
	res, err := probe.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// tail is the end of the log, for a failure.
func (v *victim) tail() string {
	const lines = 15
	f, err := os.Open(v.logs)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	var last []string
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if last = append(last, scan.Text()); len(last) > lines {
			last = last[1:]
		}
	}
	return strings.Join(last, "\n")
}

// handedOut are the addresses of freeAddress: one that is free may still be
// meant for a server that is about to start.
var handedOut sync.Map

// freeAddress is a port below those that outgoing connections take: while a
// server is down, one of the many clients must not sit on its port.
func freeAddress(t *testing.T) string {
	t.Helper()
	var failed error
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(5000))
		if _, taken := handedOut.LoadOrStore(address, true); taken {
			continue
		}
		l, err := net.Listen("tcp", address)
		if err == nil {
			if err = l.Close(); err == nil {
				return address
			}
		}
		failed = errors.Join(failed, err)
	}
	t.Fatal(failed)
	return ""
}

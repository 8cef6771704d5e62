package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waybill/test/program"
)

// How long a process lives once it answers, at least and at most. On a machine
// where that is too little for anything to be created, lives are longer.
const (
	shortestLife = 10 * time.Millisecond
	longestLife  = 200 * time.Millisecond
	spareLife    = time.Second
)

// victim is one `waybill serve`, or another command that stays, that is killed
// and started again.
type victim struct {
	command []string
	env     []string
	live    string // address, the same in every life
	sandbox string
	ops     string
	portal  string
	dir     string // of its log

	stalling int         // per cent of the blows that only stop it for a while
	hurried  func() bool // there were far more blows than the demand needs

	deaths, stalls atomic.Int64
}

// newVictim is a server without faults yet.
func newVictim(t *testing.T, env []string) *victim {
	t.Helper()
	return newVictimOf(t, env, "serve")
}

// newVictimOf runs another command.
func newVictimOf(t *testing.T, env []string, command ...string) *victim {
	t.Helper()
	v := &victim{
		command: command, live: freeAddress(t), sandbox: freeAddress(t), ops: freeAddress(t), portal: freeAddress(t),
		dir: t.TempDir(), hurried: func() bool { return false },
	}
	v.env = slices.Concat(env, []string{
		"WAYBILL_LIVE_ADDR=" + v.live, "WAYBILL_SANDBOX_ADDR=" + v.sandbox, "WAYBILL_OPS_ADDR=" + v.ops, "WAYBILL_PORTAL_ADDR=" + v.portal,
	})
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
		case <-life.Exited:
			return endedByItself(life)
		}
		life.Kill()
		return nil
	}
}

// torment lets one life go on for a moment and kills it, unless all is calm
// before. Where the victim stalls it may be stopped in between.
func (v *victim) torment(ctx context.Context, calm <-chan struct{}, of *program.Process) (killed bool, err error) {
	for {
		longest := longestLife
		if v.hurried() {
			longest = spareLife
		}
		select {
		case <-time.After(shortestLife + rand.N(longest-shortestLife)):
			if !v.stallIsDue() {
				of.Kill()
				v.deaths.Add(1)
				return true, nil
			}
			if err := of.Signal(syscall.SIGSTOP); err != nil {
				return false, err
			}
			select {
			case <-time.After(lease + rand.N(2*lease)):
			case <-ctx.Done():
			}
			if err := of.Signal(syscall.SIGCONT); err != nil {
				return false, err
			}
			v.stalls.Add(1)
		case <-of.Exited:
			return false, endedByItself(of)
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

func endedByItself(of *program.Process) error {
	return fmt.Errorf("a server ended by itself; its log ends with:\n%s", of.Tail())
}

// start is a life that ends with the test.
func (v *victim) start(t *testing.T) *program.Process {
	t.Helper()
	l, err := v.launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Kill)
	return l
}

// launch starts a life and waits until it answers, ready or not.
func (v *victim) launch(ctx context.Context) (*program.Process, error) {
	l, err := program.Start(executable, v.dir, v.env, v.command...)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(program.Patience); ; {
		if v.answers(ctx) {
			return l, nil
		}
		select {
		case <-l.Exited:
			return nil, fmt.Errorf("a server did not start; its log ends with:\n%s", l.Tail())
		case <-ctx.Done():
			return l, nil
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			l.Kill()
			return nil, fmt.Errorf("a server is not ready after %s; its log ends with:\n%s", program.Patience, l.Tail())
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

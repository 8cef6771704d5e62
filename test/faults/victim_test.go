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
	"strings"
	"sync"
	"sync/atomic"
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
const startPatience = 30 * time.Second

// victim is one `waybill serve` that is killed and started again.
type victim struct {
	binary string
	env    []string
	live   string // address, the same in every life
	ops    string
	logs   string // file

	deaths  atomic.Int64
	hurried func() bool // there were far more deaths than creates need
}

func newVictim(t *testing.T, binary string, env []string, hurried func() bool) *victim {
	t.Helper()
	v := &victim{binary: binary, hurried: hurried, live: freeAddress(t), ops: freeAddress(t), logs: filepath.Join(t.TempDir(), "server.log")}
	v.env = environment(append(env,
		"WAYBILL_LIVE_ADDR="+v.live, "WAYBILL_SANDBOX_ADDR=127.0.0.1:0", "WAYBILL_OPS_ADDR="+v.ops,
	)...)
	return v
}

// url is where the victim's deliveries are created.
func (v *victim) url() string { return "http://" + v.live + "/v1/deliveries" }

// haunt starts the process, kills it after a moment, and starts it again,
// until calm is closed. Then it stays up until ctx ends.
func (v *victim) haunt(ctx context.Context, calm <-chan struct{}) error {
	for {
		cmd, exited, err := v.launch(ctx)
		if err != nil {
			return err
		}
		longest := longestLife
		if v.hurried() {
			longest = spareLife
		}
		life := time.NewTimer(shortestLife + rand.N(longest-shortestLife))
		select {
		case <-life.C:
			_ = cmd.Process.Kill() // SIGKILL; it fails only where the process is gone
			<-exited
			v.deaths.Add(1)
			continue
		case <-exited:
			return fmt.Errorf("a server ended by itself; its log ends with:\n%s", v.tail())
		case <-calm:
		case <-ctx.Done():
		}
		select {
		case <-ctx.Done():
		case <-exited:
			return fmt.Errorf("a server ended by itself; its log ends with:\n%s", v.tail())
		}
		_ = cmd.Process.Kill()
		<-exited
		return nil
	}
}

// launch starts a life and waits until it answers.
func (v *victim) launch(ctx context.Context) (*exec.Cmd, <-chan struct{}, error) {
	logs, err := os.OpenFile(v.logs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer logs.Close()
	cmd := exec.Command(v.binary, "serve")
	cmd.Env = v.env
	cmd.Stdout, cmd.Stderr = logs, logs
	cmd.SysProcAttr = mortal()
	exited, started := make(chan struct{}), make(chan error, 1)
	go func() {
		// The thread that started the process has to last as long as that does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // killed, so always an error
			close(exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, nil, err
	}
	give := func(err error) (*exec.Cmd, <-chan struct{}, error) {
		_ = cmd.Process.Kill()
		<-exited
		return nil, nil, err
	}
	for deadline := time.Now().Add(startPatience); ; {
		if v.answers(ctx) {
			return cmd, exited, nil
		}
		select {
		case <-exited:
			return give(fmt.Errorf("a server did not start; its log ends with:\n%s", v.tail()))
		case <-ctx.Done():
			return cmd, exited, nil
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return give(fmt.Errorf("a server is not ready after %s; its log ends with:\n%s", startPatience, v.tail()))
		}
	}
}

var probe = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (v *victim) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.ops+"/healthz", nil)
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

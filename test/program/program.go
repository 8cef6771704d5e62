// Package program runs the real program for tests, each command as a process of its
// own: it is built, started, awaited, stopped, and its log read.
package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Patience is how long a test waits for what should take moments, on a machine that
// has other things to do.
const Patience = time.Minute

// FreePorts are settings with which processes run beside each other.
var FreePorts = []string{
	"WAYBILL_LIVE_ADDR=127.0.0.1:0", "WAYBILL_SANDBOX_ADDR=127.0.0.1:0", "WAYBILL_OPS_ADDR=127.0.0.1:0", "WAYBILL_PORTAL_ADDR=127.0.0.1:0",
}

// Build builds the program into a folder.
func Build(dir string, flags ...string) (binary string, err error) {
	binary = filepath.Join(dir, "waybill")
	args := append([]string{"build", "-o", binary}, flags...)
	if out, err := exec.Command("go", append(args, "waybill/cmd/waybill")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return binary, nil
}

// Environment returns this process's environment without settings of the program, and
// with those that are given.
func Environment(settings ...string) []string {
	kept := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "WAYBILL_") || strings.HasPrefix(v, "OTEL_")
	})
	return append(kept, settings...)
}

// Command runs a command to its end, and reads the JSON that it prints.
func Command(ctx context.Context, binary string, settings []string, into any, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(slices.Clone(args), "--json")...)
	cmd.Env = Environment(settings...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("waybill %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("waybill %s printed %q: %w", strings.Join(args, " "), out, err)
	}
	return nil
}

// Process is one that runs, or has ended.
type Process struct {
	Vars   map[string]string // once it is ready: where it listens, such as WAYBILL_OPS_URL, and what a dev.env in its folder tells
	Log    string            // file
	Exited chan struct{}     // is closed when it has ended

	cmd  *exec.Cmd
	dir  string
	told string // file
	dev  bool
	err  error // of the end, once Exited is closed
	once sync.Once
}

// Start runs a command that stays. Its log is in the folder, which is the data directory
// of dev. It dies with the test that started it.
func Start(binary, dir string, settings []string, args ...string) (*Process, error) {
	p := &Process{
		Log: filepath.Join(dir, args[0]+".log"), Exited: make(chan struct{}),
		cmd: exec.Command(binary, append(slices.Clone(args), "--json")...), dir: dir, told: filepath.Join(dir, args[0]+".json"), dev: args[0] == "dev",
	}
	logs, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer logs.Close() // the process has its own copy
	told, err := os.Create(p.told)
	if err != nil {
		return nil, err
	}
	defer told.Close()
	p.cmd.Env = Environment(settings...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = told, logs, mortal()
	started := make(chan error, 1)
	go func() {
		// The thread that started the process has to last as long as that does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.Exited)
		}
	}()
	return p, <-started
}

// Await returns when the process is ready.
func (p *Process) Await() error {
	for deadline := time.Now().Add(Patience); !p.ready(); {
		select {
		case <-p.Exited:
			return fmt.Errorf("it ended before it was ready: %w\n%s", p.err, p.Tail())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.Kill()
			return fmt.Errorf("it is not ready after %s\n%s", Patience, p.Tail())
		}
	}
	return nil
}

// ready reads what the process has told so far, and asks it.
func (p *Process) ready() bool {
	told, err := os.ReadFile(p.told)
	var urls map[string]string
	if err != nil || json.Unmarshal(told, &urls) != nil {
		return false
	}
	env, err := os.ReadFile(filepath.Join(p.dir, "dev.env"))
	if p.dev && err != nil {
		return false
	}
	p.Vars = map[string]string{}
	for line := range strings.SplitSeq(string(env), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			p.Vars[name] = value
		}
	}
	for name, url := range urls { // live_url and so on
		p.Vars["WAYBILL_"+strings.ToUpper(name)] = url
	}
	res, err := http.Get(p.Vars["WAYBILL_OPS_URL"] + "/readyz")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// Terminate tells the process to end, once: a second SIGTERM would end it at once.
func (p *Process) Terminate() error {
	var err error
	p.once.Do(func() { err = p.Signal(syscall.SIGTERM) })
	return err
}

// Stop ends the process as an operator does; it has to end well.
func (p *Process) Stop() error {
	if err := p.Terminate(); err != nil {
		return err
	}
	select {
	case <-p.Exited:
	case <-time.After(Patience):
		p.Kill()
		return fmt.Errorf("it still ran %s after SIGTERM\n%s", Patience, p.Tail())
	}
	if p.err != nil {
		return fmt.Errorf("it ended with %w\n%s", p.err, p.Tail())
	}
	return nil
}

// Kill ends the process as a crash does, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it fails only where the process is gone
	<-p.Exited
}

// Signal sends the process a signal, unless it has ended.
func (p *Process) Signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Tail returns the end of the log, for a failure.
func (p *Process) Tail() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}
